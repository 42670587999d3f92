//! OpenAI chat completions: `tool_calls` of assistant messages and `tool` messages; also the older `function_call`.

use proofmark_receipt::{Json, Object};

use super::Form;
use super::collect::{Calls, Made};
use super::error::TraceError;
use super::outcome::{self, Mark};
use super::records::Record;
use crate::call::Call;

pub(super) static FORM: Form =
    Form { name: "openai_chat", lists: &["messages"], has_messages: true, recognizes, calls };

fn recognizes(record: &Object) -> bool {
    record.get("role").and_then(Json::as_str).is_some_and(|role| {
        // SDKs write the fields that a message does not have as null.
        let is_none = |value: &Json| value.is_null() || value.as_array().is_some_and(<[Json]>::is_empty);
        let has = |name: &str| record.get(name).is_some_and(|value| !is_none(value));
        matches!(role, "tool" | "function") || has("tool_calls") || has("function_call")
    })
}

fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut calls = Calls::default();
    for (position, record) in records.iter().enumerate() {
        message(&mut calls, record, position, record.object()?)?;
    }
    Ok(calls.finish())
}

fn message(calls: &mut Calls, record: &Record, position: usize, message: &Object) -> Result<(), TraceError> {
    let role = message.get("role").and_then(Json::as_str);
    match role.ok_or_else(|| record.malformed("this message has no `role`"))? {
        "tool" | "function" => {
            made(calls, record, position, message)?;
            answered(calls, record, position, message)
        }
        // Only assistants make calls, as this form is defined. What another role is said to have called may have run.
        _ => made(calls, record, position, message),
    }
}

fn made(calls: &mut Calls, record: &Record, position: usize, message: &Object) -> Result<(), TraceError> {
    if let Some(function) = message.get("function_call").and_then(Json::as_object) {
        // The older form has no ids: the next message of the function is the answer.
        let name = name_of(record, function)?;
        make(calls, record, position, Some(name), function)?;
    }
    // SDKs write the fields that a message does not have as null.
    let Some(listed) = message.get("tool_calls").filter(|listed| !listed.is_null()) else {
        return Ok(());
    };
    for call in listed.as_array().ok_or_else(|| record.malformed("`tool_calls` is not a list"))? {
        let call = call.as_object().ok_or_else(|| record.malformed("a tool call is not an object"))?;
        let id = call.get("id").and_then(Json::as_str).ok_or_else(|| record.malformed("a tool call has no `id`"))?;
        // A custom tool has `custom` with `input` in place of `function` with `arguments`.
        let function = call.get("function").or_else(|| call.get("custom")).and_then(Json::as_object);
        let function = function.ok_or_else(|| record.malformed("a tool call has no `function`"))?;
        make(calls, record, position, Some(id), function)?;
    }
    Ok(())
}

fn make(
    calls: &mut Calls,
    record: &Record,
    position: usize,
    id: Option<&str>,
    function: &Object,
) -> Result<(), TraceError> {
    let written = function.get("arguments").or_else(|| function.get("input"));
    let made = Made { id, name: name_of(record, function)?, arguments: outcome::arguments(written), at: None };
    calls.made(record, position, made).map(|_| ())
}

fn answered(calls: &mut Calls, record: &Record, position: usize, message: &Object) -> Result<(), TraceError> {
    let id = message.get("tool_call_id").or_else(|| message.get("name")).and_then(Json::as_str);
    let id = id.ok_or_else(|| record.malformed("this tool message has no `tool_call_id`"))?;
    let content = message.get("content").ok_or_else(|| record.malformed("this tool message has no `content`"))?;
    // This form has no mark for errors; `docs/contracts.md`, "Traces", says what that lets a tool's output do.
    calls.gave(record, position, id, content, Mark::Unknown)
}

fn name_of<'a>(record: &Record, function: &'a Object) -> Result<&'a str, TraceError> {
    function.get("name").and_then(Json::as_str).ok_or_else(|| record.malformed("a tool call has no `name`"))
}
