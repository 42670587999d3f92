//! A host that is asked for the hooks that it knows: only it can tell which of them it trusts.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use proofmark_hosts::{HookServer, ListedHook, Question};
use proofmark_receipt::{Json, Object, object};

/// How long the host may take to answer.
const LIMIT: Duration = Duration::from_secs(90);
/// The most lines that are read.
const MAX_LINES: usize = 10_000;

/// A server of a host that runs for a few questions.
pub(super) struct RunningServer {
    form: &'static HookServer,
    child: Child,
    stdin: ChildStdin,
    answers: Receiver<Json>,
    asked: u64,
}

impl RunningServer {
    /// Starts the host's server. `None` if it is not on the path, or does not answer.
    pub(super) fn start(form: &'static HookServer) -> Option<Self> {
        let mut command = Command::new(form.program);
        command.args(form.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let (stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
        let (sender, answers) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().take(MAX_LINES).map_while(Result::ok);
            // What is not JSON is written for people.
            // A channel that is closed has nobody who waits.
            lines.filter_map(|line| Json::parse(line.as_bytes()).ok()).try_for_each(|answer| sender.send(answer))
        });
        let mut server = Self { form, child, stdin, answers, asked: 0 };
        let client = object! { "name": "proofmark", "title": "proofmark", "version": env!("CARGO_PKG_VERSION") };
        server.ask(Question { method: "initialize", params: object! { "clientInfo": client } })?;
        writeln!(server.stdin, "{}", Json::from(object! { "method": "initialized" }).to_text()).ok()?;
        Some(server)
    }

    fn ask(&mut self, question: Question) -> Option<Object> {
        self.asked += 1;
        let id = self.asked;
        let request = object! { "id": id, "method": question.method, "params": question.params };
        writeln!(self.stdin, "{}", Json::from(request).to_text()).ok()?;
        // Notifications and answers to nothing come in between.
        loop {
            let answer = self.answers.recv_timeout(LIMIT).ok()?;
            let Some(answer) = answer.as_object() else { continue };
            if answer.get("id").and_then(Json::as_number).and_then(|number| number.as_u64()) == Some(id) {
                return answer.get("result")?.as_object().cloned();
            }
        }
    }

    /// The hooks for agents in a folder.
    pub(super) fn hooks(&mut self, folder: &Path) -> Option<Vec<ListedHook>> {
        let listed = self.ask((self.form.list)(&folder.display().to_string()))?;
        (self.form.listed)(&listed)
    }

    /// Has the host trust hooks in the form that it listed them. Whether it does shows the next list.
    pub(super) fn trust(&mut self, hooks: &[&ListedHook]) -> Option<()> {
        self.ask((self.form.trust)(hooks)).map(drop)
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
