//! An approval that reaches beyond one action: what it allows, and the form that ends it.

use proofmark_decider::Revocation;
use proofmark_evidence::ApprovalFact;
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_server::{Role, reviewer};
use proofmark_store::StoredReceipt;
use proofmark_verifier::presented::spend_of_stored;

use super::super::text::Shown;
use super::super::visit::Visit;
use super::super::words::When;

pub(crate) struct Granted {
    pub(crate) words: Vec<Shown>,
    pub(crate) until: When,
    /// Where the form that ends it leads; none where it has ended, or the visitor may not end it.
    pub(crate) address: Option<String>,
}

impl Granted {
    /// None for every other receipt.
    pub(crate) fn of(visit: &Visit<'_>, stored: &StoredReceipt) -> Result<Option<Self>, Problem> {
        let approval = stored.receipt.metadata().get("approval").and_then(ApprovalFact::read);
        let Some((approval, scope)) = approval.and_then(|approval| Some((approval.clone(), approval.scope?))) else {
            return Ok(None);
        };
        // What a passkey signed is spent as that.
        let has_ended = visit.context.store().is_spent(&spend_of_stored(&stored.receipt))?;
        let until = approval.expires_at.unix_millis();
        let may_end = visit.context.caller.role.may(Role::Reviewer) && !has_ended && until > visit.now;
        Ok(Some(Self {
            words: scope.words().iter().map(|line| Shown::line(line, 400)).collect(),
            until: When::full(until),
            address: may_end.then(|| format!("/ui/receipts/{}/revoke", stored.receipt.receipt_id())),
        }))
    }
}

/// `POST /ui/receipts/{id}/revoke`: `note`. Leads back to the approval.
pub(crate) fn revoke(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&[])?;
    let id = visit.context.variable("id");
    let reviewer = reviewer(&visit.context);
    let tenant = &visit.context.caller.tenant;
    let note = visit.form.text("note");
    visit.context.decider.revoke(&Revocation { tenant, approval: id, reviewer: &reviewer, note: &note })?;
    Ok(Reply::see_other(&format!("/ui/receipts/{}", super::super::words::encoded(id))))
}
