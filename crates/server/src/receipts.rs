//! `/v1/receipts` and `/v1/stats`: receipts kept here, their chains, and what is done with them.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, StatusCode, header};
use proofmark_receipt::{Json, Object, ReceiptId, SignerId, Timestamp, Verdict};
use proofmark_verifier::{CountFilter, Filter, Received, StoredReceipt, Terms, chain_head, differences, x402};

use crate::attempt_body;
use crate::context::{Head, RequestContext};
use crate::problem::Problem;
use crate::reply::Reply;
use crate::router::AppState;
use crate::submit::{self, Answer, Submission, chain_name};
use crate::verifications::{accepted, with_receipt};

/// How many a page has when nothing is said.
const PAGE: usize = 50;
/// How many more receipts have the id that was asked for.
const OTHERS: HeaderName = HeaderName::from_static("proofmark-other-issuers");
/// The most receipts one request brings.
pub(crate) const MAX_BROUGHT: usize = 1_000;

/// `GET /v1/receipts`, newest first.
pub(crate) fn list(context: &RequestContext<'_>) -> Result<Json, Problem> {
    context.only(&["verdict", "tier", "task", "signer", "chain", "since", "until", "limit", "after"])?;
    let time = |name: &str| context.parsed::<Timestamp>(name, "a time as in 2026-03-01T12:00:00Z");
    let chain = context.parameter("chain").map(|name| chain_name(Some(name))).transpose()?;
    let found = context.store().list(&Filter {
        verdict: context.parsed::<Verdict>("verdict", "pass, fail, partial or error")?,
        tier: context.parsed::<u8>("tier", "a number from 0 to 3")?,
        task_id: context.parameter("task").map(str::to_owned),
        signer: signer(context)?.map(|signer| signer.to_string()),
        chain,
        since: time("since")?.map(|time| time.unix_millis()),
        until: time("until")?.map(|time| time.unix_millis()),
        limit: context.limit(PAGE)?,
        after: context.parsed("after", "the `next` of the page before")?,
    })?;
    let mut answer = Object::new();
    answer.insert("receipts", found.receipts.iter().map(shown).collect::<Vec<_>>());
    answer.insert("next", found.next.map_or(Json::Null, |next| Json::from(next.to_string())));
    if found.unreadable > 0 {
        answer.insert("unreadable", found.unreadable as u64);
    }
    Ok(answer.into())
}

/// `GET /v1/receipts/{id}`: the receipt itself, as it was signed. A `Link` leads to the one that took its place. Where
/// several issuers gave one under this id, a header says how many more there are, and `signer` chooses.
pub(crate) fn show(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&["signer"])?;
    let kept = match signer(context)? {
        None => kept(context)?,
        Some(signer) => context.store().receipt_by(&named(context)?, &signer.to_string())?.ok_or_else(no_receipt)?,
    };
    let mut reply = Reply::from(kept.receipt.document().clone());
    if kept.others > 0 {
        reply = reply.header(OTHERS, kept.others.to_string());
    }
    Ok(match kept.superseded_by {
        Some(by) => reply.header(header::LINK, format!("<{}>; rel=\"successor-version\"", x402::path(&by))),
        None => reply,
    })
}

/// `GET /v1/receipts/{id}/chain`: the receipts of its chain, first to last, and the chain's end, signed.
pub(crate) fn chain(context: &RequestContext<'_>) -> Result<Json, Problem> {
    context.only(&["limit", "after"])?;
    let kept = kept(context)?;
    let name = kept.chain.ok_or_else(|| Problem::not_found("chain: this receipt is on none here"))?;
    let after = context.parsed::<u64>("after", "the `next` of the page before")?;
    let limit = context.limit(PAGE)?;
    let from = after.map_or(0, |after| after.saturating_add(1));
    let receipts = context.store().chain_from(&name, from, limit)?;
    let last = from.saturating_add(receipts.len() as u64).checked_sub(1);
    let head = chain_head(&context.store(), &name, context.decider.key())?;
    let mut answer = Object::new();
    answer.insert("chain", name.as_str());
    let more = last.filter(|last| last.saturating_add(1) < head.length());
    answer.insert("next", more.map_or(Json::Null, |last| last.to_string().into()));
    answer.insert("head", Json::parse(head.to_text().as_bytes()).unwrap_or(Json::Null));
    answer.insert("receipts", receipts.iter().map(|receipt| receipt.document().clone()).collect::<Vec<_>>());
    Ok(answer.into())
}

