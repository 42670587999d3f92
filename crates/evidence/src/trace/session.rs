//! Guarded sessions: the entries that `proofmark guard` and `proofmark hook` recorded.

use std::collections::HashMap;

use proofmark_receipt::{Json, Object};
use proofmark_session::{CallResult, CallStatus, Decided, Entry, Event, Opened, SESSION_ENTRY, TextDigest};

use super::Form;
use super::collect::{Answer, Calls, Made};
use super::error::TraceError;
use super::outcome::{self, Mark};
use super::records::Record;
use crate::call::{Call, Given};

pub(super) static FORM: Form = Form { name: "session", lists: &[], has_messages: false, recognizes, calls };

fn recognizes(record: &Object) -> bool {
    record.get("record_type").and_then(Json::as_str) == Some(SESSION_ENTRY)
}

/// The tool calls. Other requests that were decided, as reads of resources, do not call tools.
fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut session = Session::default();
    for (position, record) in records.iter().enumerate() {
        if let Some(entry) = Entry::read(record.object()?) {
            session.entry(record, position, &entry)?;
        }
    }
    let mut calls = session.calls.finish();
    for (index, status) in session.statuses {
        if let Some(call) = calls.get_mut(index) {
            call.status = status;
        }
    }
    for call in &mut calls {
        // Calls without a decision have no process, and are of any.
        let process = call.came_from("process").map(str::to_owned);
        call.earlier = process != session.process && call.came_from("source") != Some("trace");
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
    /// Which start of the host the record ends with.
    process: Option<String>,
    /// The policy that decides.
    policy: Option<String>,
}

impl Session {
    fn entry(&mut self, record: &Record, position: usize, Entry { at, event }: &Entry) -> Result<(), TraceError> {
        if let Event::Opened(Opened { process, .. }) | Event::Decided(Decided { process, .. }) = event {
            self.process.clone_from(process);
        }
        match event {
            Event::Opened(opened) => self.policy.clone_from(&opened.policy_hash),
            Event::Policy(policy) => self.policy = Some(policy.policy_hash.clone()),
            _ => {}
        }
        match event {
            Event::Decided(decided) => {
                let Some(decision) = decided.decision.as_deref().filter(|_| calls_tool(decided.method.as_deref()))
                else {
                    return Ok(());
                };
                // The id of the request may be used again, that of the decision never is.
                let made = made(record, at, Some(decision), &decided.tool, &decided.arguments)?;
                let index = self.calls.made(record, position, made)?;
                self.calls.comes_from(index, decided.provenance());
                self.decided.insert(decision.to_owned(), index);
                if !decided.was_forwarded() {
                    self.statuses.push((index, CallStatus::Blocked));
                }
            }
            Event::Result(result) => {
                let decision = result.decision.as_deref().filter(|_| calls_tool(result.method.as_deref()));
                // A task's call has several results, of which the last says how it ended.
                let Some(decision) = decision.filter(|decision| self.calls.is_open(decision)) else { return Ok(()) };
                let mark = match result.status {
                    Some(CallStatus::Succeeded) => Mark::Clear,
                    Some(CallStatus::Doubtful) => Mark::Unreadable,
                    Some(CallStatus::Failed | CallStatus::Blocked) => Mark::Error,
                    Some(CallStatus::Pending) | None => return Ok(()),
                };
                let answer = Answer { result: result.text.as_deref().and_then(content), mark };
                self.calls.answered(record, position, decision, answer)?;
                if let Some(index) = self.decided.get(decision) {
                    self.calls.given(*index, given(result, self.policy.clone()));
                }
            }
            Event::Ended(ended) => {
                let index = self.decided.get(&ended.decision).copied();
                self.statuses.extend(index.zip(ended.status));
            }
            Event::Undecided(undecided) => {
                let made = made(record, at, None, &undecided.tool, &undecided.arguments)?;
                let index = self.calls.made(record, position, made)?;
                self.statuses.push((index, undecided.status.unwrap_or(CallStatus::Doubtful)));
                self.undecided.push(index);
            }
            _ => {}
        }
        Ok(())
    }
}

/// What the agent got, as an entry of a result has it. An excerpt counts where it is all of the text.
fn given(result: &CallResult, labelled_by: Option<String>) -> Given {
    let whole = |text: &&String| TextDigest::of(text) == result.result;
    let text = result.text.as_ref().or(result.excerpt.as_ref().filter(whole));
    let message = text.and_then(|text| Json::parse(text.as_bytes()).ok());
    let content = message.map(|message| {
        let answer = message.as_object().filter(|message| message.contains("jsonrpc"));
        answer.and_then(|answer| answer.get("result").or(answer.get("error"))).unwrap_or(&message).clone()
    });
    Given {
        content,
        signs: Some(result.signs.clone()),
        labels: result.origins.clone(),
        labelled_by,
        withheld: result.was_withheld(),
    }
}

/// A call as an entry has it.
fn made<'a>(
    record: &Record,
    at: &'a str,
    id: Option<&'a str>,
    tool: &'a Option<String>,
    arguments: &Option<String>,
) -> Result<Made<'a>, TraceError> {
    let name = tool.as_deref().ok_or_else(|| record.malformed("this entry names no tool"))?;
    // Absent where they were too long to be recorded: then they are not known.
    let parsed = arguments.as_deref().and_then(|text| Json::parse(text.as_bytes()).ok());
    Ok(Made { id, name, arguments: parsed.unwrap_or(Json::Null), at: Some(at).filter(|at| !at.is_empty()) })
}

/// Whether a request calls a tool. Hooks record no methods, and are asked about tools only.
fn calls_tool(method: Option<&str>) -> bool {
    method.is_none_or(|method| method == "tools/call" || method.starts_with("tasks/"))
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
