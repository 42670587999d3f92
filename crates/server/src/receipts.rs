//! `/v1/receipts` and `/v1/stats`: stored receipts, their chains, and what is done with them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, header};
use proofmark_decider::{NotStored, Received, Terms};
use proofmark_interop::x402;
use proofmark_receipt::{Json, ReceiptId, SignerId, Timestamp, Verdict};
use proofmark_store::{CountFilter, Filter, StoredReceipt, Tenant};
use proofmark_verifier::{chain_head, differences};
use serde::Serialize;
use utoipa::ToSchema;

use crate::context::{Head, RequestContext};
use crate::opaque::{
    AnyReceipt, ChainHead, Hashes, Next, Receipt, SignatureStatus, StoredTrust, Time, Trust, Uuid, VerdictName,
};
use crate::problem::Problem;
use crate::receipt_body::{self, ReceiptBody};
use crate::reply::{Document, JSON, Reply};
use crate::services::Services;
use crate::state::AppState;
use crate::submit::{self, Answer, Source, Submission, chain_name};
use crate::verifications::{accepted, wait, with_receipt};

/// How many receipts a page has by default.
const PAGE: usize = 50;
/// How many more receipts have the id that was asked for.
const OTHERS: HeaderName = HeaderName::from_static("proofmark-other-issuers");
/// The most receipts one request brings.
pub(crate) const MAX_BROUGHT: usize = 1_000;

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReceiptPage {
    receipts: Vec<ReceiptEntry>,
    #[schema(value_type = Next)]
    next: Option<String>,
    /// How many were left out because they were changed after they were stored
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1)]
    unreadable: Option<usize>,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ReceiptEntry {
    #[schema(value_type = Uuid)]
    receipt_id: String,
    #[schema(value_type = VerdictName)]
    verdict: &'static str,
    #[schema(required = true)]
    chain: Option<String>,
    /// `own`: issued here
    #[schema(value_type = StoredTrust)]
    trust: &'static str,
    redeemed: bool,
    #[schema(required = true)]
    superseded_by: Option<String>,
    #[schema(value_type = AnyReceipt)]
    receipt: Document,
}

