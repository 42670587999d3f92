//! The wire of the runtime SDK: preflights, reports of executions, taint probes and events.

use proofmark_boundary::{DecisionReceipt, Disposition, taint};
use proofmark_decider::Report;
use proofmark_receipt::document::shown;
use proofmark_receipt::json::Profile;
use proofmark_receipt::{Json, Object, Sha256Digest, object};
use serde::Serialize;
use tracing::warn;
use utoipa::ToSchema;

use crate::context::RequestContext;
use crate::deciding::Form;
use crate::opaque::{FindingCode, TaintLabel, TaintRules};
use crate::problem::Problem;
use crate::reply::{Document, Reply};

/// The longest excerpt that is probed, in bytes.
const MAX_EXCERPT: usize = 256 << 10;

/// The only outcome from which the SDK derives `human_review`.
const ASK_HUMAN: &str = "ask_human";

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reported {
    accepted: bool,
    #[schema(value_type = Vec<FindingCode>)]
    findings: Vec<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probed {
    #[schema(value_type = Vec<TaintLabel>)]
    taint_labels: Vec<&'static str>,
    /// The rule that gave each label first
    #[schema(value_type = TaintRules)]
    rules: Document,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsAccepted {
    accepted: usize,
}

/// `POST /v4/runtime/boundaries/preflight`. The candidate is stored with the decision: a report that names another action by
/// its hash is a finding.
pub(crate) const PREFLIGHT: Form = Form { candidate, reply: |receipt, _| Json::from(wire(receipt)).into() };

/// `POST /v4/runtime/boundaries/executions/report`.
pub(crate) fn report(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let body = context.json()?;
    let observed = body.as_object().and_then(|body| body.get("observed_execution")?.as_object());
    let observed = observed.ok_or_else(|| missing("observed_execution", "say what was executed"))?;
    let executed = observed.get("side_effect_executed").and_then(Json::as_bool);
    let executed = executed.ok_or_else(|| missing("side_effect_executed", "write true or false"))?;
    // A report without a decision is accepted: an execution that nobody decided on is a finding.
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
    for finding in &reported.findings {
        // At once: an SDK may execute a second time what was allowed once.
        let decision = shown(decision_id.unwrap_or_default());
        warn!(decision = &*decision, finding = &**finding, "an execution differs from what was decided");
    }
    Reply::json(&Reported { accepted: true, findings: reported.findings })
}

fn missing(name: &str, help: &'static str) -> Problem {
    Problem::bad("missing_field", format!("`{name}` is missing or of the wrong type")).help(help)
}

fn wrong_type(name: &str, what: &str) -> Problem {
    Problem::bad("wrong_type", format!("`{name}` is not {what}"))
}

/// A text that may be left out. A value of another type is refused: taken as left out, the report would seem to fit.
fn maybe_text<'a>(observed: &'a Object, name: &str) -> Result<Option<&'a str>, Problem> {
    match observed.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong_type(name, "a text")),
    }
}

/// What was executed, where the report says it.
fn trace(observed: &Object) -> Result<Option<&Object>, Problem> {
    match observed.get("downstream_trace") {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Object(trace)) => Ok(Some(trace)),
        Some(_) => Err(wrong_type("downstream_trace", "an object")),
    }
}

/// `POST /v4/runtime/taint/probe`. The same excerpt always gets the same labels.
pub(crate) fn taint(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let body = context.json()?;
    let excerpt = body.as_object().and_then(|body| body.get("excerpt")?.as_str());
    let excerpt = excerpt.ok_or_else(|| missing("excerpt", "write the text to probe"))?;
    if excerpt.len() > MAX_EXCERPT {
        let message = format!("`excerpt` is longer than {MAX_EXCERPT} bytes");
        return Err(Problem::bad("too_large", message).help("probe it in parts"));
    }
    let hits = taint::labels(excerpt);
    let mut rules = Object::new();
    for (label, rule) in &hits {
        rules.insert(*label, *rule);
    }
    Reply::json(&Probed {
        taint_labels: hits.iter().map(|(label, _)| *label).collect(),
        rules: Document::from(&Json::from(rules)),
    })
}

/// `POST /v1/events/batch`. Events are counted, not stored: decisions rest on what preflights carry.
pub(crate) fn events(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let body = context.json()?;
    let events = body.as_object().and_then(|body| body.get("events")?.as_array());
    let events = events.ok_or_else(|| missing("events", "write a list"))?;
    Reply::json(&EventsAccepted { accepted: events.len() })
}

/// A decision as the SDK reads it: what it derives from this is what the receipt says.
fn wire(receipt: &DecisionReceipt) -> Object {
    let document = receipt.document();
    let member = |name: &str| document.get(name).cloned().unwrap_or(Json::Null);
    let inner =
        |name: &str| document.get("runtime_loopback").and_then(|loopback| loopback.as_object()?.get(name)).cloned();
    let outcome =
        if receipt.disposition() == Disposition::HumanReview { Json::from(ASK_HUMAN) } else { member("outcome") };
    let list = |name: &str| inner(name).unwrap_or_else(|| Json::Array(Vec::new()));
    object! {
        "decision_id": member("decision_id"),
        "action_class": member("action_class"),
        "reasons": member("reasons"),
        "safe_next_steps": member("safe_next_steps"),
        "viewer_guidance": member("viewer_guidance"),
        "what_would_change_this": member("what_would_change_this"),
        "must_not_retry_same_action": member("must_not_retry_same_action"),
        "human_review_terminal": member("human_review_terminal"),
        "runtime_loopback": member("runtime_loopback"),
        "outcome": outcome,
        "retry_directive": retry_directive(receipt),
        "missing_support": list("missing_support"),
        "authorization_gaps": list("authorization_gaps"),
        "forbidden_action_fingerprint": inner("forbidden_action_fingerprint").unwrap_or(Json::Null),
        "forbidden_action_equivalence_class": Json::Null,
        "receipt": document.clone(),
    }
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
    object! {
        // This fails closed: without the member there is no retry.
        "can_retry": retry.unwrap_or(false),
        "replan_scope": scope,
        "same_goal_state": inner("same_goal_state").unwrap_or(Json::Bool(true)),
        "retryability": inner("retryability").unwrap_or_else(|| Json::from("none")),
    }
}

/// `candidate_hash` as the SDK computes it: by it a report is known to be of this action.
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
    // The SDK hashes JSON as Python writes it with ASCII escapes. A number that this profile cannot write has no hash;
    // reports are then compared by their arguments alone.
    let bytes = Json::from(named).canonical(Profile::PyAscii).ok()?;
    Some(Sha256Digest::of(&bytes).bare_hex())
}
