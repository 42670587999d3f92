//! Gemini CLI. It does not name calls, and takes text on standard error for an answer where standard output is empty.

use std::path::PathBuf;

use proofmark_receipt::{Json, Object, object};
use proofmark_session::CallStatus;

use super::{Host, Program, claude};
use crate::answer::{self, Answers};
use crate::ended;
use crate::event::{Events, SampleCall};
use crate::fields::{self, need_text, text, unknown_event};
use crate::finding::Finding;
use crate::gap::gap;
use crate::installation::{Form, Installation, Moment, OnFailure, Shell, TIMEOUT_SECONDS};
use crate::message::{Call, Ended, Message, Occasion, Stop};
use crate::record::{self, Record, RecordedCalls};
use crate::surroundings::{Layer, Scope, Surroundings};
use crate::switches::{Settings, SettingsFound, Switches};
use crate::tools::{
    self, ASK_USER, EDIT_FILE, FIND_FILES, LIST_FILES, MCP_RESOURCE, MEMORY, PLAN, READ_FILE, SEARCH_FILES, SHELL,
    SKILL, SUBAGENT, Target, Tool, WEB_FETCH, WEB_SEARCH, WRITE_FILE,
};

pub(super) static HOST: Host = Host {
    name: "gemini",
    title: "Gemini CLI",
    program: Some(Program { name: "gemini", tested: "0.61.0", oldest: None }),
    events: Events {
        installed: &[("BeforeTool", Moment::Before), ("AfterTool", Moment::After), ("AfterAgent", Moment::Stop)],
        read,
        sample,
        project_variable: Some("GEMINI_PROJECT_DIR"),
    },
    // A printed consent would skip the host's own questions.
    answers: Answers {
        allow: None,
        deny,
        // The same has the agent go on after it ended.
        go_on: deny,
        pass: claude::pass,
        read: |answer| answer::decision(answer, "decision", "reason"),
        blocks_by_exit_code: true,
    },
    record: Record {
        message,
        joins_messages: true,
        has_open_stop: None,
        calls: Some(RecordedCalls {
            form: "gemini_cli",
            // Later lines take the place of earlier ones.
            may_be_in: |_| true,
            alone_has_exit_codes: false,
            compared_name: record::same_name,
            was_asked_about: |recorded| {
                !recorded.failed || recorded.returned(&["Output: ", "<untrusted_context>\nOutput: "])
            },
        }),
    },
    installation: Installation {
        runs_as: "gemini",
        form: Form::Groups,
        has_comments: true,
        layers,
        hook,
        units_of_a_second: 1_000,
        on_failure: OnFailure::Runs,
        shell: Shell::Named("bash"),
        next,
        administrator: "/etc/gemini-cli/settings.json (`--scope system`), with `\"hooksConfig\": {\"enabled\": true}`",
        switches: Some(Switches { files: |_| Vec::new(), folder: None, findings }),
        server: None,
    },
    gaps: &[
        gap(
            "`@file` in a prompt reads the file without a hook.",
            "Keep files that the agent must not read where its account cannot read them.",
        ),
        gap(
            "A hook that crashes or takes too long lets the call run.",
            "`proofmark hook` answers within its deadline; `proofmark hook doctor gemini` runs it.",
        ),
        gap(
            "`hooksConfig.enabled` and `hooksConfig.disabled` in a project's settings switch hooks off.",
            "`\"hooksConfig\": {\"enabled\": true}` in /etc/gemini-cli/settings.json, and no trust for folders of strangers.",
        ),
        gap(
            "Variables in a project's `.env` reach the shell that starts the hook: `BASH_ENV` runs a file of the project first.",
            "`\"advanced\": {\"excludedEnvVars\": [\"BASH_ENV\", \"ENV\", \"LD_PRELOAD\"]}` in the user's or the system's settings.",
        ),
        gap("Hooks of a project do not run in a folder that is not trusted.", "`--scope user` or `--scope system`."),
    ],
    servers: None,
};

/// Variables by which a project's `.env` runs code in the shell that starts a hook.
const SHELL_VARIABLES: [&str; 3] = ["BASH_ENV", "ENV", "LD_PRELOAD"];

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

fn read(object: &Object) -> Result<Message, String> {
    let message = claude::envelope(object)?;
    Ok(match need_text(object, "hook_event_name")?.as_str() {
        "BeforeTool" => {
            let call = call(object, &message)?;
            message.before(call)
        }
        "AfterTool" => {
            let (call, response) = (call(object, &message)?, fields::value(object, "tool_response"));
            let ended = Ended { status: status(&call, &response), response };
            message.after(call, ended)
        }
        "AfterAgent" => {
            let again = fields::flag(object, "stop_hook_active");
            message.stop(Stop { again, message: text(object, "prompt_response")? })
        }
        name if OTHERS.contains(&name) => message,
        name => return Err(unknown_event(name)),
    })
}

