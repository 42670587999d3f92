//! Sessions of Gemini CLI: messages, which later lines repeat as they grow, and changes of the whole (`$set`). Calls are the
//! `toolCalls` of a message, written when they have ended.

use std::collections::HashMap;

use proofmark_receipt::{Json, Object};

use super::Form;
use super::collect::{Answer, Calls, Made};
use super::error::TraceError;
use super::outcome::{self, Mark};
use super::records::Record;
use crate::call::Call;

pub(super) static FORM: Form = Form { name: "gemini_cli", lists: &[], has_messages: false, recognizes, calls };

/// The tool that runs commands. Its calls succeed for the host even where the command fails.
const SHELL: &str = "run_shell_command";

fn recognizes(record: &Object) -> bool {
    let is_text = |name: &str| record.get(name).and_then(Json::as_str).is_some();
    let is_header = is_text("sessionId") && is_text("projectHash");
    let is_change = record.iter().next().is_some_and(|(name, _)| name.starts_with('$'));
    let is_message = ["id", "timestamp", "type"].into_iter().all(is_text)
        && record.contains("content")
        && !["uuid", "sessionId", "message", "role", "parts"].iter().any(|name| record.contains(name));
    is_header || is_change || is_message
}

fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    // The last form of a message counts, at the place of its first.
    let mut messages: Vec<(usize, &Object)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (position, record) in records.iter().enumerate() {
        let entry = record.object()?;
        let set = entry.get("$set").and_then(Json::as_object).and_then(|set| set.get("messages")?.as_array());
        let listed = set.unwrap_or_default().iter().filter_map(Json::as_object);
        for message in listed.chain(entry.contains("id").then_some(entry)) {
            let id = message.get("id").and_then(Json::as_str);
            let id = id.ok_or_else(|| record.malformed("this message has no `id`"))?;
            match places.get(id).and_then(|place| messages.get_mut(*place)) {
                Some(earlier) => *earlier = (position, message),
                None => {
                    places.insert(id, messages.len());
                    messages.push((position, message));
                }
            }
        }
    }
    let mut calls = Calls::default();
    for (position, message) in messages {
        let Some(record) = records.get(position) else { continue };
        for call in message.get("toolCalls").and_then(Json::as_array).unwrap_or_default() {
            let call = call.as_object().ok_or_else(|| record.malformed("a call of this message is not an object"))?;
            read(&mut calls, record, position, call)?;
        }
    }
    Ok(calls.finish())
}

fn read(calls: &mut Calls, record: &Record, position: usize, call: &Object) -> Result<(), TraceError> {
    let text = |name: &str| call.get(name).and_then(Json::as_str);
    let name = text("name").ok_or_else(|| record.malformed("this call has no `name`"))?;
    // Without its id: a call and its result are one record, so nothing is paired.
    let made = Made { id: None, name, arguments: outcome::arguments(call.get("args")), at: text("timestamp") };
    let index = calls.made(record, position, made)?;
    let response = call.get("result").and_then(Json::as_array).and_then(|parts| {
        let part = parts.first()?.as_object()?.get("functionResponse")?.as_object()?;
        part.get("response")?.as_object()
    });
    let of = |name: &str| response.and_then(|response| response.get(name)).map(outcome::result);
    let mark = match text("status") {
        Some("success") => Mark::Clear,
        Some("error") => Mark::Error,
        Some("cancelled") => Mark::Unreadable,
        // It has not ended.
        Some(_) | None => return Ok(()),
    };
    let result = of("output").or_else(|| of("error"));
    let mark = match (name, mark, &result) {
        (SHELL, Mark::Clear, Some(Json::String(output))) => shell(output),
        (_, mark, _) => mark,
    };
    calls.end(index, position, Answer { result, mark });
    Ok(())
}

/// How a command ended. The host adds these lines to what the command printed, so a command can only make itself look worse.
fn shell(output: &str) -> Mark {
    let output = output.strip_prefix("<untrusted_context>\n").unwrap_or(output);
    if !output.starts_with("Output: ") {
        // It was cancelled, or goes on in the background.
        Mark::Unreadable
    } else if output
        .lines()
        .any(|line| ["Exit Code: ", "Signal: ", "Error: "].iter().any(|begin| line.starts_with(begin)))
    {
        Mark::Error
    } else {
        Mark::Clear
    }
}