/// A receipt that was brought, and whether it is stored.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Received)]
pub(crate) struct ReceivedEntry {
    #[schema(required = true)]
    receipt_id: Option<String>,
    #[schema(value_type = SignatureStatus)]
    answer: &'static str,
    #[schema(value_type = Trust)]
    trust: &'static str,
    kept: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    message: Option<String>,
    /// What to do about it
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    help: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ReceivedAnswer {
    One(ReceivedEntry),
    Many(ReceivedMany),
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReceivedMany {
    results: Vec<ReceivedEntry>,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChainPage {
    chain: String,
    #[schema(required = true)]
    next: Option<String>,
    #[schema(value_type = ChainHead)]
    head: Document,
    #[schema(value_type = Vec<AnyReceipt>)]
    receipts: Vec<Document>,
}

/// A receipt that was used up now, and what it was.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Redeemed {
    #[schema(value_type = Uuid)]
    receipt_id: String,
    #[schema(value_type = VerdictName)]
    verdict: &'static str,
    #[schema(value_type = Trust)]
    trust: &'static str,
    issued_here: bool,
    #[schema(required = true)]
    superseded_by: Option<String>,
    #[schema(required = true)]
    task_id: Option<String>,
    #[schema(value_type = Hashes)]
    hashes: Document,
    #[schema(value_type = Time)]
    redeemed_at: String,
    /// The id of the caller's API key; `local` without keys
    by: String,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rechecked {
    /// The receipt that the new one supersedes; null when the new verdict is `error`, which supersedes none
    #[schema(required = true, value_type = Option<Uuid>)]
    supersedes: Option<String>,
    same: bool,
    differences: Vec<String>,
    #[schema(value_type = Receipt)]
    receipt: Document,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stats {
    pass: u64,
    fail: u64,
    partial: u64,
    error: u64,
    total: u64,
    /// How many of the total were issued elsewhere, by signers trusted when they came
    issued_elsewhere: u64,
    left_out: LeftOut,
}

/// Receipts that are not in the total.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LeftOut {
    superseded: u64,
    untrusted: u64,
}

/// `GET /v1/receipts`, newest first.
pub(crate) fn list(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&["verdict", "tier", "task", "signer", "chain", "since", "until", "limit", "after"])?;
    let time = |name: &str| context.parsed::<Timestamp>(name, "a time as in 2026-03-01T12:00:00Z");
    let page = context.store().list(&Filter {
        verdict: context.parsed::<Verdict>("verdict", "pass, fail, partial or error")?,
        tier: context.parsed::<u8>("tier", "a number from 0 to 3")?,
        task_id: context.parameter("task").map(str::to_owned),
        signer: signer(context)?.map(|signer| signer.to_string()),
        chain: chain_parameter(context)?,
        since: time("since")?.map(|time| time.unix_millis()),
        until: time("until")?.map(|time| time.unix_millis()),
        limit: context.limit(PAGE)?,
        after: context.parsed("after", "the `next` of the page before")?,
    })?;
    Reply::json(&ReceiptPage {
        receipts: page.receipts.iter().map(ReceiptEntry::from).collect(),
        next: page.next.map(|next| next.to_string()),
        unreadable: (page.unreadable > 0).then_some(page.unreadable),
    })
}

/// `GET /v1/receipts/{id}`: the receipt itself, with the bytes that were signed. A `Link` leads to the one that supersedes it. Where
/// several issuers gave one under this id, a header says how many more there are, and `signer` chooses.
pub(crate) fn show(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&["signer"])?;
    let stored = match signer(context)? {
        None => stored(context)?,
        Some(signer) => context.store().receipt_by(&id(context)?, &signer.to_string())?.ok_or_else(no_receipt)?,
    };
    let mut reply = Reply::from(stored.receipt.document().clone());
    if stored.others > 0 {
        reply = reply.header(OTHERS, stored.others.to_string());
    }
    Ok(match stored.superseded_by {
        Some(by) => reply.header(header::LINK, format!("<{}>; rel=\"successor-version\"", x402::path(&by))),
        None => reply,
    })
}

/// `GET /v1/receipts/{id}/request`: the request that a receipt issued here answers, byte for byte.
pub(crate) fn request(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&[])?;
    let request = context.store().request(&id(context)?)?;
    request.map(|text| Reply::text(JSON, text)).ok_or_else(|| {
        Problem::not_found("request").help("only receipts issued here for a request have one; see GET /v1/receipts")
    })
}

/// `GET /v1/receipts/{id}/chain`: the receipts of its chain, first to last, and the chain's end, signed.
pub(crate) fn chain(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&["limit", "after"])?;
    let stored = stored(context)?;
    let chain = stored.chain.ok_or_else(|| Problem::not_found("chain of this receipt"))?;
    let after = context.parsed::<u64>("after", "the `next` of the page before")?;
    let limit = context.limit(PAGE)?;
    let from = after.map_or(0, |after| after.saturating_add(1));
    let receipts = context.store().chain_from(&chain, from, limit)?;
    let last = from.saturating_add(receipts.len() as u64).checked_sub(1);
    // The head is read after the receipts: one appended in between leads to a `next` and is not missed.
    let head = chain_head(&context.store(), &chain, context.decider.key())?;
    let more = last.filter(|last| last.saturating_add(1) < head.length());
    Reply::json(&ChainPage {
        chain,
        next: more.map(|last| last.to_string()),
        head: Document::from(&Json::from(head.document().clone())),
        receipts: receipts.iter().map(|receipt| receipt.document().into()).collect(),
    })
}

