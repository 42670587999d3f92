//! Codex CLI. It throws an answer away that has one field which it does not know for the event, and then runs the tool.

use proofmark_evidence::CallStatus;
use proofmark_receipt::{Json, Object};

use super::claude;
use crate::ended;
use crate::fields::{self, need_text, text, unknown_event};
use crate::message::{Call, Ended, Event, Message, Occasion};
use crate::tools::{self, EDIT_FILE, PLAN, READ_FILE, SHELL, SHELL_INPUT, SUBAGENT, Target, Tool};

const TOOLS: &[Tool] = &[
    Tool("Bash", SHELL, Target::Unknown),
    Tool("write_stdin", SHELL_INPUT, Target::NoFile),
    Tool("apply_patch", EDIT_FILE, Target::Patch(&["command", "input", "patch"])),
    Tool("view_image", READ_FILE, Target::File(&["path"])),
    Tool("update_plan", PLAN, Target::NoFile),
    Tool("spawn_agent", SUBAGENT, Target::NoFile),
];

/// The events that ask for nothing here.
const OTHERS: [&str; 9] = [
    "PermissionRequest",
    "PreCompact",
    "PostCompact",
    "SessionStart",
    "SessionEnd",
    "SubagentStart",
    "UserPromptSubmit",
    "PreModelRequest",
    "Interrupt",
];

pub(super) fn read(object: &Object) -> Result<Message, String> {
    let message = claude::envelope(object)?;
    Ok(match need_text(object, "hook_event_name")?.as_str() {
        "PreToolUse" => message.clone().with(Occasion::BeforeTool, Event::Before(call(object, &message)?)),
        "PostToolUse" => {
            let (call, response) = (call(object, &message)?, claude::response(object, "tool_response"));
            let ended = Ended { status: status(&call, &response), response };
            message.with(Occasion::AfterTool, Event::After(call, ended))
        }
        "Stop" => message.with(Occasion::Stop, claude::stop(object)?),
        "SubagentStop" => {
            let transcript = text(object, "agent_transcript_path")?.or(message.transcript.clone());
            Message { transcript, ..message }.with(Occasion::SubagentStop, claude::stop(object)?)
        }
        name if OTHERS.contains(&name) => message,
        name => return Err(unknown_event(name)),
    })
}

fn call(object: &Object, message: &Message) -> Result<Call, String> {
    let (name, args) = (need_text(object, "tool_name")?, fields::arguments(object, "tool_input")?);
    let call = match tools::of_mcp(&name) {
        Some((server, tool)) => Call::of_server(&name, Some(server), tool, args),
        None => tools::own(TOOLS, &name, args, message.cwd.as_deref()),
    };
    Ok(call.with_id(text(object, "tool_use_id")?))
}

/// What a command printed comes without its exit code: that is in the transcript only.
fn status(call: &Call, response: &Json) -> CallStatus {
    let otherwise = if call.tool == SHELL.name { CallStatus::Doubtful } else { CallStatus::Succeeded };
    ended::by_members(response, otherwise)
}

pub(super) fn deny(reason: &str) -> Object {
    claude::deny(reason)
}
