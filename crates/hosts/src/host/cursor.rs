//! Cursor. One call may have two events: one for every tool, which names the call, and one for commands, MCP tools and files,
//! which does not. What they have in common is the call's twin.

use proofmark_receipt::{Json, Object, object};
use proofmark_session::CallStatus;

use super::{Host, claude};
use crate::answer::{self, Answers};
use crate::ended;
use crate::event::{Events, SampleCall};
use crate::fields::{self, first_text, need_text, text, unknown_event, written};
use crate::gap::gap;
use crate::installation::{Form, Installation, Moment, OnFailure, Shell, TIMEOUT_SECONDS};
use crate::message::{Call, Ended, Message, Occasion, Stop, Subagent};
use crate::paths;
use crate::record::{self, Record};
use crate::servers::{self, Servers};
use crate::surroundings::{Layer, Surroundings};
use crate::tools::{
    self, EDIT_FILE, FIND_FILES, LIST_FILES, PLAN, READ_FILE, SEARCH_FILES, SHELL, SUBAGENT, Target, Tool, WEB_FETCH,
    WEB_SEARCH, WRITE_FILE,
};

pub(super) static HOST: Host = Host {
    name: "cursor",
    title: "Cursor",
    program: None,
    events: Events {
        installed: &[
            ("preToolUse", Moment::Before),
            ("postToolUse", Moment::After),
            ("postToolUseFailure", Moment::After),
            ("stop", Moment::Stop),
            ("subagentStop", Moment::Stop),
        ],
        read,
        sample,
        project_variable: None,
    },
    // Consent is said in words: where a failing hook blocks, silence is a failure.
    answers: Answers {
        allow: Some(allow),
        deny,
        go_on: |_, prompt| object! { "followup_message": prompt },
        pass: |occasion, _| Some(pass(occasion)),
        read: |answer| answer::decision(answer, "permission", "user_message"),
        blocks_by_exit_code: true,
    },
    record: Record { message, ..Record::NONE },
    installation: Installation {
        runs_as: "cursor",
        form: Form::Entries,
        has_comments: false,
        layers,
        hook,
        units_of_a_second: 1,
        on_failure: OnFailure::BlocksIf { member: "failClosed", is_asked_for: |hook| fields::flag(hook, "failClosed") },
        shell: Shell::Named("/bin/sh"),
        next: |_| "restart the host: hooks are read when it starts",
        administrator: "/etc/cursor/hooks.json (`--scope system`), and hooks that a team distributes",
        switches: None,
        server: None,
    },
    gaps: &[
        gap(
            "`AskQuestion` and completions of the editor's Tab key call no hook before a tool.",
            "They change files only in front of a person.",
        ),
        gap(
            "Events after an MCP call do not name the server.",
            "Put MCP servers under `proofmark guard wrap`, which knows it.",
        ),
        gap(
            "The stop is followed by a new message, not refused, and not more often than `loop_limit`.",
            "Accept the step again in CI, with `--trace session:NAME`.",
        ),
        gap(
            "The session's record names no calls and does not say how they ended, so it is not compared: a call that no hook saw is not found.",
            "Require a receipt of the pushed tree with `proofmark gate`.",
        ),
        gap(
            "A project's `.cursor/hooks.json` adds hooks, which run as the user.",
            "Open folders of strangers as restricted workspaces.",
        ),
    ],
    servers: Some(Servers {
        name: "cursor",
        member: "mcpServers",
        has_comments: false,
        program_type: None,
        address: Some(|url, headers| object! { "url": url, "headers"?: headers }),
        variable: servers::of_editor,
    }),
};

/// How often it lets a hook send the agent back in a row. The contract's own budget is what ends it.
const LOOPS: u64 = 20;

const FILE: Target = Target::File(&["file_path", "target_file", "path"]);
const FOLDER: Target = Target::Folder(&["path", "target_directory"]);

const TOOLS: &[Tool] = &[
    Tool("Shell", SHELL, Target::Unknown),
    Tool("Read", READ_FILE, FILE),
    Tool("Write", WRITE_FILE, FILE),
    Tool("Edit", EDIT_FILE, FILE),
    Tool("StrReplace", EDIT_FILE, FILE),
    Tool("Delete", EDIT_FILE, FILE),
    Tool("EditNotebook", EDIT_FILE, FILE),
    Tool("LS", LIST_FILES, FOLDER),
    Tool("Glob", FIND_FILES, Target::Unknown),
    Tool("Grep", SEARCH_FILES, FOLDER),
    Tool("SemanticSearch", SEARCH_FILES, Target::Unknown),
    Tool("WebFetch", WEB_FETCH, Target::Text("url")),
    Tool("WebSearch", WEB_SEARCH, Target::NoFile),
    Tool("Task", SUBAGENT, Target::NoFile),
    Tool("TodoWrite", PLAN, Target::NoFile),
];

