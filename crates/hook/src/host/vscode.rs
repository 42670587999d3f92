//! The local harness of VS Code's agents. Its events and answers have nearly the form of Claude Code's.

use proofmark_evidence::CallStatus;
use proofmark_receipt::{Object, object};

use super::claude;
use crate::ended;
use crate::fields::{self, first_text, need_text, text, unknown_event};
use crate::message::{Call, Ended, Event, Message, Occasion};
use crate::tools::{
    self, EDIT_FILE, FIND_FILES, LIST_FILES, MEMORY, PLAN, READ_FILE, SEARCH_FILES, SHELL, SUBAGENT, Target, Tool,
    WEB_FETCH, WRITE_FILE,
};

const FILE: Target = Target::File(&["filePath", "path"]);
const PATCH: Target = Target::Patch(&["input"]);

const TOOLS: &[Tool] = &[
    Tool("run_in_terminal", SHELL, Target::Unknown),
    Tool("read_file", READ_FILE, FILE),
    Tool("create_file", WRITE_FILE, FILE),
    Tool("replace_string_in_file", EDIT_FILE, FILE),
    Tool("insert_edit_into_file", EDIT_FILE, FILE),
    Tool("edit_notebook_file", EDIT_FILE, FILE),
    Tool("multi_replace_string_in_file", EDIT_FILE, Target::Unknown),
    Tool("editFiles", EDIT_FILE, Target::Unknown),
    Tool("apply_patch", EDIT_FILE, PATCH),
    Tool("create_directory", EDIT_FILE, Target::File(&["dirPath"])),
    Tool("list_dir", LIST_FILES, Target::Folder(&["path"])),
    Tool("file_search", FIND_FILES, Target::Unknown),
    Tool("grep_search", SEARCH_FILES, Target::Unknown),
    Tool("semantic_search", SEARCH_FILES, Target::Unknown),
    Tool("fetch_webpage", WEB_FETCH, Target::NoFile),
    Tool("runSubagent", SUBAGENT, Target::NoFile),
    Tool("memory", MEMORY, Target::Unknown),
    Tool("manage_todo_list", PLAN, Target::NoFile),
];

/// The events that ask for nothing here.
const OTHERS: [&str; 4] = ["SessionStart", "UserPromptSubmit", "PreCompact", "SubagentStart"];

pub(super) fn read(object: &Object) -> Result<Message, String> {
    let session = first_text(object, &["sessionId", "session_id"])?.filter(|session| !session.is_empty());
    let message = Message { session, ..claude::envelope(object)? };
    let event = first_text(object, &["hookEventName", "hook_event_name"])?.ok_or("`hookEventName` is missing")?;
    Ok(match event.as_str() {
        "PreToolUse" => message.clone().with(Occasion::BeforeTool, Event::Before(call(object, &message)?)),
        "PostToolUse" => {
            let (call, response) = (call(object, &message)?, claude::response(object, "tool_response"));
            // What a command printed comes without its exit code.
            let is_shell = call.tool == SHELL.name;
            let otherwise = if is_shell { CallStatus::Doubtful } else { CallStatus::Succeeded };
            let ended = Ended { status: ended::by_members(&response, otherwise), response };
            message.with(Occasion::AfterTool, Event::After(call, ended))
        }
        "Stop" => message.with(Occasion::Stop, claude::stop(object)?),
        "SubagentStop" => message.with(Occasion::SubagentStop, claude::stop(object)?),
        name if OTHERS.contains(&name) => message,
        name => return Err(unknown_event(name)),
    })
}

fn call(object: &Object, message: &Message) -> Result<Call, String> {
    let (name, args) = (need_text(object, "tool_name")?, fields::arguments(object, "tool_input")?);
    let call = match name.starts_with("mcp_") {
        // Where the server's name ends is not known.
        true => Call::of_server(&name, None, &name, args),
        false => tools::own(TOOLS, &name, args, message.cwd.as_deref()),
    };
    Ok(call.with_id(text(object, "tool_use_id")?))
}

pub(super) fn deny(reason: &str) -> Object {
    claude::deny(reason)
}

pub(super) fn go_on(occasion: Occasion, prompt: &str) -> Object {
    match occasion {
        Occasion::SubagentStop => claude::go_on(prompt),
        _ => object! {
            "hookSpecificOutput": object! { "hookEventName": "Stop", "decision": "block", "reason": prompt },
        },
    }
}