fn call(object: &Object, message: &Message) -> Result<Call, String> {
    let (name, args) = (need_text(object, "tool_name")?, fields::arguments(object, "tool_input")?);
    if let Some(context) = object.get("mcp_context").and_then(Json::as_object) {
        let (server, tool) = (need_text(context, "server_name")?, need_text(context, "tool_name")?);
        // What the host says beside the name, and not what the name seems to say: a server chooses how its tools are called.
        return Ok(Call::of_server(&name, Some(&server), &tool, args));
    }
    if name.starts_with("mcp_") {
        // Where the server's name ends is not known.
        return Ok(Call::of_server(&name, None, &name, args));
    }
    Ok(tools::own(TOOLS, &name, args, message.cwd.as_deref()))
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
    let failed =
        text.lines().any(|line| ["Exit Code: ", "Signal: ", "Error: "].iter().any(|begin| line.starts_with(begin)));
    if failed { CallStatus::Failed } else { CallStatus::Succeeded }
}

fn sample(call: &SampleCall) -> Object {
    call.in_common_form("BeforeTool", "run_shell_command", &object! { "timestamp": call.now.as_str() })
}

fn deny(_: Occasion, reason: &str) -> Object {
    object! { "decision": "deny", "reason": reason }
}

fn message(line: &Object) -> Option<String> {
    record::content(line.get("content").filter(|_| record::text(line, "type") == Some("gemini"))?)
}

fn layers(place: &Surroundings) -> Vec<Layer> {
    let of_system = (place.variable)("GEMINI_CLI_SYSTEM_SETTINGS_PATH");
    let of_system = of_system.map_or_else(|| PathBuf::from("/etc/gemini-cli/settings.json"), PathBuf::from);
    vec![
        Layer::of_system(of_system),
        Layer::of_user(place.folder("GEMINI_CLI_HOME", "").join(".gemini/settings.json")),
        place.in_project(".gemini/settings.json"),
    ]
}

fn hook(_: Moment, line: &str) -> Object {
    object! { "name": "proofmark", "type": "command", "command": line, "timeout": TIMEOUT_SECONDS * 1_000 }
}

fn next(scope: Scope) -> &'static str {
    match scope {
        Scope::Project => "trust the folder when the host asks: until then it may skip the hooks",
        Scope::User | Scope::System => "restart the host: hooks are read when it starts",
    }
}

fn findings(found: &SettingsFound<'_>) -> Vec<Finding> {
    // An administrator's value counts before a project's, and that before the user's.
    let of = |scope: Scope| found.settings.iter().filter(move |settings| settings.scope == scope);
    let in_order: Vec<&Settings> = of(Scope::System).chain(of(Scope::Project)).chain(of(Scope::User)).collect();
    let mut findings = Vec::new();
    let enabled =
        in_order.iter().find_map(|settings| Some((settings, settings.within("hooksConfig", "enabled")?.as_bool()?)));
    if let Some((settings, false)) = enabled {
        let what = format!("{} switches hooks off (`hooksConfig.enabled`)", settings.path.display());
        findings.push(Finding::bad(what, "set it to true"));
    }
    for settings in &in_order {
        let disabled = settings.within("hooksConfig", "disabled").and_then(Json::as_array).unwrap_or_default();
        let mut names = disabled.iter().filter_map(Json::as_str);
        // It calls a hook by its name, or by its command where it has none.
        if names.any(|name| name == "proofmark" || found.lines.iter().any(|line| line == name)) {
            let what = format!("{} switches the hook off (`hooksConfig.disabled`)", settings.path.display());
            findings.push(Finding::bad(what, "take it out of that list"));
        }
    }
    let excluded = in_order.iter().filter_map(|settings| settings.within("advanced", "excludedEnvVars")?.as_array());
    let excluded: Vec<&str> = excluded.flatten().filter_map(Json::as_str).collect();
    if SHELL_VARIABLES.iter().any(|name| !excluded.contains(name)) {
        findings.push(Finding::note(
            "variables in a project's `.env` reach the shell that starts the hook",
            format!("add {} to `advanced.excludedEnvVars` in the user's settings", SHELL_VARIABLES.join(", ")),
        ));
    }
    findings
}
