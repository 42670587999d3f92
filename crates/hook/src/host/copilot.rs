//! Copilot CLI and the Copilot cloud agent, in both spellings of their events. The one in camel case does not name its events,
//! so they are told apart by their members. Calls are not named.

use proofmark_evidence::CallStatus;
use proofmark_receipt::{Json, Object, object};

use super::claude;
use crate::ended;
use crate::fields::{self, first_text, need_text, text, unknown_event};
use crate::message::{Call, Ended, Event, Message, Occasion, Stop, Subagent};
use crate::tools::{
    self, ASK_USER, EDIT_FILE, FIND_FILES, MEMORY, PLAN, READ_FILE, SEARCH_FILES, SHELL, SHELL_INPUT, SHELL_OUTPUT,
    SKILL, SUBAGENT, Target, Tool, WEB_FETCH, WEB_SEARCH, WRITE_FILE,
};

const FILE: Target = Target::File(&["path", "file_path"]);
const FOLDER: Target = Target::Folder(&["path", "paths"]);
const PATTERN: Target = Target::Pattern(&["path", "paths"], "pattern");
const PATCH: Target = Target::Patch(&["input", "patch", "command"]);

/// The tools, by the names of the one spelling and, after them, those of the other that are not named alike.
const TOOLS: &[Tool] = &[
    Tool("bash", SHELL, Target::Unknown),
    Tool("powershell", SHELL, Target::Unknown),
    Tool("write_bash", SHELL_INPUT, Target::NoFile),
    Tool("stop_bash", SHELL_INPUT, Target::NoFile),
    Tool("read_bash", SHELL_OUTPUT, Target::NoFile),
    Tool("list_bash", SHELL_OUTPUT, Target::NoFile),
    Tool("write_powershell", SHELL_INPUT, Target::NoFile),
    Tool("stop_powershell", SHELL_INPUT, Target::NoFile),
    Tool("read_powershell", SHELL_OUTPUT, Target::NoFile),
    Tool("list_powershell", SHELL_OUTPUT, Target::NoFile),
    Tool("view", READ_FILE, FILE),
    Tool("create", WRITE_FILE, FILE),
    Tool("edit", EDIT_FILE, FILE),
    Tool("str_replace_editor", EDIT_FILE, FILE),
    Tool("apply_patch", EDIT_FILE, PATCH),
    Tool("glob", FIND_FILES, PATTERN),
    Tool("grep", SEARCH_FILES, FOLDER),
    Tool("rg", SEARCH_FILES, FOLDER),
    Tool("web_fetch", WEB_FETCH, Target::Text("url")),
    Tool("web_search", WEB_SEARCH, Target::NoFile),
    Tool("task", SUBAGENT, Target::NoFile),
    Tool("write_agent", SUBAGENT, Target::NoFile),
    Tool("skill", SKILL, Target::NoFile),
    Tool("store_memory", MEMORY, Target::Unknown),
    Tool("update_todo", PLAN, Target::NoFile),
    Tool("report_intent", PLAN, Target::NoFile),
    Tool("ask_user", ASK_USER, Target::NoFile),
    Tool("Bash", SHELL, Target::Unknown),
    Tool("Read", READ_FILE, FILE),
    Tool("Write", WRITE_FILE, FILE),
    Tool("Edit", EDIT_FILE, FILE),
    Tool("Glob", FIND_FILES, PATTERN),
    Tool("Grep", SEARCH_FILES, FOLDER),
    Tool("WebFetch", WEB_FETCH, Target::Text("url")),
    Tool("WebSearch", WEB_SEARCH, Target::NoFile),
    Tool("Agent", SUBAGENT, Target::NoFile),
    Tool("Task", SUBAGENT, Target::NoFile),
    Tool("TodoWrite", PLAN, Target::NoFile),
    Tool("AskUserQuestion", ASK_USER, Target::NoFile),
];

/// The common name of a tool. The record of a session has the names of the one spelling, and hooks may be told the other.
pub(super) fn common_name(tool: &str) -> Option<&'static str> {
    TOOLS.iter().find(|Tool(name, ..)| *name == tool).map(|Tool(_, common, _)| common.name)
}

/// The events that ask for nothing here.
const OTHERS: [&str; 9] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "UserPromptTransformed",
    "SubagentStart",
    "ErrorOccurred",
    "PreCompact",
    "PermissionRequest",
    "Notification",
];

