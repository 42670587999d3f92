//! opencode, whose plugin (a shim of ours) speaks this protocol:
//!
//! - Before a tool, the shim starts `proofmark hook opencode` and writes one object to its standard input:
//!   `{"protocol": 1, "event": "tool.execute.before", "sessionID": "…", "callID": "…", "tool": "bash", "args": {…},
//!   "directory": "/repo"}`. A subagent has a session of its own: `sessionID` is the one that began it all, and `agentID` its own.
//! - The answer is one object on standard output, `{"decision": "allow"}` or `{"decision": "deny", "reason": "…"}`, and exit
//!   code 0. The shim throws an error, with the reason as its text, unless the exit code is 0 and the output is an object whose
//!   `decision` is exactly `"allow"`.
//! - After a tool it writes `{"protocol": 1, "event": "tool.execute.after", …, "output": "…", "metadata": {…}}`, where `…` are the
//!   members from above. The answer is `{}`.
//!
//! opencode does not ask before an agent stops.

use proofmark_evidence::CallStatus;
use proofmark_receipt::{Json, Object, object};

use crate::ended;
use crate::fields::{self, need_text, text, unknown_event};
use crate::message::{Call, Ended, Event, Message, Occasion, Subagent};
use crate::tools::{
    self, ASK_USER, EDIT_FILE, FIND_FILES, LIST_FILES, MCP_RESOURCE, PLAN, READ_FILE, SEARCH_FILES, SHELL, SKILL,
    SUBAGENT, Target, Tool, WEB_FETCH, WEB_SEARCH, WRITE_FILE,
};

/// The version of the protocol.
const PROTOCOL: u64 = 1;

const FILE: Target = Target::File(&["filePath"]);
const FOLDER: Target = Target::Folder(&["path"]);
const PATTERN: Target = Target::Pattern(&["path"], "pattern");

const TOOLS: &[Tool] = &[
    Tool("bash", SHELL, Target::Unknown),
    Tool("read", READ_FILE, FILE),
    Tool("write", WRITE_FILE, FILE),
    Tool("edit", EDIT_FILE, FILE),
    Tool("multiedit", EDIT_FILE, FILE),
    Tool("patch", EDIT_FILE, Target::Patch(&["patchText"])),
    Tool("apply_patch", EDIT_FILE, Target::Patch(&["patchText"])),
    Tool("list", LIST_FILES, FOLDER),
    Tool("glob", FIND_FILES, PATTERN),
    Tool("grep", SEARCH_FILES, FOLDER),
    Tool("webfetch", WEB_FETCH, Target::Text("url")),
    Tool("websearch", WEB_SEARCH, Target::NoFile),
    Tool("task", SUBAGENT, Target::NoFile),
    Tool("skill", SKILL, Target::NoFile),
    Tool("todowrite", PLAN, Target::NoFile),
    Tool("todoread", PLAN, Target::NoFile),
    Tool("list_mcp_resources", MCP_RESOURCE, Target::NoFile),
    Tool("list_mcp_resource_templates", MCP_RESOURCE, Target::NoFile),
    Tool("read_mcp_resource", MCP_RESOURCE, Target::NoFile),
    Tool("question", ASK_USER, Target::NoFile),
];

pub(super) fn read(object: &Object) -> Result<Message, String> {
    if object.get("protocol").and_then(Json::as_number).and_then(|version| version.as_u64()) != Some(PROTOCOL) {
        return Err(format!("`protocol` is not {PROTOCOL}: install the plugin again"));
    }
    let agent = text(object, "agentID")?.filter(|agent| !agent.is_empty());
    let message = Message {
        session: text(object, "sessionID")?.filter(|session| !session.is_empty()),
        subagent: agent.map(|id| Subagent { id, kind: None }),
        cwd: text(object, "directory")?,
        ..Message::other()
    };
    Ok(match need_text(object, "event")?.as_str() {
        "tool.execute.before" => message.clone().with(Occasion::BeforeTool, Event::Before(call(object, &message)?)),
        "tool.execute.after" => {
            let call = call(object, &message)?;
            let response = object! {
                "output"?: object.get("output").cloned(),
                "metadata"?: object.get("metadata").cloned(),
            };
            let metadata = response.get("metadata").cloned().unwrap_or(Json::Null);
            let is_shell = call.tool == SHELL.name;
            let otherwise = if is_shell { CallStatus::Doubtful } else { CallStatus::Succeeded };
            let status = ended::by_members(&metadata, otherwise);
            message.with(Occasion::AfterTool, Event::After(call, Ended { status, response: response.into() }))
        }
        name => return Err(unknown_event(name)),
    })
}

/// The tools of MCP servers have names such as `server_tool`, which do not say where the server's name ends.
fn call(object: &Object, message: &Message) -> Result<Call, String> {
    let (name, args) = (need_text(object, "tool")?, fields::arguments(object, "args")?);
    let call = tools::own(TOOLS, &name, args, message.cwd.as_deref());
    Ok(call.with_id(text(object, "callID")?))
}

pub(super) fn allow() -> Object {
    object! { "decision": "allow" }
}

pub(super) fn deny(reason: &str) -> Object {
    object! { "decision": "deny", "reason": reason }
}
