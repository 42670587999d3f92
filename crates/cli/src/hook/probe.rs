//! Calls that a policy should forbid, given to the installed hook in the way of its host.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use proofmark_receipt::{Json, Object, object};

use super::answer::Answer;
use super::config_file::Installed;
use super::host::TIMEOUT_SECONDS;
use super::run_bounded;
use crate::hook::HostName;
use crate::shell_words;

/// The id of the session in which the calls are recorded.
const SESSION: &str = "proofmark-doctor";

/// Shell commands that make the marker file, `{}`: a plain one, and some that policies for agents refuse.
pub(super) const MARKERS: [&str; 4] =
    ["touch {}", "bash -c 'touch {}'", "python3 -c 'open(\"{}\", \"w\")'", "curl -o {} http://127.0.0.1:9/"];

/// What is asked of a hook.
pub(super) struct Probe<'a> {
    pub(super) host: HostName,
    pub(super) installed: &'a Installed,
    /// The folder in which the host would start the hook.
    pub(super) folder: &'a Path,
}

impl Probe<'_> {
    /// What the hook answers to a call of the shell.
    pub(super) fn shell(&self, command: &str) -> Answer {
        self.ask(event(self.host, command, self.folder).to_text().as_bytes())
    }

    /// What the hook answers to an input that cannot be read.
    pub(super) fn garbage(&self) -> Answer {
        self.ask(b"{\"hook_event_name\":")
    }

    fn ask(&self, input: &[u8]) -> Answer {
        let mut command = started(self.host, self.installed);
        command.current_dir(self.folder);
        match run_bounded::run(&mut command, input, Duration::from_secs(TIMEOUT_SECONDS)) {
            Ok(ended) => self.host.reads(&ended),
            Err(error) => Answer::Failed(format!("it cannot be started: {error}")),
        }
    }
}

/// The command as the host starts it: Claude Code and opencode the program itself, the others a shell.
fn started(host: HostName, installed: &Installed) -> Command {
    let has_arguments = installed.hook.contains("args") || host == HostName::Opencode;
    if let (true, Some((program, arguments))) = (has_arguments, installed.command.split_first()) {
        let mut command = Command::new(program);
        command.args(arguments);
        return command;
    }
    let line = ["command", "bash"].iter().find_map(|name| installed.hook.get(name)?.as_str().map(str::to_owned));
    let line = line.unwrap_or_else(|| shell_words::line(&installed.command));
    let user_shell = || std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let mut command = match host {
        HostName::Codex => Command::new(user_shell().unwrap_or_else(|| "/bin/sh".into())),
        HostName::Gemini | HostName::Copilot => Command::new("bash"),
        HostName::Claude | HostName::Vscode | HostName::Cursor | HostName::Opencode => Command::new("/bin/sh"),
    };
    command.arg("-c").arg(line);
    command
}

/// A call of the shell, as the host tells its hooks before it.
pub(super) fn event(host: HostName, command: &str, folder: &Path) -> Json {
    let folder = folder.display().to_string();
    let call = format!("doctor-{}", std::process::id());
    let arguments = object! { "command": command, "description": "proofmark hook doctor" };
    let now = proofmark_verifier::now().to_string();
    let common = |event: &str, tool: &str| {
        object! {
            "session_id": SESSION, "transcript_path": "", "cwd": folder.as_str(), "hook_event_name": event,
            "tool_name": tool, "tool_input": arguments.clone(),
        }
    };
    let with = |mut event: Object, more: Object| {
        more.iter().for_each(|(name, value)| drop(event.insert(name, value.clone())));
        event
    };
    let event = match host {
        HostName::Claude => {
            with(common("PreToolUse", "Bash"), object! { "permission_mode": "default", "tool_use_id": call })
        }
        HostName::Codex => with(
            common("PreToolUse", "Bash"),
            object! { "turn_id": SESSION, "model": SESSION, "permission_mode": "default", "tool_use_id": call },
        ),
        HostName::Gemini => with(common("BeforeTool", "run_shell_command"), object! { "timestamp": now }),
        HostName::Copilot => with(common("PreToolUse", "Bash"), object! { "timestamp": now }),
        HostName::Vscode => object! {
            "timestamp": now, "cwd": folder, "sessionId": SESSION, "hookEventName": "PreToolUse",
            "transcript_path": "", "tool_name": "run_in_terminal", "tool_input": arguments, "tool_use_id": call,
        },
        HostName::Cursor => with(
            common("preToolUse", "Shell"),
            object! {
                "conversation_id": SESSION, "generation_id": call.as_str(), "cursor_version": "3.0.0",
                "workspace_roots": vec![Json::from(folder.as_str())], "tool_use_id": call.as_str(),
            },
        ),
        HostName::Opencode => object! {
            "protocol": 1, "event": "tool.execute.before", "tool": "bash", "sessionID": SESSION, "callID": call,
            "args": arguments, "directory": folder,
        },
    };
    event.into()
}
