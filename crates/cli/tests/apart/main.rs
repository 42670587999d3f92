//! A server that decides, as an account of its own; guards and hooks as the account of an agent, which has a shell.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

mod guarded;
mod hooked;
mod http;
mod keys;
mod played;
mod setup;
mod team;
mod tricks;

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use proofmark_receipt::{Json, Object};
use proofmark_testing::Home;
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guard/server.py");

/// Accounts without a name: the server's, the agent's, and another agent's.
const JUDGE: u32 = 60_001;
const AGENT: u32 = 60_002;
const OTHER: u32 = 60_003;
const ROOT: u32 = 0;

/// Reads are allowed where another account or another host decides.
const POLICY: &str = "
version: 1
tools:
  - {tool: [read, big], class: generic, reads: true}
  - {tool: write, class: record_mutation, target: path}
boundaries:
  - id: reads
    match: {action_class: generic, surface: mcp}
    require:
      - fact: agent.separation in ['account', 'host']
  - id: files
    match: {action_class: generic, surface: host}
    deny:
      - when: action.paths.exists(path, path.startsWith('/etc/'))
        reason: {code: outside, message: This file is outside the project.}
  - id: writes
    match: {action_class: record_mutation}
    require:
      - approval: {role: owner}
  - id: commands
    match: {action_class: system_change}
    require:
      - fact: agent.separation == 'account' && agent.account == '60002' && agent.id == '60002/coder'
      - fact: action.args.command == 'ls'
";

/// A folder for all accounts, below which the server and the agent have folders of their own.
struct Place {
    folder: TempDir,
    home: Home,
}

/// A server that decides, by a socket.
struct Judge {
    child: Child,
    socket: PathBuf,
}

/// A process that was started as an account, and is spoken with.
struct Conversation {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Place {
    /// `None` after a skip: only root starts processes of other accounts.
    fn new() -> Option<Self> {
        if fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own)).unwrap() != ROOT {
            proofmark_testing::skip("root", "only root starts processes of other accounts");
            return None;
        }
        let folder = TempDir::new().unwrap();
        let home = Home::in_file_at(folder.path().join("judge"));
        let place = Self { folder, home };
        open(place.folder.path());
        // An account that could replace the program would decide.
        // By another process: a program that this one has open for writing, others that it starts meanwhile hold open too.
        assert!(Command::new("cp").arg("-p").arg(BINARY).arg(place.at("proofmark")).status().unwrap().success());
        // Other accounts need not reach the folder of the tests.
        fs::copy(SERVER, place.at("server.py")).unwrap();
        open(&place.at("server.py"));
        for (name, account) in [("judge", JUDGE), ("run", JUDGE), ("agent", AGENT), ("other", OTHER)] {
            fs::create_dir_all(place.at(name)).unwrap();
            chown(place.at(name), Some(account), Some(account)).unwrap();
            fs::set_permissions(place.at(name), Permissions::from_mode(0o700)).unwrap();
        }
        open(&place.at("run"));
        place.write_policy(POLICY);
        Some(place)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The script of the guarded server.
    fn server(&self) -> String {
        self.at("server.py").display().to_string()
    }

    fn write_policy(&self, text: &str) {
        // As a whole: the server looks at it at any time.
        fs::write(self.at("next.yaml"), text).unwrap();
        fs::set_permissions(self.at("next.yaml"), Permissions::from_mode(0o644)).unwrap();
        fs::rename(self.at("next.yaml"), self.at("policy.yaml")).unwrap();
    }

    fn address(&self) -> String {
        format!("unix:{}", self.at("run/socket").display())
    }

