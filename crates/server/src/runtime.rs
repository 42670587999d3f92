//! The wire of the runtime SDK: preflights, reports of executions, taint probes and events.

use proofmark_receipt::json::Profile;
use proofmark_receipt::{Json, Object, Sha256Digest};
use proofmark_verifier::boundary::{DecisionReceipt, Disposition, Request};
use proofmark_verifier::{Asked, Report, taint_labels};

use crate::context::RequestContext;
use crate::metrics;
use crate::problem::Problem;

/// The longest excerpt that is probed, in bytes.
const MAX_EXCERPT: usize = 256 << 10;

/// The only outcome from which the SDK derives `human_review`.
const ASK_HUMAN: &str = "ask_human";

/// `POST /v4/runtime/boundaries/preflight`.
pub(crate) fn preflight(context: &RequestContext<'_>) -> Result<Json, Problem> {
    let body = context.json()?;
    let request =
        Request::read(&body).map_err(|error| Problem::bad(error.code(), format!("read the request: {error}")))?;
    let candidate = candidate(&body);
    let asked = Asked {
        request: &request,
        tenant: &context.caller.tenant,
        candidate: candidate.as_deref(),
        replayable: context.replayable(),
        stop: &context.stop,
    };
    let receipt = context.decider.decide(&asked)?;
    metrics::decided(receipt.disposition().mode());
    Ok(wire(&receipt))
}

/// `POST /v4/runtime/boundaries/executions/report`.
pub(crate) fn report(context: &RequestContext<'_>) -> Result<Json, Problem> {
    let body = context.json()?;
    let observed = body.as_object().and_then(|body| body.get("observed_execution")?.as_object());
    let observed = observed
        .ok_or_else(|| Problem::bad("missing_field", "`observed_execution` is missing; say what was executed"))?;
    let executed = observed.get("side_effect_executed").and_then(Json::as_bool);
    let executed =
        executed.ok_or_else(|| Problem::bad("missing_field", "`side_effect_executed` has to be true or false"))?;
    let (decision_id, candidate) = (maybe_text(observed, "decision_id")?, maybe_text(observed, "candidate_hash")?);
    let document = body.to_text();
    let report = Report {
        tenant: &context.caller.tenant,
        decision_id,
        executed,
        args: trace(observed)?.and_then(|trace| trace.get("args")),
        candidate,
        document: &document,
        replayable: context.replayable(),
    };
    let reported = context.decider.report(&report)?;
    let mut answer = Object::new();
    answer.insert("accepted", true);
    answer.insert("findings", reported.findings.iter().map(|code| Json::from(code.as_str())).collect::<Vec<_>>());
    Ok(answer.into())
}

/// A text that may be left out. Of another type it must not pass for one that was: a report would seem to fit.
fn maybe_text<'a>(observed: &'a Object, name: &str) -> Result<Option<&'a str>, Problem> {
    match observed.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(_) => Err(Problem::bad("wrong_type", format!("`{name}` has to be a text"))),
    }
}

/// What was executed, where the report says it.
fn trace(observed: &Object) -> Result<Option<&Object>, Problem> {
    match observed.get("downstream_trace") {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Object(trace)) => Ok(Some(trace)),
        Some(_) => Err(Problem::bad("wrong_type", "`downstream_trace` has to be an object")),
    }
}

/// `POST /v4/runtime/taint/probe`. The same excerpt always gets the same labels.
pub(crate) fn taint(context: &RequestContext<'_>) -> Result<Json, Problem> {
    let body = context.json()?;
    let excerpt = body.as_object().and_then(|body| body.get("excerpt")?.as_str());
    let excerpt = excerpt.ok_or_else(|| Problem::bad("missing_field", "`excerpt` has to be the text to probe"))?;
    if excerpt.len() > MAX_EXCERPT {
        return Err(Problem::bad(
            "too_large",
            format!("`excerpt` is longer than {MAX_EXCERPT} bytes; probe it in parts"),
        ));
    }
    let hits = taint_labels(excerpt);
    let mut rules = Object::new();
    for (label, rule) in &hits {
        rules.insert(*label, *rule);
    }
    let mut answer = Object::new();
    answer.insert("taint_labels", hits.iter().map(|(label, _)| Json::from(*label)).collect::<Vec<_>>());
    answer.insert("rules", rules);
    Ok(answer.into())
}

