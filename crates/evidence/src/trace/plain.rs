//! Plain JSON Lines: one call per record, `{"name", "args", "result"}`.

use proofmark_receipt::{Json, Object};
use proofmark_session::CallStatus;

use super::Form;
use super::collect::{Answer, Calls, Made};
use super::error::TraceError;
use super::outcome::{self, Mark};
use super::records::Record;
use crate::call::Call;

pub(super) static FORM: Form = Form { name: "plain", lists: &["calls"], has_messages: false, recognizes, calls };

fn recognizes(record: &Object) -> bool {
    let is_text = |name: &str| record.get(name).and_then(Json::as_str).is_some();
    // A message of another form may have a `name` too.
    !is_text("role") && (is_text("name") || is_text("tool"))
}

fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut calls = Calls::default();
    let mut stated = Vec::new();
    for (position, record) in records.iter().enumerate() {
        stated.push(call(&mut calls, record, position, record.object()?)?);
    }
    let mut calls = calls.finish();
    for (call, status) in calls.iter_mut().zip(stated) {
        call.status = status.unwrap_or(call.status);
    }
    Ok(calls)
}

/// Adds the call of a record, and returns the status that the record states.
fn call(calls: &mut Calls, record: &Record, position: usize, entry: &Object) -> Result<Option<CallStatus>, TraceError> {
    let field = |one: &str, other: &str| entry.get(one).or_else(|| entry.get(other));
    let name = field("name", "tool").and_then(Json::as_str);
    let name = name.ok_or_else(|| record.malformed("this call has no `name`"))?;
    let at = field("at", "timestamp").and_then(Json::as_str);
    let arguments = outcome::arguments(field("args", "arguments").or_else(|| entry.get("input")));
    let index = calls.made(record, position, Made { id: None, name, arguments, at })?;
    let stated = status(record, entry)?;
    if let Some(error) = entry.get("error").filter(|error| outcome::reports_error(error)) {
        calls.end(index, position, Answer { result: Some(error.clone()), mark: Mark::Error });
        return Ok(match stated {
            // The tool may have changed something, whatever it printed as an error.
            Some(CallStatus::Succeeded | CallStatus::Doubtful | CallStatus::Pending) => Some(CallStatus::Doubtful),
            Some(CallStatus::Failed | CallStatus::Blocked) | None => stated,
        });
    }
    let result = field("result", "output").map(outcome::result);
    match (stated, result) {
        // A part of a result is no end: a call that still runs has not come before anything.
        (Some(CallStatus::Pending), result) => calls.so_far(index, result),
        // A call that succeeded has ended; without an end, `before` and `after` could not order it. Beside a result that
        // reads like an error the status is doubtful.
        (Some(CallStatus::Succeeded), result) => {
            calls.end(index, position, Answer { result, mark: Mark::Clear });
            return Ok(None);
        }
        (_, Some(result)) => calls.end(index, position, Answer { result: Some(result), mark: Mark::Unknown }),
        (_, None) => {}
    }
    Ok(stated)
}

fn status(record: &Record, entry: &Object) -> Result<Option<CallStatus>, TraceError> {
    let Some(status) = entry.get("status") else {
        return Ok(None);
    };
    match status.as_str() {
        Some("succeeded" | "success" | "ok" | "completed") => Ok(Some(CallStatus::Succeeded)),
        Some("failed" | "error") => Ok(Some(CallStatus::Failed)),
        Some("pending" | "running") => Ok(Some(CallStatus::Pending)),
        Some("blocked") => Ok(Some(CallStatus::Blocked)),
        Some("doubtful") => Ok(Some(CallStatus::Doubtful)),
        Some(_) | None => Err(record.malformed(
            "the `status` of this call is not one of `succeeded`, `failed`, `doubtful`, `blocked`, `pending`",
        )),
    }
}
