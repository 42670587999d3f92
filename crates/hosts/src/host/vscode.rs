//! The local harness of VS Code's agents. Its events and answers have nearly the form of Claude Code's; its files and its record
//! are those of Copilot CLI.

use proofmark_receipt::{Object, object};

use super::{Host, claude, copilot_files};
use crate::answer::Answers;
use crate::ended;
use crate::event::{Events, SampleCall};
use crate::fields::{self, first_text, need_text, text, unknown_event};
use crate::gap::gap;
use crate::installation::{Form, Installation, OnFailure, Shell};
use crate::message::{Call, Ended, Message, Occasion};
use crate::record::{self, Record, RecordedCalls};
use crate::servers::{self, Servers};
use crate::tools::{
    self, EDIT_FILE, FIND_FILES, LIST_FILES, MEMORY, PLAN, READ_FILE, SEARCH_FILES, SHELL, SUBAGENT, Target, Tool,
    WEB_FETCH, WRITE_FILE,
};

pub(super) static HOST: Host = Host {
    name: "vscode",
    title: "VS Code",
    program: None,
    events: Events { installed: copilot_files::EVENTS, read, sample, project_variable: None },
    // A printed consent would skip the host's own questions.
    answers: Answers {
        allow: None,
        deny: claude::deny,
        go_on,
        pass: claude::pass,
        read: claude::takes,
        blocks_by_exit_code: true,
    },
    record: Record {
        message: copilot_files::message,
        joins_messages: false,
        has_open_stop: None,
        calls: Some(RecordedCalls {
            form: "copilot",
            may_be_in: copilot_files::may_be_about_a_call,
            alone_has_exit_codes: false,
            compared_name: record::same_name,
            was_asked_about: |_| true,
        }),
    },
    installation: Installation {
        // Copilot CLI reads the same file, and its reader knows events of both.
        runs_as: "copilot",
        form: Form::Entries,
        has_comments: false,
        layers: copilot_files::layers,
        hook: copilot_files::hook,
        units_of_a_second: 1,
        on_failure: OnFailure::Runs,
        shell: Shell::Named("/bin/sh"),
        next: copilot_files::next,
        administrator: "the organization's policies decide whether hooks run; no file of an administrator has hooks",
        switches: None,
        server: None,
    },
    gaps: &[
        gap(
            "A hook that ends with an error other than 2, or takes too long, lets the call run.",
            "`proofmark hook` answers within its deadline; `proofmark hook doctor vscode` runs it.",
        ),
        gap(
            "`chat.hookFilesLocations` and policies of an organization switch hooks off.",
            "Require a receipt of the pushed tree with `proofmark gate`.",
        ),
        gap(
            "Sessions of Claude and Codex in VS Code use the hooks of those hosts.",
            "Install for `claude` and `codex` as well.",
        ),
        gap("Hooks are in preview, and their form may change.", "Run `proofmark hook doctor vscode` after an update."),
        gap(
            "The form of the session's record is not promised. A call that no hook saw is found only while it stays as it is.",
            "Accept the step again in CI, with `--trace session:NAME`.",
        ),
    ],
    servers: Some(Servers {
        name: "vscode",
        member: "servers",
        has_comments: true,
        program_type: Some("stdio"),
        address: Some(servers::with_type),
        variable: servers::of_editor,
    }),
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
const OTHERS: [&str; 3] = ["SessionStart", "PreCompact", "SubagentStart"];

pub(super) fn read(object: &Object) -> Result<Message, String> {
    // Its versions spell the member differently.
    let session = first_text(object, &["sessionId", "session_id"])?.filter(|session| !session.is_empty());
    let message = Message { session, ..claude::envelope(object)? };
    let event = first_text(object, &["hookEventName", "hook_event_name"])?.ok_or("`hookEventName` is missing")?;
    Ok(match event.as_str() {
        "PreToolUse" => {
            let call = call(object, &message)?;
            message.before(call)
        }
        "PostToolUse" => {
            let (call, response) = (call(object, &message)?, fields::value(object, "tool_response"));
            let ended = Ended { status: ended::without_exit_code(&call, &response), response };
            message.after(call, ended)
        }
        "UserPromptSubmit" => message.asked(text(object, "prompt")?.unwrap_or_default()),
        "Stop" => message.stop(claude::stop(object)?),
        "SubagentStop" => message.subagent_stop(claude::stop(object)?),
        name if OTHERS.contains(&name) => message,
        name => return Err(unknown_event(name)),
    })
}

fn call(object: &Object, message: &Message) -> Result<Call, String> {
    let (name, args) = (need_text(object, "tool_name")?, fields::arguments(object, "tool_input")?);
    let call = if name.starts_with("mcp_") {
        // Where the server's name ends is not known.
        Call::of_server(&name, None, &name, args)
    } else {
        tools::own(TOOLS, &name, args, message.cwd.as_deref())
    };
    Ok(call.with_id(text(object, "tool_use_id")?))
}

fn sample(call: &SampleCall) -> Object {
    object! {
        "timestamp": call.now.as_str(), "cwd": call.folder.as_str(), "sessionId": call.session, "hookEventName": "PreToolUse",
        "transcript_path": "", "tool_name": "run_in_terminal", "tool_input": call.arguments(), "tool_use_id": call.id.as_str(),
    }
}

fn go_on(occasion: Occasion, prompt: &str) -> Object {
    if occasion == Occasion::SubagentStop {
        return claude::go_on(occasion, prompt);
    }
    object! { "hookSpecificOutput": object! { "hookEventName": "Stop", "decision": "block", "reason": prompt } }
}
