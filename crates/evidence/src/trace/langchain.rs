//! Messages of LangChain, which the state of a LangGraph holds: `tool_calls` of `ai` messages, and `tool` messages. As they are, within
//! `data`, or as `dumps` writes them, within `kwargs`.

use proofmark_receipt::{Json, Object};

use super::Form;
use super::collect::{Calls, Made};
use super::error::TraceError;
use super::outcome::{self, Mark};
use super::records::Record;
use crate::call::Call;

/// `messages`, the list of a state, is one of `openai_chat`.
pub(super) static FORM: Form = Form { name: "langchain", lists: &[], has_messages: false, recognizes, calls };

/// Who writes messages, as their types say.
const KINDS: [&str; 6] = ["human", "ai", "tool", "system", "function", "remove"];

fn recognizes(record: &Object) -> bool {
    message(record).is_some()
}

/// The type of a message, and its members.
pub(super) fn message(record: &Object) -> Option<(&str, &Object)> {
    let kind = record.get("type").and_then(Json::as_str)?;
    if kind == "constructor" {
        let class = record.get("id")?.as_array()?.last()?.as_str()?;
        let members = record.get("kwargs")?.as_object()?;
        let kind = class.strip_suffix("Chunk").unwrap_or(class).strip_suffix("Message")?;
        let kind = KINDS.into_iter().find(|known| known.eq_ignore_ascii_case(kind))?;
        return Some((kind, members));
    }
    // Parts of an answer that was received as a stream have other names.
    let kind = match kind {
        "AIMessageChunk" => "ai",
        kind => KINDS.into_iter().find(|known| *known == kind)?,
    };
    let members = record.get("data").and_then(Json::as_object).unwrap_or(record);
    (members.contains("content") && !members.contains("role")).then_some((kind, members))
}

fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut calls = Calls::default();
    for (position, record) in records.iter().enumerate() {
        let (kind, members) =
            message(record.object()?).ok_or_else(|| record.malformed("this message has no known `type`"))?;
        // Those that could not be read were not executed, as far as is known.
        for listed in ["tool_calls", "invalid_tool_calls"] {
            made(&mut calls, record, position, members.get(listed))?;
        }
        if kind == "tool" {
            answered(&mut calls, record, position, members)?;
        }
    }
    Ok(calls.finish())
}

fn made(calls: &mut Calls, record: &Record, position: usize, listed: Option<&Json>) -> Result<(), TraceError> {
    let Some(listed) = listed.filter(|listed| !listed.is_null()) else { return Ok(()) };
    for call in listed.as_array().ok_or_else(|| record.malformed("`tool_calls` is not a list"))? {
        let call = call.as_object().ok_or_else(|| record.malformed("a tool call is not an object"))?;
        let name = call.get("name").and_then(Json::as_str);
        let name = name.ok_or_else(|| record.malformed("a tool call has no `name`"))?;
        let id = call.get("id").and_then(Json::as_str);
        calls.made(record, position, Made { id, name, arguments: outcome::arguments(call.get("args")), at: None })?;
    }
    Ok(())
}

fn answered(calls: &mut Calls, record: &Record, position: usize, members: &Object) -> Result<(), TraceError> {
    let id = members.get("tool_call_id").and_then(Json::as_str);
    let id = id.ok_or_else(|| record.malformed("this tool message has no `tool_call_id`"))?;
    let mark = match members.get("status").map(Json::as_str) {
        None => Mark::Unknown,
        Some(Some("success")) => Mark::Clear,
        Some(Some("error")) => Mark::Error,
        Some(_) => Mark::Unreadable,
    };
    calls.gave(record, position, id, members.get("content").unwrap_or(&Json::Null), mark)
}
