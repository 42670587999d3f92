//! MCP: `tools/call` requests and their responses, among the other JSON-RPC messages of a session.

use std::collections::HashSet;

use proofmark_receipt::{Json, Object};

use super::Form;
use super::collect::{Answer, Calls, Made};
use super::error::{TraceError, TraceFault};
use super::outcome::{self, Mark};
use super::records::Record;
use crate::call::Call;

pub(super) static FORM: Form = Form { name: "mcp", lists: &[], has_messages: false, recognizes, calls };

fn recognizes(record: &Object) -> bool {
    rpc(record).contains("jsonrpc")
}

fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut session = Session::default();
    for (position, record) in records.iter().enumerate() {
        let entry = record.object()?;
        let at = entry.get("timestamp").and_then(Json::as_str);
        session.message(record, position, rpc(entry), at)?;
    }
    Ok(session.calls.finish())
}

/// The JSON-RPC message of an entry: itself, or the one it wraps.
pub(super) fn rpc(entry: &Object) -> &Object {
    let wrapped = ["message", "payload"].iter().find_map(|name| entry.get(name).and_then(Json::as_object));
    if entry.contains("jsonrpc") { entry } else { wrapped.unwrap_or(entry) }
}

#[derive(Debug, Default)]
struct Session {
    calls: Calls,
    /// Requests that call no tool and have no response yet. Both sides number their own, so an id may be here and among the
    /// calls.
    others: HashSet<String>,
}

impl Session {
    fn message(
        &mut self,
        record: &Record,
        position: usize,
        message: &Object,
        at: Option<&str>,
    ) -> Result<(), TraceError> {
        if message.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
            return Err(record.malformed("this is not a JSON-RPC 2.0 message"));
        }
        // As JSON text, so that the ids `1` and `"1"` stay different.
        let id = message.get("id").filter(|id| !id.is_null()).map(Json::to_text);
        match (message.get("method"), id) {
            (Some(method), Some(id)) => self.request(record, position, message, method, &id, at),
            // The protocol knows no such call. A server may run it all the same, and nothing will say how it ended.
            (Some(method), None) if method.as_str() == Some("tools/call") => {
                self.call(record, position, message, None, at)
            }
            // A request without an id is a notification, which has no response.
            (Some(_), None) => Ok(()),
            (None, Some(id)) => self.response(record, position, message, &id),
            (None, None) => Err(record.malformed("this message has neither `method` nor `id`")),
        }
    }

    fn request(
        &mut self,
        record: &Record,
        position: usize,
        message: &Object,
        method: &Json,
        id: &str,
        at: Option<&str>,
    ) -> Result<(), TraceError> {
        if method.as_str() != Some("tools/call") {
            self.others.insert(id.to_owned());
            return Ok(());
        }
        self.call(record, position, message, Some(id), at)
    }

    fn call(
        &mut self,
        record: &Record,
        position: usize,
        message: &Object,
        id: Option<&str>,
        at: Option<&str>,
    ) -> Result<(), TraceError> {
        let params = message.get("params").and_then(Json::as_object);
        let params = params.ok_or_else(|| record.malformed("this `tools/call` has no `params`"))?;
        let name = params.get("name").and_then(Json::as_str);
        let name = name.ok_or_else(|| record.malformed("this `tools/call` names no tool"))?;
        let arguments = outcome::arguments(params.get("arguments"));
        self.calls.made(record, position, Made { id, name, arguments, at }).map(|_| ())
    }

    fn response(&mut self, record: &Record, position: usize, message: &Object, id: &str) -> Result<(), TraceError> {
        let (result, error) = (message.get("result"), message.get("error"));
        if result.is_none() && error.is_none() {
            return Err(record.malformed("this response has neither `result` nor `error`"));
        }
        // The two sides number their requests independently, so only the shape of a result says whose it is.
        let is_tools = result.is_none_or(is_tool_result);
        match (self.calls.is_open(id), self.others.contains(id)) {
            // An error has no such shape, so it could belong to either request.
            (true, true) if error.is_some() => Err(record.error(TraceFault::DuplicateCall(id.to_owned()))),
            (true, _) if is_tools => self.calls.answered(record, position, id, answer(result, error)),
            (_, true) => {
                self.others.remove(id);
                Ok(())
            }
            (true, false) => Err(record.malformed("the result of this tool call has no `content`")),
            (false, false) => Err(record.error(TraceFault::ResultWithoutCall(id.to_owned()))),
        }
    }
}

fn is_tool_result(result: &Json) -> bool {
    result.as_object().is_some_and(|result| {
        result.get("content").is_some_and(|content| content.as_array().is_some())
            || result.contains("structuredContent")
    })
}

fn answer(result: Option<&Json>, error: Option<&Json>) -> Answer {
    let Some(result) = result.and_then(Json::as_object) else {
        return Answer { result: error.cloned(), mark: Mark::Error };
    };
    // The text in `content` only repeats `structuredContent`, for clients that do not read the latter.
    let content = result.get("structuredContent").or_else(|| result.get("content"));
    let mark = if error.is_some() { Mark::Error } else { Mark::from_flag(result.get("isError")) };
    Answer { result: content.map(outcome::result), mark }
}
