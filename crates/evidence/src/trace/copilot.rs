//! Sessions of Copilot CLI and of VS Code: events, two of them about each call. One says that it begins, one that it has ended.

use std::collections::HashMap;

use proofmark_receipt::{Json, Object};

use super::Form;
use super::collect::{Answer, Calls, Made};
use super::error::{TraceError, TraceFault};
use super::outcome::{self, Mark};
use super::records::Record;
use crate::call::Call;

pub(super) static FORM: Form = Form { name: "copilot", lists: &[], has_messages: false, recognizes, calls };

/// The tools that run commands. Their calls succeed for the host even where the command fails.
const SHELLS: [&str; 3] = ["bash", "powershell", "run_in_terminal"];

fn recognizes(record: &Object) -> bool {
    let is_text = |name: &str| record.get(name).and_then(Json::as_str).is_some();
    let has_data = record.get("data").is_some_and(|data| data.as_object().is_some());
    is_text("type") && is_text("id") && is_text("timestamp") && has_data && record.contains("parentId")
}

fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut calls = Calls::default();
    // The tools of calls that have not ended, by the calls' names.
    let mut tools: HashMap<&str, &str> = HashMap::new();
    for (position, record) in records.iter().enumerate() {
        let event = record.object()?;
        let kind = event.get("type").and_then(Json::as_str);
        if !matches!(kind, Some("tool.execution_start" | "tool.execution_complete")) {
            continue;
        }
        let data = event.get("data").and_then(Json::as_object);
        let data = data.ok_or_else(|| record.malformed("this event has no `data`"))?;
        let text = |name: &str| data.get(name).and_then(Json::as_str);
        let id = text("toolCallId").ok_or_else(|| record.malformed("this event has no `toolCallId`"))?;
        if kind == Some("tool.execution_start") {
            let name = text("toolName").ok_or_else(|| record.malformed("this event has no `toolName`"))?;
            let arguments = outcome::arguments(data.get("arguments"));
            let at = event.get("timestamp").and_then(Json::as_str);
            calls.made(record, position, Made { id: Some(id), name, arguments, at })?;
            tools.insert(id, name);
            continue;
        }
        match (tools.remove(id), data.get("success").and_then(Json::as_bool)) {
            (Some(tool), _) => calls.answered(record, position, id, answer(tool, data))?,
            // VS Code ends calls so that it has refused before they began.
            (None, Some(false)) => {}
            (None, _) => return Err(record.error(TraceFault::ResultWithoutCall(id.to_owned()))),
        }
    }
    Ok(calls.finish())
}

fn answer(tool: &str, data: &Object) -> Answer {
    let of = |name: &str, member: &str| data.get(name).and_then(|value| value.as_object()?.get(member));
    let result = of("result", "content").or_else(|| of("error", "message")).map(outcome::result);
    let exit_code = of("shellExecution", "exitCode").and_then(|code| code.as_number()?.as_i64());
    let mark = match (data.get("success").and_then(Json::as_bool), exit_code) {
        (Some(false), _) => Mark::Error,
        (Some(true), Some(code)) => {
            if code == 0 {
                Mark::Clear
            } else {
                Mark::Error
            }
        }
        // Without an exit code the command goes on, or nobody says how it ended.
        (Some(true), None) if SHELLS.contains(&tool) => Mark::Unreadable,
        (Some(true), None) => Mark::Clear,
        (None, _) => Mark::Unreadable,
    };
    Answer { result, mark }
}
