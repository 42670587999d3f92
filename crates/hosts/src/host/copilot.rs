//! Copilot CLI and the Copilot cloud agent, in both spellings of their events. The one in camel case does not name its events,
//! so they are told apart by their members. Calls are not named.

use proofmark_receipt::{Json, Object, object};
use proofmark_session::CallStatus;

use super::{Host, Program, claude, copilot_files, vscode};
use crate::answer::{self, Answers, Reading};
use crate::ended;
use crate::event::{Events, SampleCall};
use crate::fields::{self, first_text, need_text, text, unknown_event};
use crate::finding::Finding;
use crate::gap::gap;
use crate::installation::{Form, Installation, OnFailure, Shell};
use crate::message::{Call, Ended, Message, Occasion, Stop, Subagent};
use crate::record::{self, Record, RecordedCall, RecordedCalls};
use crate::surroundings::{Layer, Surroundings};
use crate::switches::{Settings, SettingsFound, Switches};
use crate::tools::{
    self, ASK_USER, EDIT_FILE, FIND_FILES, MEMORY, PLAN, READ_FILE, SEARCH_FILES, SHELL, SHELL_INPUT, SHELL_OUTPUT,
    SKILL, SUBAGENT, Target, Tool, WEB_FETCH, WEB_SEARCH, WRITE_FILE,
};

pub(super) static HOST: Host = Host {
    name: "copilot",
    title: "Copilot CLI",
    program: Some(Program { name: "copilot", tested: "1.0.102", oldest: None }),
    events: Events { installed: copilot_files::EVENTS, read, sample, project_variable: None },
    // A printed consent would skip the host's own questions.
    answers: Answers {
        allow: None,
        deny,
        go_on: claude::go_on,
        pass: |_, _| None,
        read: takes,
        blocks_by_exit_code: true,
    },
    record: Record {
        message: copilot_files::message,
        joins_messages: false,
        has_open_stop: Some(has_open_stop),
        calls: Some(RecordedCalls {
            form: "copilot",
            may_be_in: copilot_files::may_be_about_a_call,
            alone_has_exit_codes: false,
            compared_name: |tool| common_name(tool).unwrap_or(tool),
            was_asked_about,
        }),
    },
    installation: Installation {
        runs_as: "copilot",
        form: Form::Entries,
        has_comments: false,
        layers: |place| {
            [vec![Layer::of_system("/etc/github-copilot/policy.d/proofmark.json")], copilot_files::layers(place)]
                .concat()
        },
        hook: copilot_files::hook,
        units_of_a_second: 1,
        on_failure: OnFailure::Blocks,
        shell: Shell::Named("bash"),
        next: copilot_files::next,
        administrator: "/etc/github-copilot/policy.d/proofmark.json (`--scope system`), owned by root and writable by root only; `disableAllHooks` does not concern it",
        switches: Some(Switches { files: settings, folder: None, findings }),
        server: None,
    },
    gaps: &[
        gap(
            "A hook that takes too long lets the call run, an administrator's too.",
            "`proofmark hook` answers within its deadline, which is far below the host's.",
        ),
        gap(
            "`disableAllHooks` in a settings file switches hooks off.",
            "Files in /etc/github-copilot/policy.d (`--scope system`) stay on.",
        ),
        gap(
            "After 8 refused stops in a row the host stops anyway.",
            "Accept the step again in CI, with `--trace session:NAME`.",
        ),
        gap(
            "The cloud agent has neither this program nor the policy.",
            "Require a receipt of the pushed tree with `proofmark gate`.",
        ),
    ],
    servers: None,
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

fn read(object: &Object) -> Result<Message, String> {
    // VS Code starts the hooks of Copilot's files as well.
    if object.contains("hookEventName") {
        return Ok(Message { told_by: Some(vscode::HOST.name), ..vscode::read(object)? });
    }
    let event = match text(object, "hook_event_name")? {
        Some(event) => event,
        None => unnamed(object).ok_or("it has the members of no event that is known")?.to_owned(),
    };
    let message = envelope(object)?;
    Ok(match event.as_str() {
        "PreToolUse" => {
            let call = call(object, &message)?;
            message.before(call)
        }
        "PostToolUse" => {
            let call = call(object, &message)?;
            let response = ["toolResult", "tool_result", "tool_response"].iter().find_map(|name| object.get(name));
            let response = response.cloned().unwrap_or(Json::Null);
            let ended = Ended { status: status(&call, &response), response };
            message.after(call, ended)
        }
        "PostToolUseFailure" => {
            let call = call(object, &message)?;
            message.after(call, Ended { status: CallStatus::Failed, response: fields::value(object, "error") })
        }
        // Of a subagent, which has another event for it.
        "Stop" if message.subagent.is_some() => message,
        "Stop" => message.stop(stop(object)?),
        "SubagentStop" => message.subagent_stop(stop(object)?),
        name if OTHERS.contains(&name) => message,
        name => return Err(unknown_event(name)),
    })
}

/// The common name of a tool. The record of a session has the names of the one spelling, and hooks may be told the other.
fn common_name(tool: &str) -> Option<&'static str> {
    TOOLS.iter().find(|Tool(name, ..)| *name == tool).map(|Tool(_, common, _)| common.name)
}

