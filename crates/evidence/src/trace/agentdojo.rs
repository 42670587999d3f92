//! Runs of AgentDojo: messages whose `tool_calls` name a `function` and its `args`, and `tool` messages that repeat their call.

use std::collections::VecDeque;

use proofmark_receipt::{Json, Object, object};

use super::Form;
use super::collect::{Calls, Made};
use super::error::TraceError;
use super::outcome::{self, Mark};
use super::records::Record;
use crate::call::Call;

/// `messages`, the list of a run, is one of `openai_chat`.
pub(super) static FORM: Form = Form { name: "agentdojo", lists: &[], has_messages: true, recognizes, calls };

fn recognizes(record: &Object) -> bool {
    let is_call = |call: &Json| function_of(call).is_some();
    let listed = record.get("tool_calls").and_then(Json::as_array).unwrap_or_default();
    let has_role = record.get("role").and_then(Json::as_str).is_some();
    has_role && (listed.iter().any(is_call) || record.get("tool_call").is_some_and(is_call))
}

fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut run = Run::default();
    for (position, record) in records.iter().enumerate() {
        run.message(record, position, record.object()?)?;
    }
    Ok(run.calls.finish())
}

#[derive(Default)]
struct Run {
    calls: Calls,
    /// The calls without a result, in order, each with the name under which it is open. Some models give no ids, and others the same
    /// one to all calls of a tool.
    open: VecDeque<OpenCall>,
    made: usize,
}

struct OpenCall {
    name: String,
    call: Json,
}

impl Run {
    fn message(&mut self, record: &Record, position: usize, message: &Object) -> Result<(), TraceError> {
        if message.get("role").and_then(Json::as_str).is_none() {
            return Err(record.malformed("this message has no `role`"));
        }
        match message.get("tool_calls") {
            None | Some(Json::Null) => {}
            Some(Json::Array(listed)) => {
                listed.iter().try_for_each(|call| self.made(record, position, call))?;
            }
            Some(_) => return Err(record.malformed("`tool_calls` is not a list")),
        }
        match message.get("role").and_then(Json::as_str) {
            Some("tool") => self.answered(record, position, message),
            _ => Ok(()),
        }
    }

    fn made(&mut self, record: &Record, position: usize, call: &Json) -> Result<(), TraceError> {
        let function = function_of(call).ok_or_else(|| record.malformed("a tool call has no `function`"))?;
        let arguments = outcome::arguments(call.as_object().and_then(|call| call.get("args")));
        let name = format!("call {}", self.made);
        self.made += 1;
        self.calls.made(record, position, Made { id: Some(&name), name: function, arguments, at: None })?;
        self.open.push_back(OpenCall { name, call: call.clone() });
        Ok(())
    }

    fn answered(&mut self, record: &Record, position: usize, message: &Object) -> Result<(), TraceError> {
        let call = message.get("tool_call").ok_or_else(|| record.malformed("this tool message has no `tool_call`"))?;
        let named = || message.get("tool_call_id").and_then(Json::as_str).unwrap_or("?");
        let same = self.open.iter().position(|open| open.call == *call);
        let name = match same.and_then(|index| self.open.remove(index)) {
            Some(open) => open.name,
            None => named().to_owned(),
        };
        // What the agent got of a failed call is its error.
        let error = message.get("error").filter(|error| outcome::reports_error(error));
        let content = match error {
            Some(error) => error.clone(),
            None => content(message.get("content").unwrap_or(&Json::Null)),
        };
        let mark = if error.is_some() { Mark::Error } else { Mark::Clear };
        self.calls.gave(record, position, &name, &content, mark)
    }
}

/// The tool that a call names.
fn function_of(call: &Json) -> Option<&str> {
    let call = call.as_object()?;
    call.get("function").and_then(Json::as_str).filter(|_| call.contains("args"))
}

/// A content with its texts where other forms have them; one text alone is that text.
fn content(content: &Json) -> Json {
    let Some(blocks) = content.as_array() else { return content.clone() };
    let text_of = |block: &Json| {
        let block = block.as_object()?;
        let is_text = block.get("type").and_then(Json::as_str) == Some("text");
        block.get("content").and_then(Json::as_str).filter(|_| is_text).map(str::to_owned)
    };
    match blocks {
        [block] if text_of(block).is_some() => Json::from(text_of(block).unwrap_or_default()),
        blocks => {
            let blocks = blocks.iter().map(|block| match text_of(block) {
                Some(text) => object! { "type": "text", "text": text }.into(),
                None => block.clone(),
            });
            Json::Array(blocks.collect())
        }
    }
}
