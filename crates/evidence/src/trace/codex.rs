//! Sessions of Codex CLI: one record per line, with an item of the OpenAI responses in those of the type `response_item`.

use proofmark_receipt::{Json, Object};

use super::collect::{Answer, Calls};
use super::error::TraceError;
use super::outcome::{self, Mark};
use super::records::Record;
use super::{Form, openai_responses};
use crate::call::Call;

pub(super) static FORM: Form = Form { name: "codex", lists: &[], has_messages: false, recognizes, calls };

fn recognizes(record: &Object) -> bool {
    let is_text = |name: &str| record.get(name).and_then(Json::as_str).is_some();
    is_text("timestamp") && is_text("type") && record.contains("payload")
}

fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut calls = Calls::default();
    for (position, record) in records.iter().enumerate() {
        let entry = record.object()?;
        let text = |name: &str| entry.get(name).and_then(Json::as_str);
        if text("type") != Some("response_item") {
            continue;
        }
        let item = entry.get("payload").and_then(Json::as_object);
        let item = item.ok_or_else(|| record.malformed("this record has no `payload`"))?;
        match item.get("type").and_then(Json::as_str) {
            Some("function_call_output" | "custom_tool_call_output") => ended(&mut calls, record, position, item)?,
            Some(_) | None => openai_responses::item(&mut calls, record, position, item, text("timestamp"))?,
        }
    }
    Ok(calls.finish())
}

fn ended(calls: &mut Calls, record: &Record, position: usize, item: &Object) -> Result<(), TraceError> {
    let id = item.get("call_id").and_then(Json::as_str);
    let id = id.ok_or_else(|| record.malformed("this output of a call has no `call_id`"))?;
    let output = item.get("output").ok_or_else(|| record.malformed("this item has no `output`"))?;
    let result = outcome::result(output);
    let mark = result.as_str().map_or(Mark::Unknown, mark);
    calls.answered(record, position, id, Answer { result: Some(result), mark })
}

/// How the beginning of an output, which Codex writes and not the command, says that the command ended.
fn mark(output: &str) -> Mark {
    const REFUSED: [&str; 6] = [
        "unsupported call: ",
        "unsupported custom tool call: ",
        "failed to parse function arguments",
        "Command blocked by PreToolUse hook",
        "Tool call blocked by PreToolUse hook",
        "exec_command failed",
    ];
    if REFUSED.iter().any(|begin| output.starts_with(begin)) {
        return Mark::Error;
    }
    if !["Chunk ID: ", "Wall time: ", "Exit code: "].iter().any(|begin| output.starts_with(begin)) {
        return Mark::Unknown;
    }
    let head = output.lines().take_while(|line| *line != "Output:");
    // Without a code it goes on.
    head.filter_map(|line| {
        let code = ["Process exited with code ", "Exit code: "].iter().find_map(|begin| line.strip_prefix(begin))?;
        Some(if code.trim() == "0" { Mark::Clear } else { Mark::Error })
    })
    .next()
    .unwrap_or(Mark::Unreadable)
}
