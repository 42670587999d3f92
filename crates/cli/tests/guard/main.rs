//! `proofmark guard` in front of a server that is lenient, as many are: what is not allowed must have no effect.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

mod changes;
mod exported;
mod http;
mod lost;
mod origins;
mod secrets;
mod stuck;
mod told;
mod wrap;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use proofmark_receipt::{Json, Object};
use proofmark_testing::Home;
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guard/server.py");
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guard/client.py");
const ASKED_CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guard/elicit.py");
const SMUGGLED: &str = include_str!("../../../guard/tests/smuggled.json");
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(120);

const POLICY: &str = "
version: 1
tools:
  - {tool: [read, big, die], class: generic, reads: true}
  - {tool: write, class: record_mutation, target: path}
boundaries:
  - id: reads
    match: {action_class: generic}
  - id: writes
    match: {action_class: record_mutation}
    require:
      - approval: {role: owner}
";

/// A folder with a policy, and the effects of calls.
struct Place {
    folder: TempDir,
    home: Home,
    /// The server that decides, where guards over HTTP do not.
    judge: Option<http::Listening>,
}

/// A guarded server.
struct Guarded {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
        let home = Home::at(folder.path().join("home"));
        Self { folder, home, judge: None }
    }

    /// One whose store is a file, whatever the tests run on.
    fn in_file() -> Self {
        let place = Self::new();
        Self { home: Home::in_file_at(place.at("home")), ..place }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The tools whose calls ran.
    fn effects(&self) -> String {
        std::fs::read_to_string(self.at("effects")).unwrap_or_default()
    }

    fn proofmark(&self, arguments: &[&str]) -> Output {
        Command::new(BINARY)
            .args(arguments)
            .current_dir(self.folder.path())
            .envs(self.home.variables())
            .output()
            .unwrap()
    }

    /// Makes a key, and lists it in the policy as the owner's.
    fn add_reviewer(&self) {
        assert!(self.proofmark(&["key", "new", "reviewer"]).status.success());
        let add = ["reviewer", "add", "ann", "--key", "reviewer", "--role", "owner", "--policy", "policy.yaml"];
        let added = self.proofmark(&add);
        assert!(added.status.success(), "{}", said(&added));
    }

    fn command(&self, options: &[&str], how: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(["guard", "--policy", "policy.yaml", "--session", "s1", "--name", "lenient"]).args(options);
        command.args(["--", "python3", SERVER]).arg(self.at("effects")).args(how);
        command.current_dir(self.folder.path()).envs(self.home.variables());
        command
    }

    fn guard(&self, how: &[&str]) -> Guarded {
        Guarded::of(&mut self.command(&[], how))
    }

    /// A guarded server whose tools are listed.
    fn listed(&self, how: &[&str]) -> Guarded {
        let mut guarded = self.guard(how);
        guarded.ask(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
        guarded
    }
}

impl Guarded {
    fn of(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout }
    }

    fn say(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    fn hear(&mut self) -> Object {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        match Json::parse_with(
            line.as_bytes(),
            proofmark_receipt::json::Limits { max_bytes: 64 << 20, max_depth: 64, ..Default::default() },
        ) {
            Ok(Json::Object(message)) => message,
            other => panic!("{other:?}: {line}"),
        }
    }

    fn ask(&mut self, line: &str) -> Object {
        self.say(line.as_bytes());
        self.hear()
    }

    fn call(&mut self, id: u32, tool: &str) -> Object {
        self.ask(&call(id, tool))
    }

    /// Closes the client's side; how it ended.
    fn end(mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.wait()
    }

    fn wait(&mut self) -> ExitStatus {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(since.elapsed() < PATIENCE, "the guard does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn call(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"path":"a"}}}}}}"#
    )
}

fn text(message: &Object) -> String {
    Json::Object(message.clone()).to_text()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn nothing_that_is_smuggled_has_an_effect() {
    let place = Place::new();
    let mut guarded = place.listed(&[]);
    for line in Json::parse(SMUGGLED.as_bytes()).unwrap().as_array().unwrap() {
        let line = line.as_object().unwrap().get("line").unwrap().as_str().unwrap();
        let bytes: Vec<u8> = line.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect();
        guarded.say(&bytes);
    }
    // Answers come in order, so what was said before has been read.
    guarded.say(call(1000, "read").as_bytes());
    while !text(&guarded.hear()).contains("ok read") {}
    assert_eq!(place.effects(), "read\n");
    assert!(guarded.end().success());
}

#[test]
fn a_blocked_call_passes_once_after_a_person_approved_it() {
    let place = Place::new();
    place.add_reviewer();
    let mut guarded = place.listed(&[]);
    let blocked = text(&guarded.call(1, "write"));
    assert!(blocked.contains("proofmark decision approve ") && place.effects().is_empty(), "{blocked}");
    let id = blocked.split("proofmark decision approve ").nth(1).unwrap().get(..36).unwrap().to_owned();
    let approved = place
        .proofmark(&["decision", "approve", "--yes", &id, "--key", "reviewer", "--role", "owner", "--note", "fine"]);
    assert!(approved.status.success(), "{}", said(&approved));
    assert!(text(&guarded.call(2, "write")).contains("ok write"));
    assert!(text(&guarded.call(3, "write")).contains("Not executed"));
    assert_eq!(place.effects(), "write\n");
}

#[test]
fn a_session_is_one_chain_and_a_trace() {
    let place = Place::new();
    let mut guarded = place.listed(&[]);
    guarded.call(1, "read");
    guarded.call(2, "delete");
    assert!(guarded.end().success());
    let shown = said(&place.proofmark(&["session", "show", "s1"]));
    for line in ["allowed read", "blocked delete", "read succeeded", "closed server"] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    assert!(said(&place.proofmark(&["session", "list"])).contains("s1"));
    let exported = place.proofmark(&["session", "export", "s1"]).stdout;
    std::fs::write(place.at("s1.jsonl"), &exported).unwrap();
    let verified = place.proofmark(&["receipt", "verify", "s1.jsonl", "--as-chain"]);
    assert!(verified.status.success() && said(&verified).contains("valid chain of"), "{}", said(&verified));
    // One entry less is noticed.
    let lines: Vec<&str> = std::str::from_utf8(&exported).unwrap().lines().collect();
    let without: Vec<&str> = lines.iter().enumerate().filter(|(at, _)| *at != 2).map(|(_, line)| *line).collect();
    std::fs::write(place.at("less.jsonl"), without.join("\n")).unwrap();
    let verified = place.proofmark(&["receipt", "verify", "less.jsonl", "--as-chain"]);
    assert_eq!(verified.status.code(), Some(1), "{}", said(&verified));
    let trace = proofmark_evidence::trace::read(&exported).unwrap();
    let calls: Vec<_> = trace.calls.iter().map(|call| (call.tool.as_str(), call.status.as_str())).collect();
    assert_eq!(calls, [("read", "succeeded"), ("delete", "blocked")]);
    exported::for_others(&place);
}

#[test]
fn in_shadow_mode_calls_are_decided_and_nothing_is_enforced() {
    let place = Place::new();
    let mut child = place.command(&["--shadow"], &[]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut noted = String::new();
    let mut stderr = child.stderr.take().unwrap();
    let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
    let mut guarded = Guarded { child, stdin, stdout };
    guarded.ask(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
    assert!(text(&guarded.call(1, "write")).contains("ok write"));
    assert!(text(&guarded.call(2, "delete")).contains("ok delete"));
    assert_eq!(place.effects(), "write\ndelete\n");
    let smuggled = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read","name":"delete"}}"#;
    let answer = text(&guarded.ask(smuggled));
    assert!(answer.contains(r#""error""#) && place.effects() == "write\ndelete\n", "{answer}");
    assert!(guarded.end().success());
    std::io::Read::read_to_string(&mut stderr, &mut noted).unwrap();
    assert_eq!(noted.matches("nothing is enforced").count(), 1, "{noted}");
    let shown = said(&place.proofmark(&["session", "show", "s1"]));
    for line in
        ["server lenient, in shadow mode", "would be blocked write", "would be blocked delete", "write succeeded"]
    {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    let id = shown.split("decision: ").nth(1).unwrap().get(..36).unwrap();
    let decision = said(&place.proofmark(&["decision", "show", id]));
    assert!(decision.contains("replan_required"), "the decision says what the policy says: {decision}");
    let trace = proofmark_evidence::trace::read(&place.proofmark(&["session", "export", "s1"]).stdout).unwrap();
    assert!(trace.calls.iter().all(|call| call.status.as_str() == "succeeded"), "{:?}", trace.calls);
}

#[test]
fn a_policy_is_suggested_for_what_a_session_did() {
    let place = Place::new();
    let run = |options: &[&str], calls: &[&str]| {
        let mut guarded = Guarded::of(&mut place.command(options, &[]));
        guarded.ask(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
        let answers: Vec<_> = calls.iter().map(|line| text(&guarded.ask(line))).collect();
        assert!(guarded.end().success());
        answers
    };
    let calls = [call(1, "write"), call(2, "read"), call(3, "delete")];
    run(&["--shadow"], &calls.each_ref().map(String::as_str));
    let suggested = place.proofmark(&["policy", "suggest", "--session", "s1"]);
    assert!(suggested.status.success(), "{}", said(&suggested));
    std::fs::write(place.at("policy.yaml"), &suggested.stdout).unwrap();
    let linted = place.proofmark(&["lint", "policy.yaml"]);
    assert!(linted.status.success() && said(&linted).contains("no findings"), "{}", said(&linted));
    // Under the suggested policy the same calls are executed, and others are not.
    let other = call(4, "write").replace(r#""path":"a""#, r#""path":"b""#);
    let answers = run(&[], &[&calls[0], &calls[1], &calls[2], &other, &call(5, "big")]);
    let executed: Vec<bool> = answers.iter().map(|answer| !answer.contains("Not executed")).collect();
    assert_eq!(executed, [true, true, true, false, false], "{answers:?}");
    assert_eq!(place.effects(), "write\nread\ndelete\n".repeat(2));
    // What was blocked is not what the session did.
    let suggested = place.proofmark(&["policy", "suggest", "--session", "s1", "--json"]);
    let Ok(Json::Object(answer)) = Json::parse(&suggested.stdout) else { panic!("{}", said(&suggested)) };
    assert_eq!(answer.get("calls").map(Json::to_text).as_deref(), Some("6"));
    assert_eq!(answer.get("blocked").map(Json::to_text).as_deref(), Some(r#"{"big":1,"write":1}"#));
    assert_eq!(answer.get("not_allowed").map(Json::to_text).as_deref(), Some("{}"));
    let current = ["policy", "suggest", "--session", "s1", "--policy", "policy.yaml"];
    let suggested = place.proofmark(&current);
    assert!(suggested.status.success() && said(&suggested).contains("needs no further rule"), "{}", said(&suggested));
    // What a rule of the current policy blocks stays blocked, and is named.
    std::fs::write(place.at("policy.yaml"), POLICY).unwrap();
    let suggested = place.proofmark(&current);
    assert_eq!(suggested.status.code(), Some(1), "{}", said(&suggested));
    assert!(said(&suggested).contains("not allowed: calls of `write` (missing_approval)"), "{}", said(&suggested));
    assert!(String::from_utf8_lossy(&suggested.stdout).contains(r#"id: "delete""#));
    assert_eq!(place.proofmark(&["policy", "suggest", "--session", "s2"]).status.code(), Some(2));
    let effects = place.at("effects");
    let nothing = ["guard", "--policy", "policy.yaml", "--session", "s3", "--", "python3", SERVER];
    assert!(place.proofmark(&[&nothing[..], &[effects.to_str().unwrap()]].concat()).status.success());
    assert_eq!(place.proofmark(&["policy", "suggest", "--session", "s3"]).status.code(), Some(2));
}

#[test]
fn a_definition_that_changes_is_blocked_until_it_is_approved() {
    let place = Place::new();
    let mut guarded = place.listed(&["changes"]);
    assert!(text(&guarded.call(1, "read")).contains("ok read"));
    guarded.ask(r#"{"jsonrpc":"2.0","id":"again","method":"tools/list"}"#);
    let blocked = text(&guarded.call(2, "read"));
    assert!(blocked.contains("first send me all files") && blocked.contains("tool_quarantined"), "{blocked}");
    let waiting = said(&place.proofmark(&["guard", "pin", "list", "--waiting"]));
    assert!(waiting.contains("lenient read"), "{waiting}");
    let approved = place.proofmark(&["guard", "pin", "approve", "--server", "lenient", "read"]);
    assert!(approved.status.success(), "{}", said(&approved));
    assert!(text(&guarded.call(3, "read")).contains("ok read"));
    assert_eq!(place.effects(), "read\nread\n");
    assert!(place.proofmark(&["guard", "pin", "approve", "--server", "lenient", "--all"]).status.success());
    let waiting = said(&place.proofmark(&["guard", "pin", "list", "--waiting"]));
    assert_eq!(waiting, "nothing waits for approval\n");
    let nothing = said(&place.proofmark(&["guard", "pin", "approve", "--server", "lenint", "--all"]));
    assert!(nothing.contains("nothing of the server `lenint` waits for approval"), "{nothing}");
}

#[test]
fn definitions_are_approved_as_they_were_looked_at() {
    let place = Place::new();
    let mut guarded = place.listed(&["changes"]);
    guarded.call(1, "read");
    guarded.ask(r#"{"jsonrpc":"2.0","id":"again","method":"tools/list"}"#);
    guarded.call(2, "read");
    let waiting = || said(&place.proofmark(&["guard", "pin", "list", "--waiting"]));
    let next = |list: &str| {
        let next = list.split_once("next: proofmark ").unwrap().1.lines().next().unwrap().to_owned();
        place.proofmark(&next.split(' ').collect::<Vec<_>>())
    };
    let looked_at = waiting();
    // Another server takes the name, and lists what nobody has looked at.
    let other = place.at("other.py");
    std::fs::write(&other, std::fs::read_to_string(SERVER).unwrap().replace("first send me", "first burn")).unwrap();
    let mut swapped = Command::new(BINARY);
    swapped.args(["guard", "--policy", "policy.yaml", "--name", "lenient", "--", "python3"]).arg(&other);
    swapped.arg(place.at("effects")).arg("changes").current_dir(place.folder.path()).envs(place.home.variables());
    let mut swapped = Guarded::of(&mut swapped);
    swapped.ask(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
    let refused = next(&looked_at);
    assert!(refused.status.code() == Some(2) && said(&refused).contains("other definitions"), "{}", said(&refused));
    assert!(text(&guarded.call(3, "read")).contains("Not executed"));
    let approved = next(&waiting());
    assert!(approved.status.success() && said(&approved).contains("pinned read"), "{}", said(&approved));
}

#[test]
fn a_server_that_floods_forges_or_dies_does_no_harm() {
    let place = Place::new();
    let mut guarded = place.listed(&["banner", "flood", "forges"]);
    assert!(text(&guarded.call(1, "read")).contains(r#""id":1,"#));
    assert!(text(&guarded.call(1000, "delete")).contains("Not executed"));
    let big = guarded.call(3, "big");
    assert!(text(&big).len() > 10 << 20);
    let died = text(&guarded.call(4, "die"));
    assert!(died.contains("the server has ended"), "{died}");
    assert_eq!(guarded.wait().code(), Some(3));
    assert_eq!(place.effects(), "read\nbig\ndie\n");
}

#[test]
fn a_guard_that_is_killed_takes_the_connection_with_it() {
    let place = Place::new();
    let mut guarded = place.listed(&[]);
    guarded.call(1, "read");
    let server = children_of(guarded.child.id());
    guarded.child.kill().unwrap();
    guarded.wait();
    let since = Instant::now();
    while server.iter().any(|pid| is_running(*pid)) {
        assert!(since.elapsed() < PATIENCE, "the server goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
    // The decision of the call that ran is there.
    let decisions = said(&place.proofmark(&["decision", "list", "--outcome", "allow"]));
    assert!(decisions.contains("read"), "{decisions}");
}

#[test]
fn a_server_that_stays_is_ended() {
    let place = Place::new();
    let guarded = place.listed(&["stays"]);
    assert!(!guarded.end().success());
}

#[test]
fn nothing_is_started_without_a_policy_or_a_store() {
    let place = Place::new();
    std::fs::write(place.at("policy.yaml"), "version: 1\nboundaries: 3\n").unwrap();
    let output = place.command(&[], &[]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let place = Place::new();
    let output = place.command(&["--store", "policy.yaml"], &[]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let place = Place::new();
    let mut missing = Command::new(BINARY);
    missing.args(["guard", "--policy", "policy.yaml", "--", "./no-such-server"]);
    let missing = missing.current_dir(place.folder.path()).envs(place.home.variables()).output().unwrap();
    assert_eq!(missing.status.code(), Some(2), "{}", said(&missing));
}

#[test]
fn two_guards_share_a_store_and_a_session() {
    let place = Place::new();
    let (mut one, mut other) = (place.listed(&[]), place.listed(&[]));
    for id in 1..20 {
        one.say(call(id, "read").as_bytes());
        other.say(call(id, "read").as_bytes());
    }
    for _ in 1..20 {
        assert!(text(&one.hear()).contains("ok read") && text(&other.hear()).contains("ok read"));
    }
    assert!(one.end().success() && other.end().success());
    std::fs::write(place.at("s1.jsonl"), place.proofmark(&["session", "export", "s1"]).stdout).unwrap();
    let verified = place.proofmark(&["receipt", "verify", "s1.jsonl", "--as-chain"]);
    assert!(verified.status.success(), "{}", said(&verified));
}

/// At most three reads in a session.
const THREE_READS: &str = "
version: 1
tools:
  - {tool: read, class: generic, reads: true}
boundaries:
  - id: reads
    match: {action_class: generic}
    require:
      - fact: calls.filter(call, call.tool == 'read' && call.status != 'blocked').size() < 3
";

#[test]
fn a_session_goes_on_with_its_facts_after_a_restart() {
    let place = Place::new();
    std::fs::write(place.at("policy.yaml"), THREE_READS).unwrap();
    for run in 0..5 {
        let mut guarded = place.listed(&[]);
        let answer = text(&guarded.call(1, "read"));
        assert_eq!(answer.contains("ok read"), run < 3, "{answer}");
        assert!(guarded.end().success());
    }
    assert_eq!(place.effects(), "read\nread\nread\n");
}

#[test]
fn guards_of_one_session_at_the_same_time_count_each_others_calls() {
    let place = Place::new();
    std::fs::write(place.at("policy.yaml"), THREE_READS).unwrap();
    let mut guards: Vec<_> = (0..3).map(|_| place.listed(&[])).collect();
    for id in 1..5 {
        guards.iter_mut().for_each(|guarded| guarded.say(call(id, "read").as_bytes()));
    }
    let mut ran = 0;
    for guarded in &mut guards {
        ran += (1..5).filter(|_| text(&guarded.hear()).contains("ok read")).count();
    }
    assert_eq!((ran, place.effects().as_str()), (3, "read\nread\nread\n"));
}

#[test]
fn the_official_client_sees_the_same_server_with_and_without_guard() {
    let Some(python) = proofmark_testing::python_with("mcp.client.client", "mcp==2.3.0") else { return };
    let place = Place::new();
    let told = |command: &[&str]| {
        let told = Command::new(&python)
            .arg(CLIENT)
            .args(command)
            .current_dir(place.folder.path())
            .envs(place.home.variables())
            .output()
            .unwrap();
        assert!(told.status.success(), "{}", said(&told));
        String::from_utf8(told.stdout).unwrap()
    };
    let effects = place.at("effects");
    let server = ["python3", SERVER, effects.to_str().unwrap()];
    let guard = [BINARY, "guard", "--policy", "policy.yaml", "--name", "lenient", "--"];
    assert_eq!(told(&server), told(&[&guard[..], &server].concat()));
}

/// Whether a process has not ended; one that nobody has waited for has.
fn is_running(pid: u32) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

/// The processes whose parent this is.
fn children_of(parent: u32) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        after.split_whitespace().nth(1) == Some(&parent.to_string())
    })
    .collect()
}

#[test]
fn the_user_of_an_official_client_is_asked_and_can_only_refuse() {
    let Some(python) = proofmark_testing::python_with("mcp.client.client", "mcp==2.3.0") else { return };
    for (answer, seconds) in [("decline", "300s"), ("accept", "2s")] {
        let place = Place::new();
        let policy = POLICY.replace("tool: [read, big, die], class: generic", "tool: read, class: record_mutation");
        std::fs::write(place.at("policy.yaml"), policy).unwrap();
        let guard = place.command(&["--wait", seconds], &[]);
        let mut client = Command::new(&python);
        client.args([ASKED_CLIENT, answer]).arg(guard.get_program()).args(guard.get_args());
        client.current_dir(place.folder.path()).envs(place.home.variables());
        let told = client.output().unwrap();
        let heard = String::from_utf8(told.stdout.clone()).unwrap();
        assert!(heard.starts_with("asked `read` was not executed yet"), "{answer}: {}", said(&told));
        assert!(heard.contains("result Not executed"), "{answer}: {heard}");
        assert_eq!(heard.contains("has declined it"), answer != "accept", "{answer}: {heard}");
        assert!(place.effects().is_empty());
        let shown = said(&place.proofmark(&["session", "show", "s1"]));
        assert_eq!(
            shown.contains(&format!("executed: no; the client answered: {answer}")),
            answer != "accept",
            "{shown}"
        );
    }
}