    /// A command of an account, in its own folder and with nothing of the test's environment but the path.
    fn command(&self, account: u32, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        let folder = match account {
            JUDGE => "judge",
            OTHER => "other",
            _ => "agent",
        };
        command.uid(account).gid(account).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.at(folder)).current_dir(self.at(folder));
        command
    }

    fn proofmark(&self, account: u32) -> Command {
        self.command(account, self.at("proofmark"))
    }

    /// What the owner of the server does.
    fn judge(&self, arguments: &[&str]) -> Output {
        self.proofmark(JUDGE).envs(self.home.variables()).args(arguments).output().unwrap()
    }

    /// A person whose approvals count, with a key that the server's account keeps.
    fn add_reviewer(&self) {
        assert!(self.judge(&["key", "new", "reviewer"]).status.success());
        let mut add = self.proofmark(ROOT);
        add.envs(self.home.variables()).args(["reviewer", "add", "ann", "--key", "reviewer", "--role", "owner"]);
        let added = add.arg("--policy").arg(self.at("policy.yaml")).output().unwrap();
        assert!(added.status.success(), "{added:?}");
        fs::set_permissions(self.at("policy.yaml"), Permissions::from_mode(0o644)).unwrap();
    }

    fn serve(&self) -> Judge {
        self.serve_with(&[])
    }

    fn serve_with(&self, options: &[&str]) -> Judge {
        let socket = self.at("run/socket");
        let mut command = self.proofmark(JUDGE);
        command.envs(self.home.variables()).args(["serve", "--no-verify", "--policy"]).arg(self.at("policy.yaml"));
        command.arg("--socket").arg(&socket).args(options).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut noted = String::new();
        while !noted.contains("deciding for guards and hooks") {
            assert!(stderr.read_line(&mut noted).unwrap() > 0, "{noted}");
        }
        // It goes on to write, and must not wait for a reader.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Judge { child, socket }
    }

    /// A guarded server of this account, with its tools listed.
    fn guard(&self, account: u32, session: &str) -> Conversation {
        let mut command = self.proofmark(account);
        command.args(["guard", "--server", &self.address(), "--session", session, "--name", "lenient"]);
        command.args(["--agent", "coder", "--", "python3", &self.server(), "effects"]);
        let mut guard = Conversation::of(&mut command);
        guard.ask(LIST);
        guard
    }

    /// The newest decision of the server's own tenant.
    fn last_decision(&self) -> Object {
        let listed = self.judge(&["decision", "list", "--json", "-n", "1"]);
        let Ok(Json::Object(decision)) = Json::parse(listed.stdout.trim_ascii()) else { panic!("{listed:?}") };
        let shown = self.judge(&["decision", "show", text(&decision, "decision_id"), "--json"]);
        let Ok(Json::Object(shown)) = Json::parse(shown.stdout.trim_ascii()) else { panic!("{shown:?}") };
        shown
    }
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#;

impl Judge {
    /// The status and the body of the answer to a request of the test's own account, which is root.
    fn request(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let (status, _, body) = exchange(UnixStream::connect(&self.socket).unwrap(), method, path, &[], body);
        (status, body)
    }

    /// Ends it without a chance to do anything.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Conversation {
    fn of(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout }
    }

    fn ask(&mut self, line: &str) -> String {
        self.stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).unwrap();
        answer
    }

    fn call(&mut self, id: u32, tool: &str) -> String {
        self.ask(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"path":"a"}}}}}}"#
        ))
    }

    fn end(mut self) {
        drop(self.stdin);
        assert!(self.child.wait().unwrap().success());
    }
}

/// Asks once by this connection; the status, the head and the body of the answer.
fn exchange(
    mut stream: impl Read + Write,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> (u16, String, String) {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    let about = ["Content-Type: application/json".to_owned(), format!("Content-Length: {}", body.len())];
    let host = if headers.iter().any(|header| header.starts_with("Host: ")) { "" } else { "Host: localhost\r\n" };
    head.push_str(host);
    let headers = headers.iter().copied().chain(about.iter().map(String::as_str));
    headers.for_each(|header| head.extend([header, "\r\n"]));
    // A server that refuses does not read all of it.
    drop(stream.write_all(format!("{head}\r\n{body}").as_bytes()));
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap(), head.to_owned(), body.to_owned())
}

fn open(folder: &Path) {
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
}

fn text<'a>(object: &'a Object, name: &str) -> &'a str {
    object.get(name).and_then(Json::as_str).unwrap_or_else(|| panic!("`{name}` in {}", object.to_text()))
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A member of what a decision is bound to.
fn bound(decision: &Object, name: &str) -> String {
    let receipt = decision.get("receipt").and_then(Json::as_object).unwrap_or(decision);
    text(receipt.get("binding").and_then(Json::as_object).unwrap(), name).to_owned()
}