/// `POST /v1/receipts`: keeps receipts issued elsewhere, one or `{"receipts": […]}`, those that verify.
pub(crate) fn keep(context: &RequestContext<'_>) -> Result<Json, Problem> {
    let body = context.json()?;
    match body.as_object().and_then(|body| body.get("receipts")) {
        Some(many) => keep_many(context, many),
        None => {
            let brought = context.decider.receive(&context.caller.tenant, vec![body.to_text()])?;
            let received = brought.into_iter().next().ok_or_else(Problem::internal)?;
            match &received.refused {
                Some((code, message)) => {
                    Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, format!("keep the receipt: {message}")))
                }
                None => Ok(told(&received)),
            }
        }
    }
}

fn keep_many(context: &RequestContext<'_>, many: &Json) -> Result<Json, Problem> {
    let many = many.as_array().ok_or_else(|| Problem::bad("wrong_type", "`receipts` has to be a list"))?;
    if many.is_empty() || many.len() > MAX_BROUGHT {
        let message = format!("`receipts` has to have 1 to {MAX_BROUGHT} receipts; send more in parts");
        return Err(Problem::bad("too_many", message));
    }
    let received = context.decider.receive(&context.caller.tenant, many.iter().map(Json::to_text).collect())?;
    let mut answer = Object::new();
    answer.insert("results", received.iter().map(told).collect::<Vec<_>>());
    Ok(answer.into())
}

/// `POST /v1/receipts/verify`: a receipt of either kind, or `{receipt, trust: […]}`. Nothing is kept.
pub(crate) fn verify(context: &RequestContext<'_>) -> Result<Json, Problem> {
    let body = context.json()?;
    let (receipt, trust) = presented(&body)?;
    Ok(context.services.check(&receipt, trust.as_deref()).to_json("receipt"))
}

/// `POST /v1/receipts/{id}/redeem`: uses a receipt up, once for all, if it is a `pass` by a trusted signer, or what the body
/// accepts beside that.
pub(crate) fn redeem(context: &RequestContext<'_>) -> Result<Json, Problem> {
    let id = named(context)?;
    let terms = match context.body() {
        [] => Terms::default(),
        _ => attempt_body::terms(&context.json()?)?,
    };
    let redeemed = context.decider.redeem(&context.caller.tenant, &id, &terms, &context.caller.id)?;
    let mut answer = Object::new();
    answer.insert("receipt_id", id.to_string());
    answer.insert("verdict", redeemed.worth.verdict.as_str());
    redeemed.worth.describe(&mut answer);
    let task_id = redeemed.receipt.task().and_then(|task| task.task_id.as_deref());
    answer.insert("task_id", task_id.map_or(Json::Null, Json::from));
    let hashes = redeemed.receipt.document().as_object().and_then(|receipt| receipt.get("hashes"));
    answer.insert("hashes", hashes.cloned().unwrap_or(Json::Null));
    answer.insert("redeemed_at", Timestamp::from_unix_millis(redeemed.spent.at).as_str());
    answer.insert("by", redeemed.spent.by.as_str());
    Ok(answer.into())
}

