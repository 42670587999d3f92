//! What a result says: how the call ended, and the texts in it that an agent reads.

use proofmark_boundary::taint;
use proofmark_flow::MAX_SEEN_VALUES;
use proofmark_receipt::document::{Format, parse};
use proofmark_receipt::{Json, Object, object};
use proofmark_session::CallStatus;

use crate::message::Message;

/// The most text of one result that is searched for signs of steering, in bytes. What is longer is labelled as such.
const MAX_SEARCHED: usize = 4 << 20;

/// How the call ended that a message answers. `None` for an answer about a task that says nothing of that.
pub(crate) fn status(message: &Message, method: &str) -> Option<CallStatus> {
    let result = message.result();
    match (method, result) {
        // In some revisions the state of a task comes with its result.
        ("tasks/get", Some(result)) => match result.get("status").and_then(Json::as_str) {
            Some("completed") => result.get("result").and_then(Json::as_object).map(ended),
            Some("failed" | "cancelled") => Some(CallStatus::Failed),
            _ => None,
        },
        ("tasks/get" | "tasks/cancel" | "tasks/update", _) => None,
        (_, Some(result)) if task(result).is_some() => Some(CallStatus::Pending),
        (_, Some(result)) => Some(ended(result)),
        (_, None) => Some(CallStatus::Failed),
    }
}

fn ended(result: &Object) -> CallStatus {
    match result.get("isError").and_then(Json::as_bool) {
        Some(true) => CallStatus::Failed,
        // The member is optional, and absent where all went well.
        _ => CallStatus::Succeeded,
    }
}

/// The most text of a result that is read as YAML, in bytes.
const MAX_YAML: usize = 1 << 20;

/// What an agent reads of an answer, with its fields. A text that holds JSON, or a list or an object in YAML, is that. What repeats
/// `structuredContent` is left out, and so is what the protocol says about a result (`_meta`).
pub(crate) fn values(message: &Message) -> Vec<Json> {
    let Some(result) = message.result() else {
        return message.body.get("error").into_iter().cloned().collect();
    };
    let result = result.get("result").and_then(Json::as_object).filter(|_| task(result).is_some()).unwrap_or(result);
    values_of(result)
}

/// As [`values`], of the object that a result is.
fn values_of(result: &Object) -> Vec<Json> {
    // Servers that have only objects to give wrap other values into one.
    let structured = result.get("structuredContent").map(|structured| match structured.as_object() {
        Some(object) if object.len() == 1 => object.get("result").unwrap_or(structured),
        _ => structured,
    });
    let mut values: Vec<Json> = structured.cloned().into_iter().collect();
    let content = result.get("content").and_then(Json::as_array).unwrap_or_default();
    for item in content.iter().take(MAX_SEEN_VALUES) {
        let text = item.as_object().filter(|item| item.get("type").and_then(Json::as_str) == Some("text"));
        let Some(text) = text.and_then(|item| item.get("text")?.as_str()) else {
            values.push(item.clone());
            continue;
        };
        let fields = read(text);
        // Beside others, a text that anybody may have written must not pass for the fields of the result.
        let is_whole = structured.is_none() && content.len() == 1;
        if structured != Some(&fields) {
            values.push(if is_whole { fields } else { text.into() });
        }
    }
    if content.len() > MAX_SEEN_VALUES {
        values.push("more than can be looked at".into());
    }
    let known = ["structuredContent", "content", "isError", "resultType", "_meta"];
    let mut rest = Object::new();
    for (name, value) in result.iter().filter(|(name, _)| !known.contains(name)) {
        rest.insert(name, value.clone());
    }
    if !rest.is_empty() {
        values.push(rest.into());
    }
    values
}

/// What an agent reads of a value that is not an answer of a server.
#[must_use]
pub fn values_in(json: &Json) -> Vec<Json> {
    match json {
        Json::Object(object) if object.get("content").is_some_and(|content| content.as_array().is_some()) => {
            values_of(object)
        }
        // Hosts hand the content of a result on without the result.
        Json::Array(items) if items.iter().all(|item| item.as_object().is_some_and(|item| item.contains("type"))) => {
            values_of(&object! { "content": items.clone() })
        }
        Json::String(text) => vec![read(text)],
        other => vec![other.clone()],
    }
}

/// The value that a text holds, or the text.
fn read(text: &str) -> Json {
    let is_structure = |json: &Json| json.as_object().is_some() || json.as_array().is_some();
    match Json::parse(text.trim().as_bytes()) {
        Ok(json) => json,
        Err(_) if text.len() <= MAX_YAML => {
            let fields = parse(text.as_bytes(), Format::Yaml).ok().filter(is_structure);
            fields.filter(|_| !hides(text)).unwrap_or_else(|| text.into())
        }
        Err(_) => text.into(),
    }
}

/// Whether YAML may have something besides values: a comment, an anchor, a tag, a directive, or another document.
fn hides(text: &str) -> bool {
    let mut before = ' ';
    let has_mark = text.chars().any(|c| {
        let is_mark = matches!(c, '#' | '&' | '!' | '%' | '*') && (before.is_whitespace() || "[{,:-?".contains(before));
        before = c;
        is_mark
    });
    has_mark || text.lines().any(|line| line.starts_with("---") || line.starts_with("..."))
}

/// The task that a result hands out.
pub(crate) fn task(result: &Object) -> Option<&str> {
    let is_task = result.get("resultType").and_then(Json::as_str) == Some("task");
    let inner = result.get("task").and_then(|task| task.as_object()?.get("taskId")?.as_str());
    inner.or_else(|| result.get("taskId").filter(|_| is_task).and_then(Json::as_str))
}

/// The signs of steering in the texts of a message.
pub(crate) fn labels(message: &Message) -> Vec<&'static str> {
    signs(["result", "error", "params"].into_iter().filter_map(|member| message.body.get(member)))
}

/// The signs of steering in the texts of a value.
#[must_use]
pub fn labels_of(json: &Json) -> Vec<&'static str> {
    signs([json].into_iter())
}

/// The signs of steering in a text.
pub(crate) fn labels_of_text(text: &str) -> Vec<&'static str> {
    if text.len() < MAX_SEARCHED {
        taint::labels(text).into_iter().map(|(label, _)| label).collect()
    } else {
        vec![taint::UNSEARCHED]
    }
}

fn signs<'a>(mut values: impl Iterator<Item = &'a Json>) -> Vec<&'static str> {
    let mut text = String::new();
    match values.try_for_each(|json| collect(json, &mut text)) {
        Some(()) => labels_of_text(&text),
        None => vec![taint::UNSEARCHED],
    }
}

/// Appends the strings of a value, names included: an agent reads these as well. `None` where they are too long to be searched.
fn collect(json: &Json, out: &mut String) -> Option<()> {
    match json {
        Json::String(text) => push_line(text, out),
        Json::Array(items) => items.iter().try_for_each(|item| collect(item, out)),
        Json::Object(object) => object.iter().try_for_each(|(name, value)| {
            push_line(name, out)?;
            collect(value, out)
        }),
        Json::Null | Json::Bool(_) | Json::Number(_) => Some(()),
    }
}

fn push_line(text: &str, out: &mut String) -> Option<()> {
    // Counted before the text is copied: a server chooses how long it is.
    if out.len() + text.len() >= MAX_SEARCHED {
        return None;
    }
    out.push_str(text);
    out.push('\n');
    Some(())
}
