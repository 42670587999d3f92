//! Claude Code. Its form of events and answers is that of Codex and of VS Code, too, as far as these files say so.

use proofmark_evidence::CallStatus;
use proofmark_receipt::{Json, Object, object};

use crate::ended;
use crate::fields::{self, first_text, need_text, text, unknown_event};
use crate::message::{Call, Ended, Event, Message, Occasion, Stop, Subagent};
use crate::tools::{
    self, ASK_USER, EDIT_FILE, FIND_FILES, LIST_FILES, MCP_RESOURCE, PLAN, READ_FILE, SEARCH_FILES, SHELL, SHELL_INPUT,
    SHELL_OUTPUT, SKILL, SUBAGENT, Target, Tool, WEB_FETCH, WEB_SEARCH, WRITE_FILE,
};

const FILE: Target = Target::File(&["file_path"]);
const FOLDER: Target = Target::Folder(&["path"]);
const PATTERN: Target = Target::Pattern(&["path"], "pattern");

pub(super) const TOOLS: &[Tool] = &[
    Tool("Bash", SHELL, Target::Unknown),
    Tool("PowerShell", SHELL, Target::Unknown),
    Tool("Monitor", SHELL, Target::Unknown),
    Tool("KillShell", SHELL_INPUT, Target::NoFile),
    Tool("TaskStop", SHELL_INPUT, Target::NoFile),
    Tool("BashOutput", SHELL_OUTPUT, Target::NoFile),
    Tool("TaskOutput", SHELL_OUTPUT, Target::NoFile),
    Tool("Read", READ_FILE, FILE),
    Tool("Write", WRITE_FILE, FILE),
    Tool("Edit", EDIT_FILE, FILE),
    Tool("MultiEdit", EDIT_FILE, FILE),
    Tool("NotebookEdit", EDIT_FILE, Target::File(&["notebook_path"])),
    Tool("LS", LIST_FILES, FOLDER),
    Tool("Glob", FIND_FILES, PATTERN),
    Tool("Grep", SEARCH_FILES, FOLDER),
    Tool("LSP", SEARCH_FILES, Target::Unknown),
    Tool("WebFetch", WEB_FETCH, Target::Text("url")),
    Tool("WebSearch", WEB_SEARCH, Target::NoFile),
    Tool("Agent", SUBAGENT, Target::NoFile),
    Tool("Task", SUBAGENT, Target::NoFile),
    Tool("ListMcpResourcesTool", MCP_RESOURCE, Target::NoFile),
    Tool("ReadMcpResourceTool", MCP_RESOURCE, Target::Text("uri")),
    Tool("ReadMcpResourceDirTool", MCP_RESOURCE, Target::Text("uri")),
    Tool("Skill", SKILL, Target::NoFile),
    Tool("ToolSearch", SKILL, Target::NoFile),
    Tool("TodoWrite", PLAN, Target::NoFile),
    Tool("TaskCreate", PLAN, Target::NoFile),
    Tool("TaskGet", PLAN, Target::NoFile),
    Tool("TaskList", PLAN, Target::NoFile),
    Tool("TaskUpdate", PLAN, Target::NoFile),
    Tool("EnterPlanMode", PLAN, Target::NoFile),
    Tool("ExitPlanMode", PLAN, Target::NoFile),
    Tool("AskUserQuestion", ASK_USER, Target::NoFile),
];

/// The events that ask for nothing here.
const OTHERS: [&str; 28] = [
    "PostToolBatch",
    "Notification",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "SessionStart",
    "SessionEnd",
    "StopFailure",
    "SubagentStart",
    "PreCompact",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "PermissionRequest",
    "PermissionDenied",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
];

pub(super) fn read(object: &Object) -> Result<Message, String> {
    let message = envelope(object)?;
    Ok(match need_text(object, "hook_event_name")?.as_str() {
        "PreToolUse" => message.clone().with(Occasion::BeforeTool, Event::Before(call(object, &message)?)),
        "PostToolUse" => {
            let response = response(object, "tool_response");
            let status = ended::by_members(&response, CallStatus::Succeeded);
            let ended = Ended { status, response };
            message.clone().with(Occasion::AfterTool, Event::After(call(object, &message)?, ended))
        }
        "PostToolUseFailure" => {
            // A call that the user interrupts may have changed something.
            let interrupted = fields::flag(object, "is_interrupt");
            let status = if interrupted { CallStatus::Doubtful } else { CallStatus::Failed };
            let ended = Ended { status, response: response(object, "error") };
            message.clone().with(Occasion::AfterTool, Event::After(call(object, &message)?, ended))
        }
        "Stop" => message.with(Occasion::Stop, stop(object)?),
        "SubagentStop" => {
            let transcript = text(object, "agent_transcript_path")?.or(message.transcript.clone());
            Message { transcript, ..message }.with(Occasion::SubagentStop, stop(object)?)
        }
        name if OTHERS.contains(&name) => message,
        name => return Err(unknown_event(name)),
    })
}

/// What all events of this form have.
pub(super) fn envelope(object: &Object) -> Result<Message, String> {
    let id = text(object, "agent_id")?.filter(|id| !id.is_empty());
    let kind = text(object, "agent_type")?;
    Ok(Message {
        session: text(object, "session_id")?.filter(|session| !session.is_empty()),
        cwd: text(object, "cwd")?,
        turn: first_text(object, &["turn_id", "prompt_id"])?,
        subagent: id.map(|id| Subagent { id, kind }),
        transcript: text(object, "transcript_path")?,
        ..Message::other()
    })
}

fn call(object: &Object, message: &Message) -> Result<Call, String> {
    let (name, args) = (need_text(object, "tool_name")?, fields::arguments(object, "tool_input")?);
    let call = match name.starts_with("mcp__") {
        true => of_server(object, &name, args)?,
        false => tools::own(TOOLS, &name, args, message.cwd.as_deref()),
    };
    Ok(call.with_id(text(object, "tool_use_id")?))
}

/// A tool of an MCP server. The name alone does not say where the server's name ends if that has two underscores.
fn of_server(object: &Object, name: &str, args: Json) -> Result<Call, String> {
    let provenance = object.get("mcp_server").and_then(Json::as_object);
    let server = provenance.map(|provenance| need_text(provenance, "name")).transpose()?;
    let known = server.as_ref().and_then(|server| {
        let plain: String =
            server.chars().map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' }).collect();
        let tool = name.strip_prefix("mcp__")?.strip_prefix(&plain)?.strip_prefix("__")?;
        Some((server.as_str(), tool))
    });
    let (server, tool) = known.or(tools::of_mcp(name)).ok_or_else(|| "`tool_name` names no tool".to_owned())?;
    Ok(Call::of_server(name, Some(server), tool, args))
}

pub(super) fn response(object: &Object, name: &str) -> Json {
    object.get(name).cloned().unwrap_or(Json::Null)
}

pub(super) fn stop(object: &Object) -> Result<Event, String> {
    let message = text(object, "last_assistant_message")?;
    Ok(Event::Stop(Stop { again: fields::flag(object, "stop_hook_active"), message }))
}

pub(super) fn deny(reason: &str) -> Object {
    object! {
        "hookSpecificOutput": object! {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        },
    }
}

pub(super) fn go_on(prompt: &str) -> Object {
    object! { "decision": "block", "reason": prompt }
}

/// Shown to the user, and not to the agent.
pub(super) fn note(note: &str) -> Object {
    object! { "systemMessage": note }
}
