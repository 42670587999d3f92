//! Claude Code. Its form of events and answers is that of Codex and of VS Code, too, as far as these files say so.

use proofmark_receipt::{Json, Object, object};
use proofmark_session::CallStatus;

use super::{Host, Oldest, Program};
use crate::answer::{self, Answers, Reading};
use crate::ended;
use crate::event::{Events, SampleCall};
use crate::fields::{self, first_text, need_text, text, unknown_event};
use crate::finding::Finding;
use crate::gap::gap;
use crate::installation::{Form, Installation, Moment, OnFailure, Shell, hook_in_common_form};
use crate::message::{Call, Ended, Message, Occasion, Stop, Subagent};
use crate::record::{self, Record, RecordedCall, RecordedCalls};
use crate::servers::{self, Servers};
use crate::surroundings::{Layer, Scope, Surroundings};
use crate::switches::{SettingsFound, Switches};
use crate::tools::{
    self, ASK_USER, EDIT_FILE, FIND_FILES, LIST_FILES, MCP_RESOURCE, PLAN, READ_FILE, SEARCH_FILES, SHELL, SHELL_INPUT,
    SHELL_OUTPUT, SKILL, SUBAGENT, Target, Tool, WEB_FETCH, WEB_SEARCH, WRITE_FILE,
};

pub(super) static HOST: Host = Host {
    name: "claude",
    title: "Claude Code",
    program: Some(Program {
        name: "claude",
        tested: "2.1.330",
        oldest: Some(Oldest {
            version: &[2, 1, 295],
            before: "runs a call whose hook fails: it does not know `onFailure`",
            help: "update it to 2.1.295 or later",
        }),
    }),
    events: Events {
        installed: &[
            ("UserPromptSubmit", Moment::Asked),
            ("PreToolUse", Moment::Before),
            ("PostToolUse", Moment::After),
            ("PostToolUseFailure", Moment::After),
            ("Stop", Moment::Stop),
            ("SubagentStop", Moment::Stop),
        ],
        read,
        sample,
        project_variable: Some("CLAUDE_PROJECT_DIR"),
    },
    // A printed consent would skip the host's own questions.
    answers: Answers { allow: None, deny, go_on, pass, read: takes, blocks_by_exit_code: true },
    record: Record {
        message,
        joins_messages: false,
        has_open_stop: None,
        calls: Some(RecordedCalls {
            form: "claude_code",
            may_be_in: |line| line.contains("tool_use"),
            alone_has_exit_codes: false,
            compared_name: record::same_name,
            was_asked_about,
        }),
    },
    installation: Installation {
        runs_as: "claude",
        form: Form::Groups,
        has_comments: false,
        layers,
        hook,
        units_of_a_second: 1,
        on_failure: OnFailure::BlocksIf { member: "onFailure: block", is_asked_for: blocks_on_failure },
        shell: Shell::Named("/bin/sh"),
        next: |_| "start a new session: hooks are read when a session starts",
        administrator: "/etc/claude-code/managed-settings.d/proofmark.json (`--scope system`); `allowManagedHooksOnly` there ignores all other hooks",
        switches: Some(Switches {
            files: |_| Vec::new(),
            folder: Some("/etc/claude-code/managed-settings.d"),
            findings,
        }),
        server: None,
    },
    gaps: &[
        gap(
            "`@file` in a prompt reads the file without a tool call.",
            "`permissions.deny` with `Read(…)` in the managed settings.",
        ),
        gap(
            "`disableAllHooks` in a settings file switches hooks off.",
            "Hooks of the managed settings (`--scope system`) stay on.",
        ),
        gap(
            "The `--bare` mode runs without hooks.",
            "Start agents by a command that the agent's account cannot change.",
        ),
        gap(
            "Versions before 2.1.295 run the call if the hook does not start.",
            "Update; `proofmark hook install claude` and `hook doctor claude` check the version.",
        ),
        gap(
            "After 8 refused stops in a row the host stops anyway.",
            "Accept the step again in CI, with `--trace session:NAME`.",
        ),
        gap(
            "A repository can add MCP servers and hooks of its own.",
            "`allowManagedHooksOnly` and the lists of MCP servers in the managed settings.",
        ),
    ],
    servers: Some(Servers {
        name: "claude",
        member: "mcpServers",
        has_comments: false,
        program_type: Some("stdio"),
        address: Some(servers::with_type),
        variable: servers::of_shell,
    }),
};

const FILE: Target = Target::File(&["file_path"]);
const FOLDER: Target = Target::Folder(&["path"]);
const PATTERN: Target = Target::Pattern(&["path"], "pattern");

