//! Anthropic messages: `tool_use` blocks and their `tool_result`s, and the tools the service runs itself.

use proofmark_receipt::{Json, Object};

use super::Form;
use super::collect::{Calls, Made};
use super::error::TraceError;
use super::outcome::{self, Mark};
use super::records::Record;
use crate::call::Call;

pub(super) static FORM: Form = Form { name: "anthropic", lists: &[], has_messages: true, recognizes, calls };

fn recognizes(record: &Object) -> bool {
    has_block(record, |kind| {
        let kind = kind.to_lowercase();
        kind.ends_with("tool_use") || kind.ends_with("tool_result")
    })
}

/// Whether a record is a message with a content block of such a type.
pub(super) fn has_block(record: &Object, is_wanted: fn(&str) -> bool) -> bool {
    let blocks = record.get("content").and_then(Json::as_array).unwrap_or_default();
    let mut kinds = blocks.iter().filter_map(|block| block.as_object()?.get("type")?.as_str());
    record.get("role").and_then(Json::as_str).is_some() && kinds.any(is_wanted)
}

fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut calls = Calls::default();
    for (position, record) in records.iter().enumerate() {
        message(&mut calls, record, position, record.object()?, None)?;
    }
    Ok(calls.finish())
}

/// Reads the content blocks of one message.
pub(super) fn message(
    calls: &mut Calls,
    record: &Record,
    position: usize,
    message: &Object,
    at: Option<&str>,
) -> Result<(), TraceError> {
    if message.get("role").and_then(Json::as_str).is_none() {
        return Err(record.malformed("this message has no `role`"));
    }
    match message.get("content") {
        Some(Json::Array(blocks)) => {
            blocks.iter().try_for_each(|block| self::block(calls, record, position, block, at))
        }
        Some(Json::String(_)) => Ok(()),
        Some(_) | None => Err(record.malformed("the `content` of this message is neither text nor a list")),
    }
}

fn block(
    calls: &mut Calls,
    record: &Record,
    position: usize,
    block: &Json,
    at: Option<&str>,
) -> Result<(), TraceError> {
    let block = block.as_object().ok_or_else(|| record.malformed("a block of this message is not an object"))?;
    let kind = block.get("type").and_then(Json::as_str);
    let kind = kind.ok_or_else(|| record.malformed("a block of this message has no `type`"))?;
    let text = |name: &str| {
        block
            .get(name)
            .and_then(Json::as_str)
            .ok_or_else(|| record.malformed(format!("a `{kind}` block has no `{name}`")))
    };
    // Tools that the service runs have kinds of their own, such as `server_tool_use` and `web_search_tool_result`.
    if kind == "tool_use" || kind.ends_with("_tool_use") {
        let input = block.get("input").ok_or_else(|| record.malformed(format!("a `{kind}` block has no `input`")))?;
        let made = Made { id: Some(text("id")?), name: text("name")?, arguments: input.clone(), at };
        return calls.made(record, position, made).map(|_| ());
    }
    if kind == "tool_result" || kind.ends_with("_tool_result") {
        // The API allows a result without content.
        let content = block.get("content").unwrap_or(&Json::Null);
        return calls.gave(record, position, text("tool_use_id")?, content, mark(block, content));
    }
    if let Some(name) = unknown_call(block, kind) {
        let arguments = outcome::arguments(block.get("input").or_else(|| block.get("arguments")));
        return calls.made(record, position, Made { id: None, name, arguments, at }).map(|_| ());
    }
    Ok(())
}

/// The name of a call in a block of a type that this form does not have, as `Tool_Use`. It stays without a result.
fn unknown_call<'b>(block: &'b Object, kind: &'b str) -> Option<&'b str> {
    let words = kind.to_lowercase().replace('-', "_");
    let is_call = ["tool_use", "tool_call", "function_call"].iter().any(|call| words.ends_with(call));
    let name = block.get("name").and_then(Json::as_str).filter(|name| !name.is_empty());
    let has_arguments = block.contains("input") || block.contains("arguments");
    if is_call { Some(name.unwrap_or(kind)) } else { name.filter(|_| has_arguments) }
}

/// Results of tools the service runs say in their content that they are errors.
fn mark(block: &Object, content: &Json) -> Mark {
    let kind = content.as_object().and_then(|content| content.get("type")).and_then(Json::as_str);
    if kind.is_some_and(|kind| kind.ends_with("_error")) { Mark::Error } else { Mark::from_flag(block.get("is_error")) }
}
