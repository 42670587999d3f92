//! Codex itself, asked for the hooks that it knows: only it can tell which of them are trusted.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use proofmark_receipt::{Json, Object, object};

/// How long Codex may take to answer.
const LIMIT: Duration = Duration::from_secs(90);
/// The most lines of Codex that are read.
const MAX_LINES: usize = 10_000;

/// A server of Codex that runs for a few questions.
pub(super) struct CodexServer {
    child: Child,
    stdin: ChildStdin,
    answers: Receiver<Json>,
    asked: u64,
}

/// A hook, as Codex lists it.
#[derive(Clone, Debug)]
pub(super) struct CodexHook {
    pub(super) command: String,
    /// As in the file, in another case.
    pub(super) event: String,
    pub(super) enabled: bool,
    /// `managed`, `trusted`, `untrusted` or `modified`.
    pub(super) trust: String,
    key: String,
    hash: String,
}

impl CodexServer {
    /// Starts Codex. `None` if it is not on the path, or does not answer.
    pub(super) fn start() -> Option<Self> {
        let mut command = Command::new("codex");
        command.arg("app-server").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let (stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
        let (sender, answers) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().take(MAX_LINES).map_while(Result::ok);
            // A channel that is closed has nobody who waits.
            lines.filter_map(|line| Json::parse(line.as_bytes()).ok()).try_for_each(|answer| sender.send(answer))
        });
        let mut server = Self { child, stdin, answers, asked: 0 };
        let client = object! { "name": "proofmark", "title": "proofmark", "version": env!("CARGO_PKG_VERSION") };
        server.ask("initialize", object! { "clientInfo": client })?;
        writeln!(server.stdin, "{}", Json::from(object! { "method": "initialized" }).to_text()).ok()?;
        Some(server)
    }

    fn ask(&mut self, method: &str, params: Object) -> Option<Object> {
        self.asked += 1;
        let id = self.asked;
        let request = object! { "id": id, "method": method, "params": params };
        writeln!(self.stdin, "{}", Json::from(request).to_text()).ok()?;
        loop {
            let answer = self.answers.recv_timeout(LIMIT).ok()?;
            let Some(answer) = answer.as_object() else { continue };
            if answer.get("id").and_then(Json::as_number).and_then(|number| number.as_u64()) == Some(id) {
                return answer.get("result")?.as_object().cloned();
            }
        }
    }

    /// The hooks for agents in a folder.
    pub(super) fn hooks(&mut self, folder: &Path) -> Option<Vec<CodexHook>> {
        let folders = vec![Json::from(folder.display().to_string())];
        let listed = self.ask("hooks/list", object! { "cwds": folders })?;
        let entries = listed.get("data")?.as_array()?;
        let hooks = entries.iter().filter_map(|entry| entry.as_object()?.get("hooks")?.as_array()).flatten();
        Some(hooks.filter_map(|hook| read(hook.as_object()?)).collect())
    }

    /// Has Codex trust hooks in the form that it listed them, as its own dialog does. Whether it does shows the next list.
    pub(super) fn trust(&mut self, hooks: &[&CodexHook]) -> Option<()> {
        let mut states = Object::new();
        for hook in hooks {
            states.insert(hook.key.as_str(), object! { "trusted_hash": hook.hash.as_str() });
        }
        let edit = object! { "keyPath": "hooks.state", "value": states, "mergeStrategy": "upsert" };
        self.ask("config/batchWrite", object! { "edits": vec![Json::from(edit)] }).map(drop)
    }
}

impl CodexHook {
    /// Whether it is this hook.
    pub(super) fn is(&self, event: &str, command: &str) -> bool {
        self.event.eq_ignore_ascii_case(event) && self.command == command
    }

    pub(super) fn is_trusted(&self) -> bool {
        ["trusted", "managed"].contains(&self.trust.as_str())
    }
}

impl Drop for CodexServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read(hook: &Object) -> Option<CodexHook> {
    let text = |name: &str| hook.get(name).and_then(Json::as_str).map(str::to_owned);
    Some(CodexHook {
        command: text("command")?,
        event: text("eventName")?,
        enabled: hook.get("enabled").and_then(Json::as_bool) == Some(true),
        trust: text("trustStatus").unwrap_or_default(),
        key: text("key")?,
        hash: text("currentHash")?,
    })
}
