//! Guarded sessions: the entries that `proofmark guard` and `proofmark hook` recorded.

use std::collections::HashMap;

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
    let mut session = Session::default();
    for (position, record) in records.iter().enumerate() {
        session.entry(record, position, record.object()?)?;
    }
    let mut calls = session.calls.finish();
    for (index, status) in session.statuses {
        if let Some(call) = calls.get_mut(index) {
            call.status = status;
        }
    }
    for index in session.undecided {
        if let Some(call) = calls.get_mut(index) {
            call.undecided = true;
        }
    }
    Ok(calls)
}

#[derive(Default)]
struct Session {
    calls: Calls,
    /// The calls, by their decisions.
    decided: HashMap<String, usize>,
    /// How calls ended of which the record says it in another way than by a result.
    statuses: Vec<(usize, CallStatus)>,
    /// The calls that were made without a decision.
    undecided: Vec<usize>,
}

impl Session {
    fn entry(&mut self, record: &Record, position: usize, entry: &Object) -> Result<(), TraceError> {
        let text = |name: &str| entry.get(name).and_then(Json::as_str);
        let name = || text("tool").ok_or_else(|| record.malformed("this entry names no tool"));
        // Absent where they were too long to be recorded: then they are not known.
        let arguments = || text("arguments").and_then(|text| Json::parse(text.as_bytes()).ok()).unwrap_or(Json::Null);
        let status = text("status").and_then(CallStatus::from_word);
        let decision = text("decision")
            .filter(|_| text("method").is_none_or(|method| method == "tools/call" || method.starts_with("tasks/")));
        match (text("kind"), decision) {
            (Some("decided"), Some(decision)) => {
                // The id of the request may be used again, that of the decision never is.
                let made = Made { id: Some(decision), name: name()?, arguments: arguments(), at: text("at") };
                let index = self.calls.made(record, position, made)?;
                self.decided.insert(decision.to_owned(), index);
                // In shadow mode, what the policy blocks is executed all the same.
                let is_true = |name: &str| entry.get(name).and_then(Json::as_bool) == Some(true);
                if !is_true("allowed") && !is_true("shadowed") {
                    self.statuses.push((index, CallStatus::Blocked));
                }
            }
            // A task's call has several results, of which the last says how it ended.
            (Some("result"), Some(decision)) if self.calls.is_open(decision) => {
                let mark = match status {
                    Some(CallStatus::Succeeded) => Mark::Clear,
                    Some(CallStatus::Doubtful) => Mark::Unreadable,
                    Some(CallStatus::Failed | CallStatus::Blocked) => Mark::Error,
                    Some(CallStatus::Pending) | None => return Ok(()),
                };
                let answer = Answer { result: text("text").and_then(content), mark };
                self.calls.answered(record, position, decision, answer)?;
            }
            (Some("ended"), Some(decision)) => {
                let index = self.decided.get(decision).copied();
                self.statuses.extend(index.zip(status));
            }
            (Some("undecided"), _) => {
                let made = Made { id: None, name: name()?, arguments: arguments(), at: text("at") };
                let index = self.calls.made(record, position, made)?;
                self.statuses.push((index, status.unwrap_or(CallStatus::Doubtful)));
                self.undecided.push(index);
            }
            _ => {}
        }
        Ok(())
    }
}

/// What the agent was answered, where all of it was recorded: a message of a server, or what a host says that a tool returned.
fn content(text: &str) -> Option<Json> {
    let json = Json::parse(text.as_bytes()).ok()?;
    let Some(message) = json.as_object().filter(|message| message.contains("jsonrpc")) else {
        return Some(outcome::result(&json));
    };
    let Some(result) = message.get("result").and_then(Json::as_object) else { return message.get("error").cloned() };
    // The text in `content` only repeats `structuredContent`, for clients that do not read the latter.
    result.get("structuredContent").or_else(|| result.get("content")).map(outcome::result)
}