/// The events that ask for nothing here.
const OTHERS: [&str; 11] = [
    "sessionStart",
    "sessionEnd",
    "subagentStart",
    "afterFileEdit",
    "afterAgentResponse",
    "afterAgentThought",
    "beforeSubmitPrompt",
    "preCompact",
    "afterTabFileEdit",
    "workspaceOpen",
    "postToolBatch",
];

fn read(object: &Object) -> Result<Message, String> {
    let message = envelope(object)?;
    let cwd = message.cwd.clone();
    let cwd = cwd.as_deref();
    Ok(match need_text(object, "hook_event_name")?.as_str() {
        "preToolUse" => message.before(named_call(object, cwd)?),
        "beforeShellExecution" => message.before(shell_call(object)?),
        "beforeMCPExecution" => message.before(mcp_call(object)?),
        "beforeReadFile" | "beforeTabFileRead" => {
            Message { occasion: Occasion::BeforeRead, ..message.before(read_call(object, cwd)?) }
        }
        "postToolUse" => {
            let call = named_call(object, cwd)?;
            let response = text(object, "tool_output")?.map_or(Json::Null, |output| written(&output));
            let ended = Ended { status: ended::without_exit_code(&call, &response), response };
            message.after(call, ended)
        }
        "postToolUseFailure" => {
            let kind = text(object, "failure_type")?;
            let status = match kind.as_deref() {
                // What was cut off may have changed something before.
                _ if fields::flag(object, "is_interrupt") => CallStatus::Doubtful,
                Some("timeout") => CallStatus::Doubtful,
                Some("permission_denied") => CallStatus::Blocked,
                Some(_) | None => CallStatus::Failed,
            };
            let ended = Ended { status, response: fields::value(object, "error_message") };
            message.after(named_call(object, cwd)?, ended)
        }
        "afterShellExecution" => {
            // It does not say the exit code.
            let ended = Ended { status: CallStatus::Doubtful, response: fields::value(object, "output") };
            message.after(shell_call(object)?, ended)
        }
        "afterMCPExecution" => {
            let response = text(object, "result_json")?.map_or(Json::Null, |result| written(&result));
            let ended = Ended { status: ended::by_members(&response, CallStatus::Succeeded), response };
            message.after(mcp_call(object)?, ended)
        }
        "stop" => message.stop(stop(object)),
        "subagentStop" => claude::with_own_transcript(object, message)?.subagent_stop(stop(object)),
        name if OTHERS.contains(&name) => message,
        name => return Err(unknown_event(name)),
    })
}

fn envelope(object: &Object) -> Result<Message, String> {
    let cwd = text(object, "cwd")?.filter(|cwd| !cwd.is_empty());
    let roots = object.get("workspace_roots").and_then(Json::as_array).unwrap_or_default();
    let roots: Vec<&str> = roots.iter().filter_map(Json::as_str).collect();
    // A command's folder is the agent's choice, and no project.
    let root_of_cwd = roots.iter().find(|root| cwd.as_deref().is_some_and(|cwd| paths::is_within(cwd, root)));
    let root = root_of_cwd.or(roots.first()).map(|root| (*root).to_owned());
    let id = first_text(object, &["subagent_id", "agent_id"])?.filter(|id| !id.is_empty());
    let kind = first_text(object, &["subagent_type", "agent_type"])?;
    Ok(Message {
        session: first_text(object, &["conversation_id", "session_id"])?.filter(|session| !session.is_empty()),
        cwd: cwd.or_else(|| root.clone()),
        project: root,
        turn: text(object, "generation_id")?,
        subagent: id.map(|id| Subagent { id, kind }),
        transcript: text(object, "transcript_path")?,
        ..Message::other()
    })
}