const TOOLS: &[Tool] = &[
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
const OTHERS: [&str; 27] = [
    "PostToolBatch",
    "Notification",
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

fn read(object: &Object) -> Result<Message, String> {
    let message = envelope(object)?;
    Ok(match need_text(object, "hook_event_name")?.as_str() {
        "PreToolUse" => {
            let call = call(object, &message)?;
            message.before(call)
        }
        "PostToolUse" => {
            let response = fields::value(object, "tool_response");
            let status = ended::by_members(&response, CallStatus::Succeeded);
            let call = call(object, &message)?;
            message.after(call, Ended { status, response })
        }
        "PostToolUseFailure" => {
            // A call that the user interrupts may have changed something.
            let interrupted = fields::flag(object, "is_interrupt");
            let status = if interrupted { CallStatus::Doubtful } else { CallStatus::Failed };
            let call = call(object, &message)?;
            message.after(call, Ended { status, response: fields::value(object, "error") })
        }
        "UserPromptSubmit" => message.asked(text(object, "prompt")?.unwrap_or_default()),
        "Stop" => message.stop(stop(object)?),
        "SubagentStop" => with_own_transcript(object, message)?.subagent_stop(stop(object)?),
        name if OTHERS.contains(&name) => message,
        name => return Err(unknown_event(name)),
    })
}

/// What all events of this form have.
pub(super) fn envelope(object: &Object) -> Result<Message, String> {
    // An empty id is none: a subagent is known by its id, and the first agent has no id.
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
    // No tool of the host itself has such a name, so a server cannot pass its tool off as one of them.
    let call = if name.starts_with("mcp__") {
        of_server(object, &name, args)?
    } else {
        tools::own(TOOLS, &name, args, message.cwd.as_deref())
    };
    Ok(call.with_id(text(object, "tool_use_id")?))
}

/// A tool of an MCP server. The name alone does not say where the server's name ends if that has two underscores.
fn of_server(object: &Object, name: &str, args: Json) -> Result<Call, String> {
    let provenance = object.get("mcp_server").and_then(Json::as_object);
    let server = provenance.map(|provenance| need_text(provenance, "name")).transpose()?;
    let known = server.as_ref().and_then(|server| {
        // The host writes `_` for each letter that the name of a tool cannot have.
        let plain: String =
            server.chars().map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' }).collect();
        let tool = name.strip_prefix("mcp__")?.strip_prefix(&plain)?.strip_prefix("__")?;
        Some((server.as_str(), tool))
    });
    let (server, tool) = known.or(tools::of_mcp(name)).ok_or_else(|| "`tool_name` names no tool".to_owned())?;
    Ok(Call::of_server(name, Some(server), tool, args))
}

/// An agent that is about to stop.
pub(super) fn stop(object: &Object) -> Result<Stop, String> {
    let message = text(object, "last_assistant_message")?;
    Ok(Stop { again: fields::flag(object, "stop_hook_active"), message })
}

/// The record of a subagent that is about to stop, where it has one of its own.
pub(super) fn with_own_transcript(object: &Object, message: Message) -> Result<Message, String> {
    let transcript = text(object, "agent_transcript_path")?.or(message.transcript.clone());
    Ok(Message { transcript, ..message })
}

fn sample(call: &SampleCall) -> Object {
    let more = object! { "permission_mode": "default", "tool_use_id": call.id.as_str() };
    call.in_common_form("PreToolUse", "Bash", &more)
}

pub(super) fn deny(_: Occasion, reason: &str) -> Object {
    object! {
        "hookSpecificOutput": object! {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        },
    }
}

pub(super) fn go_on(_: Occasion, prompt: &str) -> Object {
    object! { "decision": "block", "reason": prompt }
}

/// A note is shown to the user, and not to the agent.
pub(super) fn pass(_: Occasion, note: Option<&str>) -> Option<Object> {
    note.map(|note| object! { "systemMessage": note })
}

/// Reads the decision within `hookSpecificOutput`.
pub(super) fn takes(answer: &Object) -> Reading {
    let specific = answer.get("hookSpecificOutput").and_then(Json::as_object);
    specific
        .map_or_else(answer::unknown, |inner| answer::decision(inner, "permissionDecision", "permissionDecisionReason"))
}

fn message(line: &Object) -> Option<String> {
    if record::text(line, "type") == Some("assistant") { record::content_of_message(line) } else { None }
}

/// Of no hook asked are tools that the service runs, and calls with invalid arguments or that the user stopped before they began.
fn was_asked_about(recorded: &RecordedCall<'_>) -> bool {
    let is_of_the_service = recorded.call.id.as_ref().is_some_and(|id| id.starts_with("srvtoolu_"));
    // Of calls that failed, only those of a command have run: their result begins with the exit code.
    !is_of_the_service && (!recorded.failed || recorded.returned(&["Exit code "]))
}

fn layers(place: &Surroundings) -> Vec<Layer> {
    vec![
        Layer::of_system("/etc/claude-code/managed-settings.json"),
        Layer::of_system("/etc/claude-code/managed-settings.d/proofmark.json"),
        Layer::of_user(place.folder("CLAUDE_CONFIG_DIR", ".claude").join("settings.json")),
        place.in_project(".claude/settings.json"),
        place.in_project(".claude/settings.local.json"),
    ]
}

fn hook(moment: Moment, line: &str) -> Object {
    let mut hook = hook_in_common_form(line);
    // Without it, a hook that does not start or does not answer lets the call run. It has no effect on stops.
    if moment == Moment::Before {
        hook.insert("onFailure", "block");
    }
    hook
}

fn blocks_on_failure(hook: &Object) -> bool {
    hook.get("onFailure").and_then(Json::as_str) == Some("block")
}

fn findings(found: &SettingsFound<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for settings in found.settings {
        let is_of_system = settings.scope == Scope::System;
        // What users set does not concern the hooks of an administrator.
        if is_of_system || !found.is_managed {
            findings.extend(settings.all_hooks_disabled());
        }
        if is_of_system && settings.says("allowManagedHooksOnly") && !found.is_managed {
            let what =
                format!("{} allows hooks of administrators only (`allowManagedHooksOnly`)", settings.path.display());
            findings.push(Finding::bad(what, "install with `--scope system`"));
        }
    }
    findings
}