pub(super) fn read(object: &Object) -> Result<Message, String> {
    let event = match text(object, "hook_event_name")? {
        Some(event) => event,
        None => unnamed(object).ok_or("it has the members of no event that is known")?.to_owned(),
    };
    let message = envelope(object)?;
    Ok(match event.as_str() {
        "PreToolUse" => message.clone().with(Occasion::BeforeTool, Event::Before(call(object, &message)?)),
        "PostToolUse" => {
            let call = call(object, &message)?;
            let response = ["toolResult", "tool_result", "tool_response"].iter().find_map(|name| object.get(name));
            let response = response.cloned().unwrap_or(Json::Null);
            let ended = Ended { status: status(&call, &response), response };
            message.with(Occasion::AfterTool, Event::After(call, ended))
        }
        "PostToolUseFailure" => {
            let ended = Ended { status: CallStatus::Failed, response: claude::response(object, "error") };
            message.clone().with(Occasion::AfterTool, Event::After(call(object, &message)?, ended))
        }
        // Of a subagent, which has another event for it.
        "Stop" if message.subagent.is_some() => message,
        "Stop" => message.with(Occasion::Stop, stop(object)?),
        "SubagentStop" => message.with(Occasion::SubagentStop, stop(object)?),
        name if OTHERS.contains(&name) => message,
        name => return Err(unknown_event(name)),
    })
}

/// The event that has these members. One before a tool is recognised last, so that nothing is taken for another event that has
/// more than those of a call; a host that adds members to it is answered as for an event that is not known.
fn unnamed(object: &Object) -> Option<&'static str> {
    let has = |name: &str| object.contains(name);
    Some(match () {
        () if has("toolName") && has("toolResult") => "PostToolUse",
        () if has("toolName") && has("error") => "PostToolUseFailure",
        () if has("toolName") => "PreToolUse",
        () if has("stopReason") && (has("agentName") || has("agentId")) => "SubagentStop",
        () if has("stopReason") => "Stop",
        () if has("agentName") => "SubagentStart",
        () if has("transformedPrompt") || has("prompt") => "UserPromptSubmit",
        () if has("errorContext") => "ErrorOccurred",
        () if has("trigger") => "PreCompact",
        () if has("source") => "SessionStart",
        () if has("reason") => "SessionEnd",
        () => return None,
    })
}

fn envelope(object: &Object) -> Result<Message, String> {
    let id = first_text(object, &["agentId", "agent_id"])?.filter(|id| !id.is_empty());
    let kind = first_text(object, &["agentType", "agent_type", "agentName", "agent_name"])?;
    // What a subagent does is told as a session of its own, of the agent that started it.
    let parent = first_text(object, &["parentAgentId", "parent_agent_id"])?.filter(|_| id.is_some());
    let session = match parent.clone() {
        Some(parent) => Some(parent),
        None => first_text(object, &["sessionId", "session_id"])?,
    };
    Ok(Message {
        session: session.filter(|session| !session.is_empty()),
        parent,
        cwd: text(object, "cwd")?,
        subagent: id.map(|id| Subagent { id, kind }),
        transcript: first_text(object, &["transcriptPath", "transcript_path"])?,
        ..Message::other()
    })
}

fn call(object: &Object, message: &Message) -> Result<Call, String> {
    let named = |one: &'static str, other: &'static str| if object.contains(one) { one } else { other };
    let name = need_text(object, named("toolName", "tool_name"))?;
    let args = fields::arguments(object, named("toolArgs", "tool_input"))?;
    Ok(match tools::of_mcp(&name) {
        Some((server, tool)) => Call::of_server(&name, Some(server), tool, args),
        None => tools::own(TOOLS, &name, args, message.cwd.as_deref()),
    })
}

fn status(call: &Call, response: &Json) -> CallStatus {
    let member = |one: &str, other: &str| {
        let response = response.as_object()?;
        response.get(one).or_else(|| response.get(other))?.as_str().map(str::to_owned)
    };
    if member("resultType", "result_type").is_some_and(|kind| kind != "success") {
        return CallStatus::Failed;
    }
    let is_shell = call.tool == SHELL.name;
    let otherwise = if is_shell { CallStatus::Doubtful } else { CallStatus::Succeeded };
    let text = member("textResultForLlm", "text_result_for_llm").filter(|_| is_shell);
    let by_exit = text.and_then(|text| exit_code(&text));
    by_exit.unwrap_or_else(|| ended::by_members(response, otherwise))
}

/// The exit code, which the host writes after what the command printed, on a line of its own.
fn exit_code(text: &str) -> Option<CallStatus> {
    ended::last_line(text, "<exited with exit code ", ">").or_else(|| {
        let line = text.trim_end().lines().next_back()?.strip_prefix("<shellId: ")?;
        // The agent chooses what the shell is called.
        let (_, code) = line.rsplit_once(" completed with exit code ")?;
        ended::last_line(code, "", ">")
    })
}

fn stop(object: &Object) -> Result<Event, String> {
    let message = first_text(object, &["response", "last_assistant_message"])?;
    Ok(Event::Stop(Stop { again: fields::flag(object, "stop_hook_active"), message }))
}

pub(super) fn deny(reason: &str) -> Object {
    object! { "permissionDecision": "deny", "permissionDecisionReason": reason }
}