/// `POST /v1/receipts`: stores receipts issued elsewhere, one or `{"receipts": […]}`, those that verify.
pub(crate) fn receive(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let body = context.json()?;
    let body = match body {
        Json::Object(mut body) if body.contains("receipts") => {
            return receive_many(context, body.remove("receipts").unwrap_or(Json::Null));
        }
        body => body,
    };
    let received = context.decider.receive(&context.caller.tenant, vec![body])?;
    let received = received.into_iter().next().ok_or_else(Problem::internal)?;
    match &received.refused {
        Some(NotStored { code, message, help }) => {
            Err(Problem::unprocessable(code, format!("store the receipt: {message}")).maybe_help(help.clone()))
        }
        None => Reply::json(&ReceivedAnswer::One(received.into())),
    }
}

fn receive_many(context: &RequestContext<'_>, many: Json) -> Result<Reply, Problem> {
    let Json::Array(many) = many else { return Err(Problem::bad("wrong_type", "`receipts` is not a list")) };
    // Each has a signature to verify, so the body's length alone is no limit on the work.
    if many.is_empty() || many.len() > MAX_BROUGHT {
        let message = format!("`receipts` has {} receipts, and not 1 to {MAX_BROUGHT}", many.len());
        return Err(Problem::bad("too_many", message).help("send more in several requests"));
    }
    let received = context.decider.receive(&context.caller.tenant, many)?;
    let results = received.into_iter().map(ReceivedEntry::from).collect();
    Reply::json(&ReceivedAnswer::Many(ReceivedMany { results }))
}

/// `POST /v1/receipts/verify`: a receipt of either kind, or `{receipt, trust: […]}`. Nothing is stored.
pub(crate) fn verify(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let body = ReceiptBody::read_either(&context.json()?)?;
    Ok(context.services.check(&body).to_json("receipt").into())
}

/// `POST /v1/receipts/{id}/redeem`: uses a receipt up, once for all, if it is a `pass` by a trusted signer, or what the body
/// accepts beside that.
pub(crate) fn redeem(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let id = id(context)?;
    let terms = match context.body() {
        // Without a body the strictest terms hold.
        [] => Terms::default(),
        _ => receipt_body::terms(&context.json()?)?,
    };
    let redeemed = context.decider.redeem(&context.caller.tenant, &id, &terms, &context.caller.id)?;
    let hashes = redeemed.receipt.document().as_object().and_then(|receipt| receipt.get("hashes"));
    Reply::json(&Redeemed {
        receipt_id: id.to_string(),
        verdict: redeemed.worth.verdict.as_str(),
        trust: redeemed.worth.trust.as_str(),
        issued_here: redeemed.worth.issued_here,
        superseded_by: redeemed.worth.superseded_by.map(|by| by.to_string()),
        task_id: redeemed.receipt.task().and_then(|task| task.task_id.clone()),
        hashes: hashes.unwrap_or(&Json::Null).into(),
        redeemed_at: Timestamp::from_unix_millis(redeemed.spent.at).as_str().to_owned(),
        by: redeemed.spent.by,
    })
}

/// `POST /v1/receipts/{id}/recheck`: runs the request of a receipt issued here again. The new receipt supersedes the old
/// one, which stays.
pub(crate) async fn recheck(state: Arc<AppState>, head: Head, _: Body) -> Result<Reply, Problem> {
    let id = head.id().ok_or_else(no_receipt)?;
    let wait = wait(&head.parts.headers);
    let tenant = head.caller.tenant.clone();
    let (old, found) = submit::blocking(&state.services, move |services| rerun(services, &tenant, id)).await??;
    let submission = Submission { wait, ..found };
    match submit::verify(&state.services, |_| Ok(submission)).await? {
        Answer::Job(view) => accepted(&view),
        Answer::Receipt(new) => {
            let differences = differences(&old.receipt, &new);
            let reply = Reply::json(&Rechecked {
                // An error says nothing about the work, so the old receipt goes on counting.
                supersedes: (new.verdict() != Verdict::Error).then(|| id.to_string()),
                same: differences.is_empty(),
                differences,
                receipt: new.document().into(),
            })?;
            Ok(with_receipt(reply, &new.to_text()))
        }
    }
}