/// The call of an event for every tool.
fn named_call(object: &Object, cwd: Option<&str>) -> Result<Call, String> {
    let (name, args) = (need_text(object, "tool_name")?, fields::arguments(object, "tool_input")?);
    let call = match name.strip_prefix("MCP:") {
        Some("") => return Err("`tool_name` names no tool".to_owned()),
        // Which server has the tool is not said.
        Some(tool) => {
            let twin = twin_of_mcp(tool, &args);
            Call { twin, ..Call::of_server(&name, None, tool, args) }
        }
        None => {
            let call = tools::own(TOOLS, &name, args, cwd);
            let command = call.args.as_object().and_then(|args| args.get("command")?.as_str());
            let twin = match (call.tool.as_str(), command, call.paths.iter().flatten().next()) {
                ("shell", Some(command), _) => Some(format!("shell {command}")),
                ("read_file", _, Some(path)) => Some(format!("read {path}")),
                (_, _, _) => None,
            };
            Call { twin, ..call }
        }
    };
    Ok(call.with_id(text(object, "tool_use_id")?))
}

fn shell_call(object: &Object) -> Result<Call, String> {
    // With the arguments of the tool, so that a policy sees the same call in both events.
    let command = need_text(object, "command")?;
    let args = object! { "command": command.as_str() };
    let call = tools::own(TOOLS, "Shell", args.into(), None);
    Ok(Call { twin: Some(format!("shell {command}")), ..call })
}

fn mcp_call(object: &Object) -> Result<Call, String> {
    let (name, args) = (need_text(object, "tool_name")?, fields::arguments(object, "tool_input")?);
    let tool = name.strip_prefix("MCP:").unwrap_or(&name);
    let server = text(object, "mcp_server_name")?;
    let twin = twin_of_mcp(tool, &args);
    Ok(Call { twin, ..Call::of_server(&name, server.as_deref(), tool, args) })
}

fn read_call(object: &Object, cwd: Option<&str>) -> Result<Call, String> {
    let path = need_text(object, "file_path")?;
    let call = tools::own(TOOLS, "Read", object! { "file_path": path.as_str() }.into(), cwd);
    let twin = paths::absolute(&path, cwd).map(|path| format!("read {path}"));
    Ok(Call { twin, ..call })
}

fn twin_of_mcp(tool: &str, args: &Json) -> Option<String> {
    // Without the server: only one of the two events names it.
    Some(format!("mcp {tool} {}", args.to_text()))
}

fn stop(object: &Object) -> Stop {
    let loops = object.get("loop_count").and_then(Json::as_number).and_then(|count| count.as_u64());
    Stop { again: loops.unwrap_or_default() > 0, message: None }
}

fn sample(call: &SampleCall) -> Object {
    let more = object! {
        "conversation_id": call.session, "generation_id": call.id.as_str(), "cursor_version": "3.0.0",
        "workspace_roots": vec![Json::from(call.folder.as_str())], "tool_use_id": call.id.as_str(),
    };
    call.in_common_form("preToolUse", "Shell", &more)
}

fn allow() -> Object {
    object! { "permission": "allow" }
}

/// The reason is in both messages: the agent is given the one for the user.
fn deny(occasion: Occasion, reason: &str) -> Object {
    match occasion {
        Occasion::BeforeRead => object! { "permission": "deny", "user_message": reason },
        _ => object! { "permission": "deny", "user_message": reason, "agent_message": reason },
    }
}

fn pass(occasion: Occasion) -> Object {
    match occasion {
        Occasion::BeforeTool | Occasion::BeforeRead => allow(),
        Occasion::AfterTool | Occasion::Stop | Occasion::SubagentStop | Occasion::Other => Object::new(),
    }
}

fn message(line: &Object) -> Option<String> {
    let is_of_agent = !line.contains("type") && record::text(line, "role") == Some("assistant");
    if is_of_agent { record::content_of_message(line) } else { None }
}

fn layers(place: &Surroundings) -> Vec<Layer> {
    vec![
        Layer::of_system("/etc/cursor/hooks.json"),
        Layer::of_user(place.home.join(".cursor/hooks.json")),
        place.in_project(".cursor/hooks.json"),
    ]
}

fn hook(moment: Moment, line: &str) -> Object {
    // The other events cannot forbid anything, so their failure has nothing to block.
    let fail_closed = (moment == Moment::Before).then_some(true);
    let loops = (moment == Moment::Stop).then_some(LOOPS);
    object! {
        "command": line, "timeout": TIMEOUT_SECONDS, "failClosed"?: fail_closed, "loop_limit"?: loops,
    }
}
