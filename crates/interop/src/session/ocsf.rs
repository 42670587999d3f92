//! The Open Cybersecurity Schema Framework, version 1.5.0, which SIEMs read.
//!
//! Each call is an API Activity (6003) with the profile `security_control`, which has the decision. What was blocked, and what was executed
//! although no decision allowed it, is a Detection Finding (2004) as well. Authorize Session (3003) is about the privileges of a new
//! session, so it is not used for decisions.

use proofmark_receipt::{Json, Object, Timestamp, object};

use super::{CallEnd, CallOutcome, GuardedCall, GuardedSession};

/// The version of the schema.
pub const OCSF_VERSION: &str = "1.5.0";

const API_ACTIVITY: u64 = 6003;
const DETECTION_FINDING: u64 = 2004;
/// `activity_id` "Other": a call of a tool is not known to create, read, update or delete.
const OTHER: u64 = 99;
/// `activity_id` "Create", of a finding.
const CREATE: u64 = 1;
/// `analytic.type_id` "Rule".
const RULE: u64 = 1;

/// What the security control did, in the numbers and words of the schema.
struct Control {
    action: (u64, &'static str),
    disposition: (u64, &'static str),
    severity: (u64, &'static str),
}

/// The events of a session's calls in this period (from its beginning, and before its end), in their order; after each call the finding
/// that it is, if it is one.
#[must_use]
pub fn ocsf_events(session: &GuardedSession, since: Option<i64>, until: Option<i64>) -> Vec<Object> {
    let is_meant = |at: i64| since.is_none_or(|since| at >= since) && until.is_none_or(|until| at < until);
    let calls = session.calls.iter().filter(|call| is_meant(call.at.unix_millis()));
    calls.flat_map(|call| [Some(activity(session, call)), finding(session, call)]).flatten().collect()
}

/// The API Activity that a call is.
fn activity(session: &GuardedSession, call: &GuardedCall) -> Object {
    let (status_id, status) = match (call.outcome, call.end) {
        (CallOutcome::Allowed | CallOutcome::Error, Some(CallEnd::Succeeded)) => (1, "Success"),
        (CallOutcome::Denied, _) | (_, Some(CallEnd::Failed)) => (2, "Failure"),
        // A call that waits or has no result has no status yet.
        (CallOutcome::Allowed | CallOutcome::Deferred | CallOutcome::Error, _) => (0, "Unknown"),
    };
    let mut event = base(session, call, (API_ACTIVITY, OTHER), &call.id);
    event.insert("category_uid", 6_u64);
    event.insert("category_name", "Application Activity");
    event.insert("class_name", "API Activity");
    event.insert("activity_name", call.method.as_str());
    event.insert("type_name", "API Activity: Other");
    event.insert("status_id", status_id);
    event.insert("status", status);
    event.insert("actor", actor(session));
    event.insert(
        "api",
        object! {
            "operation": call.method.as_str(),
            "service": object! { "name": call.service.as_str() },
            "request"?: call.request.as_ref().map(|uid| object! { "uid": uid.as_str() }),
        },
    );
    // Where the agent runs is not recorded.
    event.insert("src_endpoint", object! { "name": session.principal.as_str() });
    event.insert("resources", resources(call));
    event.insert("unmapped", unmapped(session, call));
    event
}

/// The Detection Finding that a call is, if it is one.
fn finding(session: &GuardedSession, call: &GuardedCall) -> Option<Object> {
    let title = match call.outcome {
        CallOutcome::Denied => format!("The call of `{}` was blocked", call.tool),
        CallOutcome::Error => format!("`{}` was called without a decision that allows it", call.tool),
        CallOutcome::Allowed | CallOutcome::Deferred => return None,
    };
    let uid = format!("{}-finding", call.id);
    let mut event = base(session, call, (DETECTION_FINDING, CREATE), &uid);
    event.insert("category_uid", 2_u64);
    event.insert("category_name", "Findings");
    event.insert("class_name", "Detection Finding");
    event.insert("activity_name", "Create");
    event.insert("type_name", "Detection Finding: Create");
    event.insert("status_id", 1_u64);
    event.insert("status", "New");
    let rule = call.decision.as_ref().and_then(|decision| decision.rule.as_deref());
    event.insert("finding_info", object! {
        "uid": uid.as_str(),
        "title": title,
        "created_time": millis(&call.at),
        "types": vec![Json::from("policy")],
        "analytic"?: rule.map(|rule| object! { "type_id": RULE, "type": "Rule", "uid": rule, "name": rule }),
        "related_events": vec![Json::from(object! { "uid": call.id.as_str(), "type_uid": API_ACTIVITY * 100 + OTHER })],
    });
    event.insert("evidences", vec![Json::from(object! { "data": unmapped(session, call) })]);
    event.insert("resources", resources(call));
    Some(event)
}

/// What events of both classes have.
fn base(session: &GuardedSession, call: &GuardedCall, (class, activity): (u64, u64), uid: &str) -> Object {
    let Control { action, disposition, severity } = control(call);
    let policy = call.decision.as_ref().map(|decision| {
        object! { "name": decision.policy_name.as_str(), "uid": decision.policy.to_string(), "is_applied": true }
    });
    let authorization = call.decision.as_ref().zip(policy.clone()).map(|(decision, policy)| {
        vec![Json::from(object! { "decision": decision.outcome.as_str(), "policy": policy })]
    });
    object! {
        "class_uid": class,
        "activity_id": activity,
        "type_uid": class * 100 + activity,
        "time": millis(&call.at),
        "severity_id": severity.0,
        "severity": severity.1,
        "action_id": action.0,
        "action": action.1,
        "disposition_id": disposition.0,
        "disposition": disposition.1,
        "policy"?: policy,
        "authorizations"?: authorization,
        "metadata": object! {
            "version": OCSF_VERSION,
            "profiles": vec![Json::from("security_control")],
            "product": object! { "name": "Proofmark", "vendor_name": "Proofmark", "version": env!("CARGO_PKG_VERSION") },
            "uid": uid,
            "correlation_uid": session.name.as_str(),
            "original_time": call.at.as_str(),
        },
    }
}

fn control(call: &GuardedCall) -> Control {
    const INFORMATIONAL: (u64, &str) = (1, "Informational");
    const MEDIUM: (u64, &str) = (3, "Medium");
    const HIGH: (u64, &str) = (4, "High");
    let (action, disposition, severity) = match call.outcome {
        CallOutcome::Allowed => ((1, "Allowed"), (1, "Allowed"), INFORMATIONAL),
        CallOutcome::Denied => ((2, "Denied"), (2, "Blocked"), MEDIUM),
        CallOutcome::Deferred => ((2, "Denied"), (14, "Delayed"), INFORMATIONAL),
        // It was made, and should be looked at.
        CallOutcome::Error => ((3, "Observed"), (15, "Detected"), HIGH),
    };
    Control { action, disposition, severity }
}

fn actor(session: &GuardedSession) -> Object {
    let user = object! { "name": session.principal.as_str(), "uid": session.principal.as_str() };
    object! {
        "user": user,
        "session": object! { "uid": session.name.as_str() },
    }
}

fn resources(call: &GuardedCall) -> Vec<Json> {
    vec![object! { "name": call.tool.as_str(), "type": "tool" }.into()]
}

/// What the schema has no place for. Arguments and results are digests.
fn unmapped(session: &GuardedSession, call: &GuardedCall) -> Object {
    let decision = call.decision.as_ref();
    object! {
        "proofmark": object! {
            "decision_id"?: decision.map(|decision| decision.id.as_str()),
            "decision_sha256"?: decision.map(|decision| decision.receipt.bare_hex()),
            "disposition"?: decision.map(|decision| decision.disposition.as_str()),
            "arguments_sha256"?: call.arguments.map(|digest| digest.bare_hex()),
            "result_sha256"?: call.result.map(|digest| digest.bare_hex()),
            "definition": call.drift.as_str(),
            "host": session.host.as_str(),
            "session_head_sha256": session.head.bare_hex(),
        },
    }
}

/// Milliseconds after 1970-01-01T00:00:00Z.
fn millis(at: &Timestamp) -> Json {
    at.unix_millis().into()
}