/// The event that has these members. One before a tool is recognised last, so that nothing is taken for another event that has
/// more than those of a call; a host that adds members to it is answered as for an event that is not known.
fn unnamed(object: &Object) -> Option<&'static str> {
    let has = |name: &str| object.contains(name);
    let events = [
        (has("toolName") && has("toolResult"), "PostToolUse"),
        (has("toolName") && has("error"), "PostToolUseFailure"),
        (has("toolName"), "PreToolUse"),
        (has("stopReason") && (has("agentName") || has("agentId")), "SubagentStop"),
        (has("stopReason"), "Stop"),
        (has("agentName"), "SubagentStart"),
        (has("transformedPrompt") || has("prompt"), "UserPromptSubmit"),
        (has("errorContext"), "ErrorOccurred"),
        (has("trigger"), "PreCompact"),
        (has("source"), "SessionStart"),
        (has("reason"), "SessionEnd"),
    ];
    events.into_iter().find(|(is_it, _)| *is_it).map(|(_, event)| event)
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
    // The two spellings of the host's events name the same members differently.
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
    // Rejected and denied calls are not successes either.
    if member("resultType", "result_type").is_some_and(|kind| kind != "success") {
        return CallStatus::Failed;
    }
    let text = member("textResultForLlm", "text_result_for_llm").filter(|_| call.tool == SHELL.name);
    let by_exit_code = text.and_then(|text| exit_code(&text));
    by_exit_code.unwrap_or_else(|| ended::without_exit_code(call, response))
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

fn stop(object: &Object) -> Result<Stop, String> {
    let message = first_text(object, &["response", "last_assistant_message"])?;
    Ok(Stop { again: fields::flag(object, "stop_hook_active"), message })
}

fn sample(call: &SampleCall) -> Object {
    call.in_common_form("PreToolUse", "Bash", &object! { "timestamp": call.now.as_str() })
}

fn deny(_: Occasion, reason: &str) -> Object {
    object! { "permissionDecision": "deny", "permissionDecisionReason": reason }
}

fn takes(answer: &Object) -> Reading {
    let specific = answer.get("hookSpecificOutput").and_then(Json::as_object);
    answer::decision(specific.unwrap_or(answer), "permissionDecision", "permissionDecisionReason")
}

/// Whether the end of the record has the stop that hooks are asked about now. The host notes when it begins and when it has ended
/// to ask a hook, some time after it does so; what it noted before the beginning is then there, too.
fn has_open_stop(end: &str) -> bool {
    let kind = record::last_line(end, |line| {
        let kind = record::text(line, "type")?;
        let hook = record::text(line.get("data")?.as_object()?, "hookType");
        let is_of_stop = matches!(hook, Some("agentStop" | "subagentStop"));
        (is_of_stop && matches!(kind, "hook.start" | "hook.end")).then(|| kind.to_owned())
    });
    kind.as_deref() == Some("hook.start")
}

/// It asks before anything else, also about tools that do not exist and calls that its own rules refuse. When a command has ended
/// in the background, the host itself reads what it printed.
fn was_asked_about(recorded: &RecordedCall<'_>) -> bool {
    !matches!(recorded.call.tool.as_str(), "read_bash" | "read_powershell")
}

fn settings(place: &Surroundings) -> Vec<Layer> {
    vec![
        Layer::of_user(place.folder("COPILOT_HOME", ".copilot").join("settings.json")),
        place.in_project(".github/copilot/settings.json"),
        place.in_project(".github/copilot/settings.local.json"),
    ]
}

fn findings(found: &SettingsFound<'_>) -> Vec<Finding> {
    // What users set does not concern the hooks of an administrator.
    let settings = if found.is_managed { &[] } else { found.settings };
    settings.iter().filter_map(Settings::all_hooks_disabled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_open_until_its_hook_has_ended() {
        let event = |kind: &str, hook: &str| format!(r#"{{"type":"{kind}","data":{{"hookType":"{hook}"}}}}"#);
        let said = r#"{"type":"assistant.message","data":{"content":"done"}}"#.to_owned();
        let open = |lines: &[String]| has_open_stop(&lines.join("\n"));
        let (begun, ended) = (event("hook.start", "agentStop"), event("hook.end", "agentStop"));
        assert!(open(&[said.clone(), begun.clone()]));
        assert!(open(&[ended.clone(), said.clone(), begun.clone(), event("hook.start", "preToolUse")]));
        assert!(!open(&[begun, ended, said.clone(), event("hook.start", "postToolUse")]));
        assert!(!open(&[said, "{".to_owned()]));
    }
}
