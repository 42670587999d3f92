//! `proofmark hook` as hosts start it: one process for each event.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

mod calls;
mod entries;
mod failures;
mod identity;
mod launch;
mod lost;
mod origins;
mod stops;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use proofmark_hosts::{Host, Occasion, SampleCall};
use proofmark_testing::Home;
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");

const POLICY: &str = "
version: 1
tools:
  - {tool: list_notes, server: notes, class: generic, reads: true}
boundaries:
  - id: reads
    match: {action_class: generic, surface: host}
    deny:
      - when: action.paths.exists(path, path.startsWith('/etc/'))
        reason: {code: outside, message: This file is outside the project.}
  - id: servers
    match: {action_class: generic, surface: mcp}
  - id: commands
    match: {action_class: system_change}
    deny:
      - when: taint.exists(sign, sign.signal == 'prompt_injection')
        reason: {code: steered, message: The agent has read a text that gives orders.}
    require:
      - fact: action.tool == 'shell' && action.args.command == 'ls'
  - id: writes
    match: {action_class: record_mutation}
    require:
      - approval: {role: owner}
";

const SPECIFIC: &str =
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":""#;

/// The event before a call of the shell, as a host tells it; each call has a session of its own.
fn before(host: &Host, command: &str, folder: &str, session: &'static str) -> String {
    let call = SampleCall {
        command: command.to_owned(),
        folder: folder.to_owned(),
        session,
        id: format!("call-of-{session}"),
        now: "2026-01-02T03:04:05Z".to_owned(),
    };
    host.events.sample(&call).to_text()
}

/// How the answer begins by which a call is refused in a host.
fn refusal(host: &Host) -> String {
    let answer = host.answers.deny(Occasion::BeforeTool, "|");
    answer.as_str().split('|').next().unwrap().to_owned()
}

/// A folder with a policy and a store.
struct Place {
    folder: TempDir,
    home: Home,
    /// What makes the clock of its programs wrong.
    clock: Vec<(String, String)>,
}

impl Place {
    fn new() -> Self {
        Self::with(POLICY)
    }

    fn with(policy: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let home = Home::at(folder.path().join("home"));
        Self::of(folder, home, policy)
    }

    fn of(folder: TempDir, home: Home, policy: &str) -> Self {
        let place = Self { folder, home, clock: Vec::new() };
        place.write("policy.yaml", policy);
        place
    }

    /// Makes a key, and lists it in the policy as the owner's.
    fn add_reviewer(&self) {
        self.said(&["key", "new", "reviewer"]);
        self.said(&["reviewer", "add", "ann", "--key", "reviewer", "--role", "owner", "--policy", "policy.yaml"]);
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(self.folder.path()).envs(self.home.variables());
        command.envs(self.clock.iter().cloned());
        if let Some(database) =
            self.home.database().filter(|_| arguments.first() == Some(&"hook") && !arguments.contains(&"--store"))
        {
            // A hook reads no variable for this.
            command.args(["--store", &database.url()]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn proofmark(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Standard output of a command that succeeds.
    fn said(&self, arguments: &[&str]) -> String {
        let output = self.proofmark(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn begin(&self, host: &str, event: &[u8], options: &[&str]) -> Child {
        // Not the default: on a machine with much to do, a decision takes longer.
        let fixed = ["hook", host, "--policy", "policy.yaml", "--deadline", "30s"];
        let mut child = self.command(&[&fixed[..], options].concat()).spawn().unwrap();
        // It may answer before it has read all.
        drop(child.stdin.take().unwrap().write_all(event));
        child
    }

    /// What a hook answers; the exit code is 0.
    fn hook_with(&self, host: &str, event: &str, options: &[&str]) -> String {
        let output = self.begin(host, event.as_bytes(), options).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{event}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn hook(&self, host: &str, event: &str) -> String {
        self.hook_with(host, event, &[])
    }

    /// A decision in Claude Code.
    fn claude(&self, tool: &str, input: &str, id: &str) -> String {
        self.hook("claude", &claude("PreToolUse", tool, input, id))
    }

    fn findings(&self) -> String {
        let listed = String::from_utf8(self.proofmark(&["finding", "list"]).stdout).unwrap();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        listed.lines().skip(1).map(|line| format!("{}\n", words(line))).collect()
    }

    fn decisions(&self) -> usize {
        self.said(&["decision", "list", "--json"]).lines().count()
    }
}

/// An event of Claude Code.
fn claude(event: &str, tool: &str, input: &str, id: &str) -> String {
    format!(
        r#"{{"session_id":"s1","cwd":"/srv/repo","hook_event_name":"{event}","tool_name":"{tool}","tool_input":{input},"tool_use_id":"{id}","tool_response":{{"stdout":"ok"}}}}"#
    )
}
