//! Codex CLI. It throws an answer away that has one field which it does not know for the event, and then runs the tool.

use proofmark_receipt::{Json, Object, object};

use super::{Host, Program, claude};
use crate::answer::{Answers, Reading};
use crate::ended;
use crate::event::{Events, SampleCall};
use crate::fields::{self, need_text, text, unknown_event};
use crate::finding::Finding;
use crate::gap::gap;
use crate::hook_server::{HookServer, InstalledHook, ListedHook, Question};
use crate::installation::{Form, Installation, Moment, OnFailure, Shell, hook_in_common_form};
use crate::message::{Call, Ended, Message};
use crate::record::{self, Record, RecordedCall, RecordedCalls};
use crate::surroundings::{Layer, Scope, Surroundings};
use crate::tools::{self, EDIT_FILE, PLAN, READ_FILE, SHELL, SHELL_INPUT, SUBAGENT, Target, Tool};

pub(super) static HOST: Host = Host {
    name: "codex",
    title: "Codex CLI",
    program: Some(Program { name: "codex", tested: "0.169.0", oldest: None }),
    events: Events {
        installed: &[
            ("UserPromptSubmit", Moment::Asked),
            ("PreToolUse", Moment::Before),
            ("PostToolUse", Moment::After),
            ("Stop", Moment::Stop),
            ("SubagentStop", Moment::Stop),
        ],
        read,
        sample,
        project_variable: None,
    },
    // A printed consent is an error.
    answers: Answers {
        allow: None,
        deny: claude::deny,
        go_on: claude::go_on,
        pass: claude::pass,
        read: takes,
        blocks_by_exit_code: true,
    },
    record: Record {
        message,
        joins_messages: false,
        has_open_stop: None,
        calls: Some(RecordedCalls {
            form: "codex",
            // `function_call`, `custom_tool_call`, `local_shell_call` and their outputs.
            may_be_in: |line| line.contains("_call"),
            alone_has_exit_codes: true,
            compared_name: record::same_name,
            was_asked_about,
        }),
    },
    installation: Installation {
        runs_as: "codex",
        form: Form::Groups,
        has_comments: false,
        layers,
        hook: |_, line| hook_in_common_form(line),
        units_of_a_second: 1,
        on_failure: OnFailure::Runs,
        shell: Shell::OfUser,
        next,
        administrator: "/etc/codex/hooks.json (`--scope system`), trusted without asking; `allow_managed_hooks_only = true` in /etc/codex/requirements.toml ignores all other hooks",
        switches: None,
        server: Some(HookServer { program: "codex", arguments: &["app-server"], list, listed, trust, findings }),
    },
    gaps: &[
        gap(
            "`write_stdin` types into a program that runs already, and calls no hook.",
            "Refuse commands that start a shell or an interpreter without a script, as the policies in `examples/hooks` do. With `--workflow`, the stop finds such calls in the transcript.",
        ),
        gap(
            "In code mode the outer `exec` calls no hook; the commands within it do.",
            "The same policies; what is typed with `write_stdin` within it is not seen either.",
        ),
        gap(
            "A hook that crashes, takes too long or answers with an unknown member lets the call run.",
            "`proofmark hook` answers within its deadline; `proofmark hook doctor codex` runs it.",
        ),
        gap(
            "A hook that is not trusted is skipped without a word.",
            "`--scope system`, which is trusted without asking; `proofmark hook doctor codex` asks Codex.",
        ),
        gap(
            "`features.hooks = false`, also with `-c`, switches hooks off.",
            "`[features] hooks = true` in /etc/codex/requirements.toml.",
        ),
        gap(
            "The web search runs at the provider of the model, and calls no hook.",
            "`allowed_web_search_modes = [\"disabled\"]` in /etc/codex/requirements.toml.",
        ),
    ],
    servers: None,
};

const TOOLS: &[Tool] = &[
    Tool("Bash", SHELL, Target::Unknown),
    Tool("write_stdin", SHELL_INPUT, Target::NoFile),
    Tool("apply_patch", EDIT_FILE, Target::Patch(&["command", "input", "patch"])),
    Tool("view_image", READ_FILE, Target::File(&["path"])),
    Tool("update_plan", PLAN, Target::NoFile),
    Tool("spawn_agent", SUBAGENT, Target::NoFile),
];

