//! OpenAI responses: `function_call` items and their outputs, and the calls of tools the service runs itself.

use proofmark_receipt::{Json, Object};

use super::collect::{Answer, Calls, Made};
use super::error::TraceError;
use super::outcome::{self, Mark};
use super::records::Record;
use super::{Form, anthropic};
use crate::call::Call;

pub(super) static FORM: Form =
    Form { name: "openai_responses", lists: &["input", "output", "items"], has_messages: true, recognizes, calls };

fn recognizes(record: &Object) -> bool {
    let text = |name: &str| record.get(name).and_then(Json::as_str);
    match text("role") {
        // Only the types of their content tell messages of this form from those of others.
        Some(_) => anthropic::has_block(record, |kind| matches!(kind, "input_text" | "output_text" | "input_image")),
        None => text("type").is_some_and(|kind| {
            // By suffix instead of a list of kinds: a kind that the list lacked would hide its calls.
            kind.ends_with("_call")
                || kind.ends_with("_call_output")
                || matches!(kind, "message" | "reasoning" | "item_reference")
        }),
    }
}

fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut calls = Calls::default();
    for (position, record) in records.iter().enumerate() {
        item(&mut calls, record, position, record.object()?, None)?;
    }
    Ok(calls.finish())
}

/// Reads one item, and when it was recorded.
pub(super) fn item(
    calls: &mut Calls,
    record: &Record,
    position: usize,
    item: &Object,
    at: Option<&str>,
) -> Result<(), TraceError> {
    let text = |name: &str| item.get(name).and_then(Json::as_str);
    let Some(kind) = text("type") else {
        // The messages of the input may leave their type out.
        return text("role").map(|_| ()).ok_or_else(|| record.malformed("this item has no `type`"));
    };
    if let Some(call) = kind.strip_suffix("_output").filter(|kind| kind.ends_with("_call")) {
        let id =
            text("call_id").ok_or_else(|| record.malformed(format!("this output of a `{call}` has no `call_id`")))?;
        let output = item.get("output").ok_or_else(|| record.malformed("this item has no `output`"))?;
        let mark = match text("status") {
            None | Some("completed") => Mark::Unknown,
            // A call that was cut off, or ended in a way unknown here, may have changed something.
            Some(_) => Mark::Unreadable,
        };
        return calls.answered(record, position, id, Answer { result: Some(outcome::result(output)), mark });
    }
    if kind.ends_with("_call") {
        return made(calls, record, position, item, at, kind);
    }
    // A type that this form does not have, as `Function_Call`: a call of which nothing says how it ended.
    if kind.to_lowercase().replace('-', "_").ends_with("_call") {
        let name = text("name").filter(|name| !name.is_empty()).unwrap_or(kind);
        let arguments = outcome::arguments(item.get("arguments").or_else(|| item.get("input")));
        return calls.made(record, position, Made { id: None, name, arguments, at }).map(|_| ());
    }
    Ok(())
}

fn made(
    calls: &mut Calls,
    record: &Record,
    position: usize,
    item: &Object,
    at: Option<&str>,
    kind: &str,
) -> Result<(), TraceError> {
    let text = |name: &str| item.get(name).and_then(Json::as_str);
    // The calls that the client runs. Any other kind may lack a name, and is then named after its type (`web_search`).
    let by_us = matches!(kind, "function_call" | "custom_tool_call");
    let name = match text("name") {
        Some(name) => name,
        None if by_us => return Err(record.malformed("this call has no `name`")),
        None => kind.strip_suffix("_call").unwrap_or(kind),
    };
    let id = text("call_id");
    if by_us && id.is_none() {
        return Err(record.malformed("this call has no `call_id`"));
    }
    // The member depends on the kind: custom tools have `input`, a shell or a browser `action`, the interpreter `code`.
    let written = ["arguments", "input", "action", "code"].iter().find_map(|name| item.get(name));
    let made = Made { id, name, arguments: outcome::arguments(written), at };
    let index = calls.made(record, position, made)?;
    // Tools the service runs itself have their call and their result in one item.
    if id.is_none() {
        served(calls, position, item, index);
    }
    Ok(())
}

fn served(calls: &mut Calls, position: usize, item: &Object, index: usize) {
    let result = ["output", "result", "results", "outputs"].iter().find_map(|name| item.get(name));
    let failed = item.get("error").is_some_and(|error| !error.is_null());
    let status = item.get("status").and_then(Json::as_str);
    let mark = match (failed, status) {
        (true, _) | (false, Some("failed")) => Mark::Error,
        // Without an end: such a call stays pending.
        (false, Some("queued" | "in_progress" | "searching" | "interpreting" | "calling" | "generating")) => return,
        (false, None) if result.is_none() => return,
        (false, None | Some("completed")) => Mark::Clear,
        // A call that was cut off, or ended in a way unknown here, may have changed something.
        (false, Some(_)) => Mark::Unreadable,
    };
    calls.end(index, position, Answer { result: result.map(outcome::result), mark });
}
