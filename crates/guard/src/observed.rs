//! What a result says: how the call ended, and the texts in it that an agent reads.

use proofmark_boundary::taint;
use proofmark_receipt::{Json, Object};
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