/// `POST /v1/events/batch`. Events are counted, not kept: decisions rest on what preflights carry.
pub(crate) fn events(context: &RequestContext<'_>) -> Result<Json, Problem> {
    let body = context.json()?;
    let events = body.as_object().and_then(|body| body.get("events")?.as_array());
    let events = events.ok_or_else(|| Problem::bad("missing_field", "`events` has to be a list"))?;
    let mut answer = Object::new();
    answer.insert("accepted", events.len() as u64);
    Ok(answer.into())
}

/// A decision as the SDK reads it: what it derives from this is what the receipt says.
fn wire(receipt: &DecisionReceipt) -> Json {
    const SAME: [&str; 9] = [
        "decision_id",
        "action_class",
        "reasons",
        "safe_next_steps",
        "viewer_guidance",
        "what_would_change_this",
        "must_not_retry_same_action",
        "human_review_terminal",
        "runtime_loopback",
    ];
    let document = receipt.document();
    let member = |name: &str| document.get(name).cloned().unwrap_or(Json::Null);
    let inner =
        |name: &str| document.get("runtime_loopback").and_then(|loopback| loopback.as_object()?.get(name)).cloned();
    let mut answer = Object::new();
    for name in SAME {
        answer.insert(name, member(name));
    }
    let outcome =
        if receipt.disposition() == Disposition::HumanReview { Json::from(ASK_HUMAN) } else { member("outcome") };
    answer.insert("outcome", outcome);
    answer.insert("retry_directive", retry_directive(receipt));
    for name in ["missing_support", "authorization_gaps"] {
        answer.insert(name, inner(name).unwrap_or_else(|| Json::Array(Vec::new())));
    }
    let fingerprint = inner("forbidden_action_fingerprint").unwrap_or(Json::Null);
    answer.insert("forbidden_action_fingerprint", fingerprint);
    answer.insert("forbidden_action_equivalence_class", Json::Null);
    answer.insert("receipt", document.clone());
    answer.into()
}

fn retry_directive(receipt: &DecisionReceipt) -> Object {
    let disposition = receipt.disposition();
    let document = receipt.document();
    let retry =
        document.get("resume_contract").and_then(|contract| contract.as_object()?.get("retry_this_node")?.as_bool());
    let loopback = document.get("runtime_loopback").and_then(Json::as_object);
    let inner = |name: &str| loopback.and_then(|loopback| loopback.get(name)).cloned();
    let scope = match disposition {
        Disposition::LocalReplan => Json::from("local"),
        Disposition::UpstreamReplan => Json::from("upstream"),
        Disposition::Allow | Disposition::AllowWithWarning | Disposition::HumanReview | Disposition::TerminalBlock => {
            Json::Null
        }
    };
    let mut directive = Object::new();
    directive.insert("can_retry", retry.unwrap_or(false));
    directive.insert("replan_scope", scope);
    directive.insert("same_goal_state", inner("same_goal_state").unwrap_or(Json::Bool(true)));
    directive.insert("retryability", inner("retryability").unwrap_or_else(|| Json::from("none")));
    directive
}

/// `candidate_hash` as the SDK computes it, so that its reports can be told to be of this action.
fn candidate(body: &Json) -> Option<String> {
    let body = body.as_object()?;
    let envelope = body.get("envelope")?.as_object()?;
    let context = body.get("decision_context")?.as_object()?;
    let mut named = Object::new();
    for (from, name) in [
        (envelope, "run_id"),
        (envelope, "step_id"),
        (context, "pending_action"),
        (context, "provider"),
        (context, "framework"),
    ] {
        named.insert(name, from.get(name).cloned().unwrap_or(Json::Null));
    }
    let bytes = Json::from(named).canonical(Profile::PyAscii).ok()?;
    Some(Sha256Digest::of(&bytes).bare_hex())
}
