//! Guarded sessions: the entries that `proofmark guard` recorded.

use proofmark_receipt::{Json, Object};

use super::Form;
use super::collect::{Answer, Calls, Made};
use super::error::TraceError;
use super::outcome::{self, Mark};
use super::records::Record;
use crate::call::{Call, CallStatus};

pub(super) static FORM: Form = Form { name: "session", lists: &[], has_messages: false, recognizes, calls };

fn recognizes(record: &Object) -> bool {
    record.get("record_type").and_then(Json::as_str) == Some("proofmark_session_entry")
}

/// The tool calls. Other requests that were decided, as reads of resources, do not call tools.
fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut calls = Calls::default();
    let mut blocked = Vec::new();
    for (position, record) in records.iter().enumerate() {
        let entry = record.object()?;
        let text = |name: &str| entry.get(name).and_then(Json::as_str);
        let decision = text("decision").filter(|_| text("method").is_none_or(|method| method == "tools/call"));
        match (text("kind"), decision) {
            (Some("decided"), Some(decision)) => {
                let name = text("tool").ok_or_else(|| record.malformed("this decision names no tool"))?;
                // Absent where they were too long to be recorded: then they are not known.
                let arguments =
                    text("arguments").and_then(|text| Json::parse(text.as_bytes()).ok()).unwrap_or(Json::Null);
                // The id of the request may be used again, that of the decision never is.
                let made = Made { id: Some(decision), name, arguments, at: text("at") };
                let index = calls.made(record, position, made)?;
                if entry.get("allowed").and_then(Json::as_bool) != Some(true) {
                    blocked.push(index);
                }
            }
            (Some("result"), Some(decision)) if calls.is_open(decision) => {
                let mark = if text("status") == Some("succeeded") { Mark::Clear } else { Mark::Error };
                calls.answered(record, position, decision, Answer { result: text("text").and_then(content), mark })?;
            }
            _ => {}
        }
    }
    let mut calls = calls.finish();
    for index in blocked {
        if let Some(call) = calls.get_mut(index) {
            call.status = CallStatus::Blocked;
        }
    }
    Ok(calls)
}

/// What the agent was answered, where the whole message was recorded.
fn content(message: &str) -> Option<Json> {
    let message = Json::parse(message.as_bytes()).ok()?;
    let message = message.as_object()?;
    let Some(result) = message.get("result").and_then(Json::as_object) else { return message.get("error").cloned() };
    // The text in `content` only repeats `structuredContent`, for clients that do not read the latter.
    result.get("structuredContent").or_else(|| result.get("content")).map(outcome::result)
}
