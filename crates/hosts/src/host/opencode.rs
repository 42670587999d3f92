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

use proofmark_receipt::{Json, Object, object};

use super::{Host, Program};
use crate::answer::{self, Answers};
use crate::ended;
use crate::event::{Events, SampleCall};
use crate::fields::{self, need_text, text, unknown_event};
use crate::gap::gap;
use crate::installation::{Form, Installation, Moment, OnFailure, Shell, hook_in_common_form};
use crate::message::{Call, Ended, Message, Occasion, Subagent};
use crate::record::Record;
use crate::surroundings::{Layer, Surroundings};
use crate::tools::{
    self, ASK_USER, EDIT_FILE, FIND_FILES, LIST_FILES, MCP_RESOURCE, PLAN, READ_FILE, SEARCH_FILES, SHELL, SKILL,
    SUBAGENT, Target, Tool, WEB_FETCH, WEB_SEARCH, WRITE_FILE,
};

pub(super) static HOST: Host = Host {
    name: "opencode",
    title: "opencode",
    program: Some(Program { name: "opencode", tested: "1.18.33", oldest: None }),
    events: Events {
        installed: &[("tool.execute.before", Moment::Before), ("tool.execute.after", Moment::After)],
        read,
        sample,
        project_variable: None,
    },
    answers: Answers {
        allow: Some(|| object! { "decision": "allow" }),
        deny,
        // It cannot hold an agent.
        go_on: |_, _| Object::new(),
        pass: |_, _| Some(Object::new()),
        read: |answer| answer::decision(answer, "decision", "reason"),
        blocks_by_exit_code: false,
    },
    record: Record::NONE,
    installation: Installation {
        runs_as: "opencode",
        form: Form::Plugin { text: plugin, command: command_of },
        has_comments: false,
        layers,
        hook: |_, line| hook_in_common_form(line),
        units_of_a_second: 1,
        on_failure: OnFailure::Blocks,
        shell: Shell::None,
        next: |_| "restart the host: hooks are read when it starts",
        administrator: "none: keep the plugin's folder where the agent's account cannot write",
        switches: None,
        server: None,
    },
    gaps: &[
        gap(
            "In code mode, and in the newer engine, inner calls do not reach plugins.",
            "Switch code mode off; put MCP servers under `proofmark guard wrap`.",
        ),
        gap(
            "A plugin that is loaded later can change the arguments after the decision.",
            "Have no other plugin that changes arguments.",
        ),
        gap(
            "A stop cannot be refused, and no step is judged then.",
            "Accept the step in CI, with `--trace session:NAME`.",
        ),
        gap(
            "The session's record is a database of its own, which is not compared: a call that the plugin did not see is not found.",
            "Require a receipt of the pushed tree with `proofmark gate`.",
        ),
        gap(
            "`opencode --pure` and `OPENCODE_PURE` run without plugins.",
            "Start agents by a command that the agent's account cannot change.",
        ),
        gap(
            "No administrator's file has plugins that stay on.",
            "Keep the folder of plugins where the agent's account cannot write.",
        ),
    ],
    servers: None,
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

/// The plugin, with an empty command.
const PLUGIN: &str = include_str!("opencode.js");
/// The line of the plugin with the command.
const COMMAND: &str = "const COMMAND = ";
/// The line that an installed plugin begins with.
const FIRST: &str = "// Written by `proofmark hook install opencode`.";

fn read(object: &Object) -> Result<Message, String> {
    if object.get("protocol").and_then(Json::as_number).and_then(|version| version.as_u64()) != Some(PROTOCOL) {
        // The plugin is a copy in the host's folder, and may be of another version of this program.
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
        "tool.execute.before" => {
            let call = call(object, &message)?;
            message.before(call)
        }
        "tool.execute.after" => {
            let call = call(object, &message)?;
            let response = object! {
                "output"?: object.get("output").cloned(),
                "metadata"?: object.get("metadata").cloned(),
            };
            let metadata = response.get("metadata").cloned().unwrap_or(Json::Null);
            let status = ended::without_exit_code(&call, &metadata);
            message.after(call, Ended { status, response: response.into() })
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

fn sample(call: &SampleCall) -> Object {
    object! {
        "protocol": PROTOCOL, "event": "tool.execute.before", "tool": "bash", "sessionID": call.session,
        "callID": call.id.as_str(), "args": call.arguments(), "directory": call.folder.as_str(),
    }
}

fn deny(_: Occasion, reason: &str) -> Object {
    object! { "decision": "deny", "reason": reason }
}

fn layers(place: &Surroundings) -> Vec<Layer> {
    let user = place.folder("XDG_CONFIG_HOME", ".config").join("opencode/plugins/proofmark.js");
    vec![Layer::of_user(user), place.in_project(".opencode/plugins/proofmark.js")]
}

/// The plugin that starts this command.
fn plugin(command: &[String]) -> String {
    // A list of JSON is a list of JavaScript: no word can end its string and become code.
    let words: Vec<Json> = command.iter().map(|word| Json::from(word.as_str())).collect();
    PLUGIN.replacen(&format!("{COMMAND}[];"), &format!("{COMMAND}{};", Json::from(words).to_text()), 1)
}

/// The command of an installed plugin; `None` for a program of somebody else.
fn command_of(text: &str) -> Option<Vec<String>> {
    let list = text.lines().find_map(|line| line.strip_prefix(COMMAND)?.strip_suffix(';'))?;
    let words = Json::parse(list.as_bytes()).ok()?;
    let words = words.as_array()?.iter().map(|word| word.as_str().map(str::to_owned));
    // Without the first line it is a program of somebody else, which is neither changed nor removed.
    words.collect::<Option<Vec<_>>>().filter(|words| text.starts_with(FIRST) && !words.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_plugin_is_read_again() {
        let words = ["/a b/proofmark", "hook", "it's \"x\" \\ \u{2028}"].map(str::to_owned);
        assert_eq!(command_of(&plugin(&words)).as_deref(), Some(&words[..]));
        assert_eq!(command_of("const COMMAND = [\"a\"];"), None);
        assert_eq!(command_of(PLUGIN), None);
    }
}
