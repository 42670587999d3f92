//! `/v1/receipts` and `/v1/stats`: receipts kept here, their chains, and what is done with them.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, StatusCode, header};
use proofmark_interop::x402;
use proofmark_receipt::{Json, Object, ReceiptId, SignerId, Timestamp, Verdict};
use proofmark_verifier::{CountFilter, Filter, Received, StoredReceipt, Terms, chain_head, differences};

use crate::call::{Call, Head};
use crate::door::Doorkeeper;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::sent;
use crate::verifications::{accepted, with_receipt};
use crate::work::{self, Answer, Wanted, chain_name};

/// How many a page has when nothing is said.
const PAGE: usize = 50;
/// How many more receipts have the id that was asked for.
const OTHERS: HeaderName = HeaderName::from_static("proofmark-other-issuers");
/// The most receipts one request brings.
pub(crate) const MAX_BROUGHT: usize = 1_000;

/// `GET /v1/receipts`, newest first.
pub(crate) fn list(call: &Call<'_>) -> Result<Json, Problem> {
    call.only(&["verdict", "tier", "task", "signer", "chain", "since", "until", "limit", "after"])?;
    let time = |name: &str| call.parsed::<Timestamp>(name, "a time as in 2026-03-01T12:00:00Z");
    let chain = call.parameter("chain").map(|name| chain_name(Some(name))).transpose()?;
    let found = call.store().list(&Filter {
        verdict: call.parsed::<Verdict>("verdict", "pass, fail, partial or error")?,
        tier: call.parsed::<u8>("tier", "a number from 0 to 3")?,
        task_id: call.parameter("task").map(str::to_owned),
        signer: signer(call)?.map(|signer| signer.to_string()),
        chain,
        since: time("since")?.map(|time| time.unix_millis()),
        until: time("until")?.map(|time| time.unix_millis()),
        limit: call.limit(PAGE)?,
        after: call.parsed("after", "the `next` of the page before")?,
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
pub(crate) fn show(call: &Call<'_>) -> Result<Reply, Problem> {
    call.only(&["signer"])?;
    let kept = match signer(call)? {
        None => kept(call)?,
        Some(signer) => call.store().receipt_by(&named(call)?, &signer.to_string())?.ok_or_else(no_receipt)?,
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
pub(crate) fn chain(call: &Call<'_>) -> Result<Json, Problem> {
    call.only(&["limit", "after"])?;
    let kept = kept(call)?;
    let name = kept.chain.ok_or_else(|| Problem::not_found("chain: this receipt is on none here"))?;
    let after = call.parsed::<u64>("after", "the `next` of the page before")?;
    let limit = call.limit(PAGE)?;
    let from = after.map_or(0, |after| after.saturating_add(1));
    let receipts = call.store().chain_from(&name, from, limit)?;
    let last = from.saturating_add(receipts.len() as u64).checked_sub(1);
    let head = chain_head(&call.store(), &name, call.decider.key())?;
    let mut answer = Object::new();
    answer.insert("chain", name.as_str());
    let more = last.filter(|last| last.saturating_add(1) < head.length());
    answer.insert("next", more.map_or(Json::Null, |last| last.to_string().into()));
    answer.insert("head", head.document().clone());
    answer.insert("receipts", receipts.iter().map(|receipt| receipt.document().clone()).collect::<Vec<_>>());
    Ok(answer.into())
}

/// `POST /v1/receipts`: keeps receipts issued elsewhere, one or `{"receipts": […]}`, those that verify.
pub(crate) fn keep(call: &Call<'_>) -> Result<Json, Problem> {
    let body = call.json()?;
    match body.as_object().and_then(|body| body.get("receipts")) {
        Some(many) => keep_many(call, many),
        None => {
            let brought = call.decider.receive(&call.caller.tenant, vec![body])?;
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

fn keep_many(call: &Call<'_>, many: &Json) -> Result<Json, Problem> {
    let many = many.as_array().ok_or_else(|| Problem::bad("wrong_type", "`receipts` has to be a list"))?;
    if many.is_empty() || many.len() > MAX_BROUGHT {
        let message = format!("`receipts` has to have 1 to {MAX_BROUGHT} receipts; send more in parts");
        return Err(Problem::bad("too_many", message));
    }
    let received = call.decider.receive(&call.caller.tenant, many.to_vec())?;
    let mut answer = Object::new();
    answer.insert("results", received.iter().map(told).collect::<Vec<_>>());
    Ok(answer.into())
}

/// `POST /v1/receipts/verify`: a receipt of either kind, or `{receipt, trust: […]}`. Nothing is kept.
pub(crate) fn verify(call: &Call<'_>) -> Result<Json, Problem> {
    let body = call.json()?;
    let (receipt, trust) = presented(&body)?;
    Ok(call.bench.check(&receipt, trust.as_deref()).to_json("receipt"))
}

/// `POST /v1/receipts/{id}/redeem`: uses a receipt up, once for all, if it is a `pass` by a trusted signer, or what the body
/// accepts beside that.
pub(crate) fn redeem(call: &Call<'_>) -> Result<Json, Problem> {
    let id = named(call)?;
    let terms = match call.body() {
        [] => Terms::default(),
        _ => sent::terms(&call.json()?)?,
    };
    let redeemed = call.decider.redeem(&call.caller.tenant, &id, &terms, &call.caller.id)?;
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
pub(crate) async fn recheck(keeper: Arc<Doorkeeper>, head: Head, _: Body) -> Result<Reply, Problem> {
    let caller = head.caller;
    let id: ReceiptId = head.path.get("id").and_then(|id| id.parse().ok()).ok_or_else(no_receipt)?;
    let tenant = caller.tenant.clone();
    let found = work::inside(&keeper.bench, move |bench| bench.decider.rerunnable(&tenant, &id)).await??;
    let (old, text) = found.ok_or_else(no_receipt)?;
    let wanted = Wanted {
        chain: old.chain.clone(),
        tenant: caller.tenant,
        text,
        supersedes: Some(id),
        replayable: None,
        as_job: false,
    };
    Ok(match work::verify(&keeper.bench, wanted).await? {
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
pub(crate) fn stats(call: &Call<'_>) -> Result<Json, Problem> {
    call.only(&["chain", "signer", "task_type"])?;
    let chain = call.parameter("chain").map(|name| chain_name(Some(name))).transpose()?;
    let signer = signer(call)?.map(|signer| signer.to_string());
    let of = CountFilter { chain: chain.as_deref(), signer: signer.as_deref(), task_type: call.parameter("task_type") };
    let tally = call.store().verdict_counts(&of)?;
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
        true => Ok(sent::presented(body)?),
        false => Ok((body.to_text(), None)),
    }
}

fn kept(call: &Call<'_>) -> Result<StoredReceipt, Problem> {
    call.store().receipt(&named(call)?)?.ok_or_else(no_receipt)
}

fn named(call: &Call<'_>) -> Result<ReceiptId, Problem> {
    call.variable("id").parse().map_err(|_| no_receipt())
}

fn no_receipt() -> Problem {
    Problem::not_found("such receipt")
}

fn signer(call: &Call<'_>) -> Result<Option<SignerId>, Problem> {
    call.parsed::<SignerId>("signer", "a signer id: base64 of a public key, or `ed25519:` and hex digits")
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