/// Runs the request of a receipt issued here again, as a job, which goes on when no client waits for it.
///
/// # Errors
/// [`Problem`] when the request is not stored, or was run again already.
pub fn rerun_as_job(services: &Services, tenant: &Tenant, id: ReceiptId) -> Result<ReceiptId, Problem> {
    let (_, submission) = rerun(services, tenant, id)?;
    submit::begin_job(services, submission)
}

/// A receipt issued here, and what runs its request again; the new receipt supersedes the old one.
fn rerun(services: &Services, tenant: &Tenant, id: ReceiptId) -> Result<(StoredReceipt, Submission), Problem> {
    let (old, text) = services.decider.rerunnable(tenant, &id)?.ok_or_else(no_receipt)?;
    let submission = Submission {
        chain: old.chain.clone(),
        tenant: tenant.clone(),
        request: Source::Text(text),
        supersedes: Some(id),
        // No key is needed: once the new receipt supersedes the old one, a repetition is refused.
        replayable: None,
        wait: Duration::ZERO,
        held: None,
    };
    Ok((old, submission))
}

/// `GET /v1/stats`: how many receipts have which verdict, of one chain or signer or of all.
pub(crate) fn stats(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&["chain", "signer", "task_type"])?;
    let chain = chain_parameter(context)?;
    let signer = signer(context)?.map(|signer| signer.to_string());
    let filter =
        CountFilter { chain: chain.as_deref(), signer: signer.as_deref(), task_type: context.parameter("task_type") };
    let counts = context.store().verdict_counts(&filter)?;
    Reply::json(&Stats {
        pass: counts.pass,
        fail: counts.fail,
        partial: counts.partial,
        error: counts.error,
        total: counts.pass + counts.fail + counts.partial + counts.error,
        issued_elsewhere: counts.issued_elsewhere,
        left_out: LeftOut { superseded: counts.superseded, untrusted: counts.untrusted },
    })
}

impl From<&StoredReceipt> for ReceiptEntry {
    fn from(stored: &StoredReceipt) -> Self {
        Self {
            receipt_id: stored.receipt.receipt_id().to_string(),
            verdict: stored.receipt.verdict().as_str(),
            chain: stored.chain.clone(),
            trust: stored.trust.map_or("own", |trust| trust.as_str()),
            redeemed: stored.spent,
            superseded_by: stored.superseded_by.map(|by| by.to_string()),
            receipt: stored.receipt.document().into(),
        }
    }
}

impl From<Received> for ReceivedEntry {
    fn from(received: Received) -> Self {
        let (mut cause, mut message, mut help) = (None, None, None);
        if let Some(refused) = received.refused {
            (cause, message, help) = (Some(refused.code), Some(refused.message), refused.help);
        }
        Self {
            receipt_id: received.receipt_id.map(|id| id.to_string()),
            answer: received.answer.as_str(),
            trust: received.trust.as_str(),
            kept: cause.is_none(),
            cause,
            message,
            help,
        }
    }
}

pub(crate) fn stored(context: &RequestContext<'_>) -> Result<StoredReceipt, Problem> {
    context.store().receipt(&id(context)?)?.ok_or_else(no_receipt)
}

fn id(context: &RequestContext<'_>) -> Result<ReceiptId, Problem> {
    context.variable("id").parse().map_err(|_| no_receipt())
}

fn no_receipt() -> Problem {
    Problem::not_found("receipt")
}

fn chain_parameter(context: &RequestContext<'_>) -> Result<Option<String>, Problem> {
    context.parameter("chain").map(|name| chain_name(Some(name))).transpose()
}

fn signer(context: &RequestContext<'_>) -> Result<Option<SignerId>, Problem> {
    context.parsed("signer", "a signer id: base64 of a public key, or `ed25519:` and hex digits")
}
