//! Running a verification again: what a reader needs to repeat it, and what came of repeating it here.

use axum::http::header;
use proofmark_decider::{UseError, WorthError};
use proofmark_evidence::ReceiptKind;
use proofmark_receipt::{Json, Receipt, ReceiptId, Sha256Digest};
use proofmark_server::Role;
use proofmark_server::problem::Problem;
use proofmark_server::reply::{JSON, Reply};
use proofmark_server::rerun_as_job;
use proofmark_statement::superseded;
use proofmark_store::StoredReceipt;
use proofmark_verifier::differences;

use super::super::text::{Coded, Shown};
use super::super::visit::Visit;
use super::super::words::short_digest;
use super::no_receipt;

/// How a reader repeats the verification.
pub(crate) struct Again {
    /// The digest of the request, shortened and whole.
    pub(crate) digest: Option<(String, String)>,
    /// Where an administrator gets the request.
    pub(crate) request: Option<String>,
    /// What else there is to know about the request.
    pub(crate) hint: &'static str,
    /// Where the form to run it here leads; or why there is none.
    pub(crate) form: Result<String, &'static str>,
}

/// What this receipt repeats.
pub(crate) struct Repeats {
    pub(crate) href: String,
    pub(crate) differences: Vec<Coded>,
}

impl Again {
    /// None for receipts of other kinds than verifications.
    pub(crate) fn of(visit: &Visit<'_>, stored: &StoredReceipt) -> Result<Option<Self>, Problem> {
        let (context, receipt) = (&visit.context, &stored.receipt);
        if ReceiptKind::of(receipt) != Some(ReceiptKind::Verification) {
            return Ok(None);
        }
        let id = receipt.receipt_id();
        let named = receipt.metadata().get("request").and_then(Json::as_str);
        let text = context.store().request(&id)?;
        let is_copy = text.as_deref().is_some_and(|text| named != Some(&Sha256Digest::of(text.as_bytes()).to_string()));
        let is_admin = context.caller.role.may(Role::Admin);
        let hint = match (text.is_some(), is_admin) {
            (true, true) if named.is_some() && is_copy => {
                "The copy here is the same request as complete JSON, so its digest is another."
            }
            (true, true) => "",
            (true, false) => "This server has it; it shows the expected outputs, so only an admin's key may read it.",
            (false, _) => "This server does not have it: ask for it where the work was verified.",
        };
        Ok(Some(Self {
            digest: named.map(|digest| (short_digest(digest), Shown::line(digest, 200).plain())),
            request: (text.is_some() && is_admin).then(|| format!("/ui/receipts/{id}/request")),
            hint,
            form: runnable(visit, &id)?.map(|()| format!("/ui/receipts/{id}/recheck")),
        }))
    }
}

/// Whether this server can run it again for the visitor; or why not.
fn runnable(visit: &Visit<'_>, id: &ReceiptId) -> Result<Result<(), &'static str>, Problem> {
    let context = &visit.context;
    match context.decider.rerunnable(&context.caller.tenant, id) {
        Ok(_) if !context.caller.role.may(Role::Agent) => {
            Ok(Err("The key of an agent or an admin may run it again here."))
        }
        Ok(found) => Ok(found.map(|_| ()).ok_or("")),
        Err(UseError::Worth(WorthError::Superseded(_))) => Ok(Err("It was run again here already.")),
        // The hint says that the request is missing.
        Err(UseError::Worth(_)) => Ok(Err("")),
        Err(error @ UseError::Store(_)) => Err(error.into()),
    }
}

impl Repeats {
    /// What this receipt repeats, and how the results differ; none where it repeats nothing that is stored.
    pub(crate) fn of(visit: &Visit<'_>, receipt: &Receipt) -> Result<Option<Self>, Problem> {
        let Some((id, hash)) = superseded(receipt) else { return Ok(None) };
        let Ok(older) = id.parse::<ReceiptId>() else { return Ok(None) };
        // An id alone may be that of another issuer's receipt, too.
        let stored = visit.context.store().receipt(&older)?.filter(|stored| stored.receipt.hash().to_string() == hash);
        let Some(stored) = stored else { return Ok(None) };
        let differences = differences(&stored.receipt, receipt);
        Ok(Some(Self {
            href: format!("/ui/receipts/{older}"),
            differences: differences.iter().map(|difference| Shown::with_code(difference)).collect(),
        }))
    }
}

/// `GET /ui/receipts/{id}/request`: the request that the receipt answers, to save.
pub(crate) fn request(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&[])?;
    let id = visit.context.variable("id").parse::<ReceiptId>().map_err(|_| no_receipt())?;
    let text = visit.context.store().request(&id)?.ok_or_else(|| Problem::not_found("request"))?;
    Ok(Reply::text(JSON, text).header(header::CONTENT_DISPOSITION, "attachment; filename=\"request.json\""))
}

/// `POST /ui/receipts/{id}/recheck`: runs the request again. Leads to the job.
pub(crate) fn recheck(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&[])?;
    let (services, tenant) = (visit.context.services, &visit.context.caller.tenant);
    let id = visit.context.variable("id").parse::<ReceiptId>().map_err(|_| no_receipt())?;
    let job = rerun_as_job(services, tenant, id)?;
    Ok(Reply::see_other(&format!("/ui/jobs/{job}")))
}
