//! Gemini CLI. It does not name calls, and takes text on standard error for an answer where standard output is empty.

use proofmark_evidence::CallStatus;
use proofmark_receipt::{Json, Object, object};

use super::claude;
use crate::ended;
use crate::fields::{self, need_text, text, unknown_event};
use crate::message::{Call, Ended, Event, Message, Occasion, Stop};
use crate::tools::{
    self, ASK_USER, EDIT_FILE, FIND_FILES, LIST_FILES, MCP_RESOURCE, MEMORY, PLAN, READ_FILE, SEARCH_FILES, SHELL,
    SKILL, SUBAGENT, Target, Tool, WEB_FETCH, WEB_SEARCH, WRITE_FILE,
};

const FILE: Target = Target::File(&["file_path", "absolute_path"]);
const FOLDER: Target = Target::Folder(&["dir_path", "path"]);
const PATTERN: Target = Target::Pattern(&["dir_path", "path"], "pattern");

const TOOLS: &[Tool] = &[
    Tool("run_shell_command", SHELL, Target::Unknown),
    Tool("read_file", READ_FILE, FILE),
    Tool("read_many_files", READ_FILE, Target::Unknown),
    Tool("get_internal_docs", READ_FILE, Target::NoFile),
    Tool("write_file", WRITE_FILE, FILE),
    Tool("replace", EDIT_FILE, FILE),
    Tool("list_directory", LIST_FILES, FOLDER),
    Tool("glob", FIND_FILES, PATTERN),
    Tool("grep_search", SEARCH_FILES, FOLDER),
    Tool("search_file_content", SEARCH_FILES, FOLDER),
    // Its URLs are within the text of `prompt`.
    Tool("web_fetch", WEB_FETCH, Target::NoFile),
    Tool("google_web_search", WEB_SEARCH, Target::NoFile),
    Tool("invoke_agent", SUBAGENT, Target::NoFile),
    Tool("save_memory", MEMORY, Target::Unknown),
    Tool("read_mcp_resource", MCP_RESOURCE, Target::Text("uri")),
    Tool("list_mcp_resources", MCP_RESOURCE, Target::NoFile),
    Tool("activate_skill", SKILL, Target::NoFile),
    Tool("write_todos", PLAN, Target::NoFile),
    Tool("enter_plan_mode", PLAN, Target::NoFile),
    Tool("exit_plan_mode", PLAN, Target::NoFile),
    Tool("update_topic", PLAN, Target::NoFile),
    Tool("complete_task", PLAN, Target::NoFile),
    Tool("ask_user", ASK_USER, Target::NoFile),
];

/// The events that ask for nothing here.
const OTHERS: [&str; 8] = [
    "BeforeAgent",
    "BeforeModel",
    "AfterModel",
    "BeforeToolSelection",
    "SessionStart",
    "SessionEnd",
    "Notification",
    "PreCompress",
];

pub(super) fn read(object: &Object) -> Result<Message, String> {
    let message = claude::envelope(object)?;
    Ok(match need_text(object, "hook_event_name")?.as_str() {
        "BeforeTool" => message.clone().with(Occasion::BeforeTool, Event::Before(call(object, &message)?)),
        "AfterTool" => {
            let (call, response) = (call(object, &message)?, claude::response(object, "tool_response"));
            let ended = Ended { status: status(&call, &response), response };
            message.with(Occasion::AfterTool, Event::After(call, ended))
        }
        "AfterAgent" => {
            let stop =
                Stop { again: fields::flag(object, "stop_hook_active"), message: text(object, "prompt_response")? };
            message.with(Occasion::Stop, Event::Stop(stop))
        }
        name if OTHERS.contains(&name) => message,
        name => return Err(unknown_event(name)),
    })
}

fn call(object: &Object, message: &Message) -> Result<Call, String> {
    let (name, args) = (need_text(object, "tool_name")?, fields::arguments(object, "tool_input")?);
    if let Some(context) = object.get("mcp_context").and_then(Json::as_object) {
        let (server, tool) = (need_text(context, "server_name")?, need_text(context, "tool_name")?);
        return Ok(Call::of_server(&name, Some(&server), &tool, args));
    }
    Ok(match name.starts_with("mcp_") {
        // Where the server's name ends is not known.
        true => Call::of_server(&name, None, &name, args),
        false => tools::own(TOOLS, &name, args, message.cwd.as_deref()),
    })
}

/// How the result of a command says that it did not end well. The host adds these lines to what the command printed, so a
/// command can only make itself look worse.
fn status(call: &Call, response: &Json) -> CallStatus {
    let by_members = ended::by_members(response, CallStatus::Succeeded);
    if call.tool != SHELL.name || by_members != CallStatus::Succeeded {
        return by_members;
    }
    let content = response.as_object().and_then(|response| response.get("llmContent"));
    let Some(text) = content.and_then(Json::as_str) else { return CallStatus::Doubtful };
    let text = text.strip_prefix("<untrusted_context>\n").unwrap_or(text);
    // Otherwise it was cancelled, or goes on in the background.
    if !text.starts_with("Output: ") {
        return CallStatus::Doubtful;
    }
    let failed = |line: &str| ["Exit Code: ", "Signal: ", "Error: "].iter().any(|begin| line.starts_with(begin));
    if text.lines().any(failed) { CallStatus::Failed } else { CallStatus::Succeeded }
}

/// Also what has the agent go on after it ended.
pub(super) fn deny(reason: &str) -> Object {
    object! { "decision": "deny", "reason": reason }
}
