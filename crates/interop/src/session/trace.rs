use proofmark_receipt::{Json, Object, Sha256Digest, object};

use super::{GuardedCall, GuardedSession};
use crate::intoto::statement;

/// The predicate type of Runtime Trace 0.1.
pub const RUNTIME_TRACE: &str = "https://in-toto.io/attestation/runtime-trace/v0.1";

/// What says how an entry of `monitorLog.process` is to be read: the predicate leaves that to the monitor.
const MONITOR: &str = "urn:proofmark:guard:1";
const PROCESS: &str = "urn:proofmark:session:1";

/// The in-toto statement of a session's trace, unsigned ([`crate::intoto::envelope`]). Its subject is the end of the session.
#[must_use]
pub fn runtime_trace(session: &GuardedSession) -> Object {
    let calls: Vec<Json> = session.calls.iter().map(|call| call_object(call).into()).collect();
    let predicate = object! {
        "monitor": object! { "type": MONITOR },
        "monitoredProcess": object! {
            "hostID": session.host.as_str(),
            "type": PROCESS,
            "event": session.name.as_str(),
        },
        "monitorLog": object! { "process": calls },
        "metadata": object! {
            "buildStartedOn": session.began.as_str(),
            "buildFinishedOn"?: session.ended.as_ref().map(|ended| ended.as_str()),
        },
    };
    statement("session", &session.head, RUNTIME_TRACE, predicate)
}

fn call_object(call: &GuardedCall) -> Object {
    let digest = |digest: &Sha256Digest| object! { "sha256": digest.bare_hex() };
    let decision = call.decision.as_ref();
    object! {
        "eventType": "tool_call",
        "eventId": call.id.as_str(),
        "time": call.at.as_str(),
        "tool": call.tool.as_str(),
        "arguments"?: call.arguments.as_ref().map(digest),
        "outcome": call.outcome.as_str(),
        "decision"?: decision.map(|decision| object! {
            "id": decision.id.as_str(),
            "digest": digest(&decision.receipt),
            "policy": object! { "name": decision.policy_name.as_str(), "digest": digest(&decision.policy) },
        }),
        "drift": call.drift.as_str(),
        "result"?: call.result.as_ref().map(digest),
    }
}
