//! What a result says: how the call ended, and the texts in it that an agent reads.

use proofmark_boundary::taint;
use proofmark_evidence::CallStatus;
use proofmark_receipt::Json;

use crate::message::Message;

/// The most text of one result that is searched for signs of steering, in bytes. What is longer is labelled as such.
const MAX_SEARCHED: usize = 4 << 20;
/// The label of a result that is too long to be searched.
const UNSEARCHED: &str = "unsearched";

/// How the call ended that a message answers.
pub(crate) fn status(message: &Message) -> CallStatus {
    let failed = |result: &proofmark_receipt::Object| result.get("isError").and_then(Json::as_bool) == Some(true);
    match message.result() {
        Some(result) if !failed(result) => CallStatus::Succeeded,
        Some(_) | None => CallStatus::Failed,
    }
}

/// The signs of steering in the texts of a message.
pub(crate) fn labels(message: &Message) -> Vec<&'static str> {
    let mut text = String::new();
    for member in ["result", "error", "params"] {
        if let Some(json) = message.body.get(member) {
            collect(json, &mut text);
        }
    }
    if text.len() > MAX_SEARCHED {
        return vec![UNSEARCHED];
    }
    taint::labels(&text).into_iter().map(|(label, _)| label).collect()
}

/// Appends the strings of a value, names included: an agent reads these as well.
fn collect(json: &Json, out: &mut String) {
    if out.len() > MAX_SEARCHED {
        return;
    }
    match json {
        Json::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Json::Array(items) => items.iter().for_each(|item| collect(item, out)),
        Json::Object(object) => {
            for (name, value) in object.iter() {
                out.push_str(name);
                out.push('\n');
                collect(value, out);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}