/// The events that ask for nothing here.
const OTHERS: [&str; 8] = [
    "PermissionRequest",
    "PreCompact",
    "PostCompact",
    "SessionStart",
    "SessionEnd",
    "SubagentStart",
    "PreModelRequest",
    "Interrupt",
];

/// The tools that it asks no hook about and that have no effect outside of the session.
const WITHOUT_HOOK: [&str; 16] = [
    "update_plan",
    "request_user_input",
    "get_goal",
    "create_goal",
    "update_goal",
    "tool_search",
    "list_mcp_resources",
    "list_mcp_resource_templates",
    "wait",
    "wait_agent",
    "list_agents",
    "spawn_agent",
    "send_input",
    "resume_agent",
    "close_agent",
    "web_search",
];

/// The members of an answer that it knows before a tool.
const KNOWN: [&str; 1] = ["hookSpecificOutput"];
/// The members within that one that it knows.
const KNOWN_WITHIN: [&str; 3] = ["hookEventName", "permissionDecision", "permissionDecisionReason"];

/// How its hooks come to be trusted.
const TRUST: &str = "start `codex`, and trust them when it asks; or install with `--trust`";

fn read(object: &Object) -> Result<Message, String> {
    let message = claude::envelope(object)?;
    Ok(match need_text(object, "hook_event_name")?.as_str() {
        "PreToolUse" => {
            let call = call(object, &message)?;
            message.before(call)
        }
        "PostToolUse" => {
            let (call, response) = (call(object, &message)?, fields::value(object, "tool_response"));
            // What a command printed comes without its exit code: that is in the record only.
            let ended = Ended { status: ended::without_exit_code(&call, &response), response };
            message.after(call, ended)
        }
        "UserPromptSubmit" => message.asked(text(object, "prompt")?.unwrap_or_default()),
        "Stop" => message.stop(claude::stop(object)?),
        "SubagentStop" => claude::with_own_transcript(object, message)?.subagent_stop(claude::stop(object)?),
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

fn sample(call: &SampleCall) -> Object {
    let more = object! {
        "turn_id": call.session, "model": call.session, "permission_mode": "default", "tool_use_id": call.id.as_str(),
    };
    call.in_common_form("PreToolUse", "Bash", &more)
}

/// With a member that it does not know it throws the whole answer away, and runs the call.
fn takes(answer: &Object) -> Reading {
    let specific = answer.get("hookSpecificOutput").and_then(Json::as_object);
    let outer = answer.iter().map(|(name, _)| name).find(|name| !KNOWN.contains(name));
    let unknown = outer.or_else(|| specific?.iter().map(|(name, _)| name).find(|name| !KNOWN_WITHIN.contains(name)));
    match unknown {
        Some(name) => Reading::Failed(format!("it has the member `{name}`, which Codex does not know")),
        None => claude::takes(answer),
    }
}

fn message(line: &Object) -> Option<String> {
    let item = line.get("payload").filter(|_| record::text(line, "type") == Some("response_item"))?.as_object()?;
    let is_of_agent = record::text(item, "type") == Some("message") && record::text(item, "role") == Some("assistant");
    record::content(item.get("content").filter(|_| is_of_agent)?)
}

fn was_asked_about(recorded: &RecordedCall<'_>) -> bool {
    let was_refused =
        recorded.returned(&["unsupported call: ", "unsupported custom tool call: ", "failed to parse function"]);
    !was_refused && is_asked_about(recorded.call)
}

/// It asks before a command begins, and not before something is typed into one that runs.
fn is_asked_about(call: &proofmark_evidence::Call) -> bool {
    match call.tool.as_str() {
        "write_stdin" => {
            let chars = call.arguments.as_object().and_then(|arguments| arguments.get("chars"));
            // Without any, it only looks at what the command has printed.
            chars.is_none_or(|chars| chars.as_str() != Some(""))
        }
        // A program that calls tools, each of which is asked about but the one that types into a command.
        "exec" => call.arguments.to_text().contains("write_stdin"),
        tool => !WITHOUT_HOOK.contains(&tool),
    }
}

fn layers(place: &Surroundings) -> Vec<Layer> {
    vec![
        Layer::of_system("/etc/codex/hooks.json"),
        Layer::of_user(place.folder("CODEX_HOME", ".codex").join("hooks.json")),
        place.in_project(".codex/hooks.json"),
    ]
}

fn next(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "start `codex` and trust the hooks when it asks: until then it skips them",
        Scope::Project => {
            "start `codex` in the project, trust the folder and the hooks when it asks: until then it skips them"
        }
        Scope::System => "restart the host: hooks are read when it starts",
    }
}

fn list(folder: &str) -> Question {
    Question { method: "hooks/list", params: object! { "cwds": vec![Json::from(folder)] } }
}

fn listed(result: &Object) -> Option<Vec<ListedHook>> {
    let entries = result.get("data")?.as_array()?;
    let hooks = entries.iter().filter_map(|entry| entry.as_object()?.get("hooks")?.as_array()).flatten();
    Some(hooks.filter_map(|hook| listed_hook(hook.as_object()?)).collect())
}

fn listed_hook(hook: &Object) -> Option<ListedHook> {
    let text = |name: &str| record::text(hook, name).map(str::to_owned);
    let trust = text("trustStatus").unwrap_or_default();
    Some(ListedHook {
        command: text("command")?,
        event: text("eventName")?,
        is_enabled: fields::flag(hook, "enabled"),
        // Hooks of an administrator are run without being trusted by the user.
        is_trusted: ["trusted", "managed"].contains(&trust.as_str()),
        trust,
        key: text("key")?,
        hash: text("currentHash")?,
    })
}

fn trust(hooks: &[&ListedHook]) -> Question {
    let mut states = Object::new();
    // With the digest that it listed: a hook that was changed since then is not trusted by this.
    for hook in hooks {
        states.insert(hook.key.as_str(), object! { "trusted_hash": hook.hash.as_str() });
    }
    let edit = object! { "keyPath": "hooks.state", "value": states, "mergeStrategy": "upsert" };
    Question { method: "config/batchWrite", params: object! { "edits": vec![Json::from(edit)] } }
}

/// Why it skips a hook, and what helps; none for one that it runs.
fn skipped(hook: Option<&ListedHook>) -> Option<(&'static str, &'static str)> {
    match hook {
        None => Some((
            "does not read hooks",
            "trust the folder, and look for `features.hooks`, `allow_managed_hooks_only` and errors in the file",
        )),
        Some(hook) if !hook.is_enabled => Some(("has hooks switched off", "switch them on with `/hooks` in `codex`")),
        Some(hook) if hook.is_trusted => None,
        // Its own words: the person did trust it, and wonders why that is not enough.
        Some(hook) if hook.trust == "modified" => {
            Some(("skips hooks that have changed since they were trusted", TRUST))
        }
        Some(_) => Some(("skips hooks that are not trusted", TRUST)),
    }
}

fn findings(installed: &[InstalledHook], listed: Option<&[ListedHook]>) -> Vec<Finding> {
    let Some(listed) = listed else {
        return vec![Finding::unknown(
            "Codex did not say which hooks it runs",
            "put `codex` on the path; or start it, and look at `/hooks`",
        )];
    };
    let mut reasons: Vec<((&str, &str), Vec<&str>)> = Vec::new();
    for InstalledHook { event, line } in installed {
        let Some(why) = skipped(listed.iter().find(|hook| hook.is(event, line))) else { continue };
        // Most often all hooks have the same trouble, which is said once.
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, events)) => events.push(event),
            None => reasons.push((why, vec![event])),
        }
    }
    if reasons.is_empty() {
        return vec![Finding::good("Codex runs the hooks: it trusts each of them")];
    }
    reasons
        .into_iter()
        .map(|((what, help), events)| Finding::bad(format!("Codex {what}: {}", events.join(", ")), help))
        .collect()
}
