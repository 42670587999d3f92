//! Calls that a policy should forbid, given to the installed hook in the way of its host.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use proofmark_hosts::{Host, Reading, SampleCall, Shell, TIMEOUT_SECONDS};

use super::config_file::Installed;
use super::run_bounded;
use crate::shell_words;

/// The id of the session in which the calls are recorded.
const SESSION: &str = "proofmark-doctor";

/// Shell commands that make the marker file, `{}`: a plain one, and some that policies for agents refuse.
pub(super) const MARKERS: [&str; 4] =
    ["touch {}", "bash -c 'touch {}'", "python3 -c 'open(\"{}\", \"w\")'", "curl -o {} http://127.0.0.1:9/"];

/// What is asked of a hook.
pub(super) struct Probe<'a> {
    pub(super) host: &'static Host,
    pub(super) installed: &'a Installed,
    /// The folder in which the host would start the hook.
    pub(super) folder: &'a Path,
}

impl Probe<'_> {
    /// What the hook answers to a call of the shell.
    pub(super) fn shell(&self, command: &str) -> Reading {
        let call = SampleCall {
            command: command.to_owned(),
            folder: self.folder.display().to_string(),
            session: SESSION,
            // A decision on a call of the same name would be the answer again.
            id: format!("doctor-{}", std::process::id()),
            now: proofmark_verifier::now().to_string(),
        };
        self.ask(self.host.events.sample(&call).to_text().as_bytes())
    }

    /// What the hook answers to an input that cannot be read.
    pub(super) fn garbage(&self) -> Reading {
        self.ask(b"{\"hook_event_name\":")
    }

    fn ask(&self, input: &[u8]) -> Reading {
        let mut command = started(self.host.installation.shell, self.installed);
        command.current_dir(self.folder);
        match run_bounded::run(&mut command, input, Duration::from_secs(TIMEOUT_SECONDS)) {
            Ok(output) => self.host.answers.takes(&output),
            Err(error) => Reading::Failed(format!("it cannot be started: {error}")),
        }
    }
}

/// The command as the host starts it: by a shell, unless it starts the program itself.
fn started(shell: Shell, installed: &Installed) -> Command {
    let shell = match shell {
        Shell::None => None,
        Shell::Named(program) => Some(program.into()),
        Shell::OfUser => {
            let chosen = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
            Some(chosen.unwrap_or_else(|| "/bin/sh".into()))
        }
    };
    match (shell, installed.command.split_first()) {
        (None, Some((program, arguments))) => {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
        (shell, _) => {
            let line = ["command", "bash"].iter().find_map(|name| installed.hook.get(name)?.as_str());
            let mut command = Command::new(shell.unwrap_or_else(|| "/bin/sh".into()));
            command.arg("-c").arg(line.map_or_else(|| shell_words::line(&installed.command), str::to_owned));
            command
        }
    }
}