/// `POST /v1/receipts/{id}/recheck`: runs the request of a receipt issued here again. The new receipt supersedes the old
/// one, which stays.
pub(crate) async fn recheck(state: Arc<AppState>, head: Head, _: Body) -> Result<Reply, Problem> {
    let caller = head.caller;
    let id: ReceiptId = head.path.get("id").and_then(|id| id.parse().ok()).ok_or_else(no_receipt)?;
    let tenant = caller.tenant.clone();
    let found = submit::inside(&state.services, move |services| services.decider.rerunnable(&tenant, &id)).await??;
    let (old, text) = found.ok_or_else(no_receipt)?;
    let wanted = Submission {
        chain: old.chain.clone(),
        tenant: caller.tenant,
        text,
        supersedes: Some(id),
        replayable: None,
        as_job: false,
    };
    Ok(match submit::verify(&state.services, wanted).await? {
        Answer::Job(view) => accepted(&view),
        Answer::Receipt(new) => {
            let differences = differences(&old.receipt, &new);
            let mut answer = Object::new();
            let superseded = new.verdict() != Verdict::Error;
            answer.insert("supersedes", if superseded { Json::from(id.to_string()) } else { Json::Null });
            answer.insert("same", differences.is_empty());
            answer.insert("differences", differences.into_iter().map(Json::from).collect::<Vec<_>>());
            answer.insert("receipt", new.document().clone());
            with_receipt(Json::from(answer).into(), &new.to_text())
        }
    })
}

/// `GET /v1/stats`: how many receipts came to which verdict, of one chain or signer or of all.
pub(crate) fn stats(context: &RequestContext<'_>) -> Result<Json, Problem> {
    context.only(&["chain", "signer", "task_type"])?;
    let chain = context.parameter("chain").map(|name| chain_name(Some(name))).transpose()?;
    let signer = signer(context)?.map(|signer| signer.to_string());
    let of =
        CountFilter { chain: chain.as_deref(), signer: signer.as_deref(), task_type: context.parameter("task_type") };
    let tally = context.store().tally(&of)?;
    let mut answer = Object::new();
    let counts = [("pass", tally.pass), ("fail", tally.fail), ("partial", tally.partial), ("error", tally.error)];
    for (name, count) in counts {
        answer.insert(name, count);
    }
    answer.insert("total", counts.iter().map(|(_, count)| count).sum::<u64>());
    answer.insert("issued_elsewhere", tally.issued_elsewhere);
    let mut left_out = Object::new();
    left_out.insert("superseded", tally.superseded);
    left_out.insert("untrusted", tally.untrusted);
    answer.insert("left_out", left_out);
    Ok(answer.into())
}

/// A receipt by itself, or one with the signers to trust.
pub(crate) fn presented(body: &Json) -> Result<(String, Option<Vec<SignerId>>), Problem> {
    match body.as_object().is_some_and(|body| body.contains("receipt")) {
        true => Ok(attempt_body::presented(body)?),
        false => Ok((body.to_text(), None)),
    }
}

fn kept(context: &RequestContext<'_>) -> Result<StoredReceipt, Problem> {
    context.store().receipt(&named(context)?)?.ok_or_else(no_receipt)
}

fn named(context: &RequestContext<'_>) -> Result<ReceiptId, Problem> {
    context.variable("id").parse().map_err(|_| no_receipt())
}

fn no_receipt() -> Problem {
    Problem::not_found("such receipt")
}

fn signer(context: &RequestContext<'_>) -> Result<Option<SignerId>, Problem> {
    context.parsed::<SignerId>("signer", "a signer id: base64 of a public key, or `ed25519:` and hex digits")
}

fn shown(kept: &StoredReceipt) -> Json {
    let mut object = Object::new();
    object.insert("receipt_id", kept.receipt.receipt_id().to_string());
    object.insert("verdict", kept.receipt.verdict().as_str());
    object.insert("chain", kept.chain.as_deref().map_or(Json::Null, Json::from));
    object.insert("trust", kept.trust.map_or(Json::from("own"), |trust| Json::from(trust.as_str())));
    object.insert("redeemed", kept.spent);
    object.insert("superseded_by", kept.superseded_by.map_or(Json::Null, |by| Json::from(by.to_string())));
    object.insert("receipt", kept.receipt.document().clone());
    object.into()
}

fn told(received: &Received) -> Json {
    let mut object = Object::new();
    object.insert("receipt_id", received.receipt_id.map_or(Json::Null, |id| Json::from(id.to_string())));
    object.insert("answer", received.answer.as_str());
    object.insert("trust", received.trust.as_str());
    object.insert("kept", received.refused.is_none());
    if let Some((code, message)) = &received.refused {
        object.insert("cause", *code);
        object.insert("message", message.as_str());
    }
    object.into()
}
