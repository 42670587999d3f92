//! `proofmark serve --check`, signals, and `proofmark api-key` beside a server that runs.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use proofmark_receipt::Json;
use proofmark_testing::Home;

use crate::client::{MAIL, NOTE, POLICY, text};
use crate::server::{PROOFMARK, Server, serve_by, serves_at};

fn run(home: &Home, arguments: &[&str]) -> Output {
    Command::new(PROOFMARK).args(arguments).envs(home.variables()).current_dir(home.path()).output().unwrap()
}

fn said(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim().to_owned()
}

fn add(home: &Home, id: &str, role: &str) -> String {
    let added = run(home, &["api-key", "add", "--api-keys", "keys.json", id, role]);
    assert_eq!(added.status.code(), Some(0), "{added:?}");
    said(&added.stdout)
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_signal_and_a_change_read_the_policy_again_and_nothing_ends() {
    let home = Home::new();
    let policy = home.path().join("policy.yaml");
    std::fs::copy(POLICY, &policy).unwrap();
    let server = Server::begin(serve_by(&policy, &home, &["--log-format", "json"]));
    let outcome = || text(&server.post("/v1/decisions", "", NOTE).1, "outcome");
    assert_eq!(outcome(), "allow");
    server.signal("-HUP");
    server.said("the file has not changed");
    let closed = "version: 1\nboundaries:\n  - id: none\n    match: {}\n    deny:\n      - {when: 'true', reason: {code: closed, message: closed}}\n";
    std::fs::write(&policy, closed).unwrap();
    server.said("what it says is in force");
    assert_ne!(outcome(), "allow");
    std::fs::write(&policy, "version: 1\nboundarys: []\n").unwrap();
    server.signal("-HUP");
    server.said("cannot use the file");
    server.until(|status| status.contains(r#""stale":["action_policy"]"#));
    assert_ne!(outcome(), "allow");
    server.signal("-TERM");
    let (code, log) = server.ended();
    assert_eq!(code, Some(0));
    let events: Vec<Json> = log.lines().map(|line| Json::parse(line.as_bytes()).unwrap()).collect();
    let event = |message: &str| {
        let found = events.iter().find(|event| text(event, "message").contains(message));
        found.unwrap_or_else(|| panic!("no `{message}` in {log}")).clone()
    };
    let swapped = event("what it says is in force");
    assert_ne!(text(&swapped, "old"), text(&swapped, "new"));
    assert!(text(&swapped, "new").starts_with("sha256:"));
    let failed = event("cannot use the file");
    assert_eq!(text(&failed, "level"), "ERROR");
    assert!(
        text(&failed, "cause").contains("policy.yaml:2:1") && text(&failed, "help").contains("boundaries"),
        "{log}"
    );
    let decided = event("decided");
    assert!(["decision", "outcome", "action", "policy"].iter().all(|name| !text(&decided, name).is_empty()), "{log}");
    // The decision and the answer are of one request.
    let id = |event: &Json| text(event.as_object().unwrap().get("span").unwrap(), "id");
    assert!(events.iter().any(|event| text(event, "message") == "answered" && id(event) == id(&decided)), "{log}");
}

#[test]
fn keys_are_added_listed_and_revoked_while_the_server_runs() {
    let home = Home::new();
    let first = add(&home, "first", "agent");
    let file = home.path().join("keys.json");
    let server = Server::start(&home, &["--api-keys", file.to_str().unwrap()]);
    let status = |key: &str| server.get("/v1/receipts", key).0;
    let second = add(&home, "second", "agent");
    until("the second key", || status(&second) == 200);
    let listed = said(&run(&home, &["api-key", "list", "--api-keys", "keys.json"]).stdout);
    assert!(listed.contains("first") && listed.contains("second") && !listed.contains("sha256"), "{listed}");
    let again = run(&home, &["api-key", "add", "--api-keys", "keys.json", "second", "admin"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(again.stdout.is_empty() && said(&again.stderr).contains("--replace"), "{again:?}");
    let revoked = run(&home, &["api-key", "revoke", "--api-keys", "keys.json", "first"]);
    assert_eq!(revoked.status.code(), Some(0), "{revoked:?}");
    until("the revoked key", || status(&first) == 401);
    assert_eq!(status(&second), 200);
    let absent = run(&home, &["api-key", "revoke", "--api-keys", "keys.json", "first"]);
    assert_eq!(absent.status.code(), Some(2));
    // The file never has a key, nor does the log.
    let kept = std::fs::read_to_string(&file).unwrap();
    server.signal("-TERM");
    let (_, log) = server.ended();
    assert!([&first, &second].iter().all(|key| !kept.contains(*key) && !log.contains(*key)), "{kept}{log}");
}

#[test]
fn a_check_reads_everything_and_changes_nothing() {
    // A check makes no file of a store, and one that is damaged is found.
    let home = Home::in_file();
    add(&home, "first", "agent");
    let check = |more: &[&str]| {
        let done = run(&home, &[&["serve", "--check"], more].concat());
        (done.status.code().unwrap(), said(&done.stdout), said(&done.stderr))
    };
    let (code, out, _) = check(&["--policy", POLICY, "--api-keys", "keys.json", "--listen", "0.0.0.0:0"]);
    assert!(code == 0 && out.ends_with("ok") && out.contains("sha256:"), "{out}");
    let (code, out, _) = check(&["--policy", POLICY, "--api-keys", "keys.json", "--json"]);
    let found = Json::parse(out.as_bytes()).unwrap();
    let found = found.as_object().unwrap();
    let member = |name: &str| found.get(name).map(Json::to_text);
    assert!(code == 0 && member("action_policy").unwrap().starts_with("\"sha256:"), "{out}");
    assert_eq!(member("api_keys").as_deref(), Some("1"));
    assert_eq!((member("signing_key"), member("has_store").as_deref()), (None, Some("false")), "{out}");
    let mut files: Vec<_> = std::fs::read_dir(home.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["keys.json"], "it made something");
    std::fs::write(home.path().join("bad.yaml"), "version: 1\nboundarys: []\n").unwrap();
    std::fs::write(home.path().join("proofmark.db"), "not a database, and longer than nothing").unwrap();
    // A key in the place of its file, as `api-key add` printed it.
    let key = "pmk_0123456789abcdef0123456789abcdef";
    for text in
        [format!("{key}\n"), format!("{{\"keys\": [{key}]}}"), format!("keys:\n  - id: bot\n    sha256: {key}\n")]
    {
        std::fs::write(home.path().join("key.txt"), &text).unwrap();
        let (code, out, error) = check(&["--api-keys", "key.txt"]);
        assert!(code == 2 && error.contains("api-key add"), "{error}");
        assert!(!error.contains(key) && !out.contains(key), "the key is printed: {error}");
    }
    std::fs::remove_file(home.path().join("key.txt")).unwrap();
    std::fs::write(home.path().join("none.json"), "{\"keys\": []}").unwrap();
    for (more, expected) in [
        (&["--policy", "bad.yaml"][..], "bad.yaml:2:1"),
        (&["--policy", "absent.yaml"], "absent.yaml"),
        (&["--workflow-policy", "bad.yaml"], "bad.yaml"),
        (&["--api-keys", "none.json"], "`keys` is empty"),
        (&["--api-keys", "bad.yaml"], "bad.yaml"),
        (&["--listen", "0.0.0.0:8700"], "API keys"),
        (&["--trust", "absent.pem"], "absent.pem"),
        (&["--key", "absent"], "absent"),
        (&[], "proofmark.db"),
    ] {
        let (code, out, err) = check(more);
        assert!(code == 2 && err.contains(expected) && !out.contains("ok"), "{more:?}: {out}{err}");
    }
}

#[test]
fn a_check_says_that_the_store_was_moved() {
    let home = Home::in_file();
    let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (from, to) = (at("from.db"), at("to.db"));
    let server = Server::start(&home, &["--store", &from]);
    assert_eq!(run(&home, &["serve", "--check", "--store", &from]).status.code(), Some(0));
    // The server has the file open, so the mark of the move may be in its log.
    let copied = run(&home, &["store", "copy", "--from", &from, "--to", &to]);
    assert_eq!(copied.status.code(), Some(0), "{}", said(&copied.stderr));
    let refused = |store: &str| {
        let check = run(&home, &["serve", "--check", "--store", store]);
        let error = said(&check.stderr);
        assert!(check.status.code() == Some(2) && !said(&check.stdout).contains("ok"), "{error}");
        error
    };
    assert!(refused(&from).contains("it was moved to"));
    drop(server);
    assert!(refused(&from).contains("it was moved to"));
    assert_eq!(run(&home, &["serve", "--check", "--store", &to]).status.code(), Some(0));
    let Some(database) = proofmark_testing::postgres::database() else { return };
    let copied = run(&home, &["store", "copy", "--from", &to, "--to", &database.url()]);
    assert_eq!(copied.status.code(), Some(0), "{}", said(&copied.stderr));
    assert_eq!(run(&home, &["serve", "--check", "--store", &database.url()]).status.code(), Some(0));
    let back = run(&home, &["store", "copy", "--from", &database.url(), "--to", &at("back.db")]);
    assert_eq!(back.status.code(), Some(0), "{}", said(&back.stderr));
    assert!(refused(&database.url()).contains("it was moved to"));
}

#[test]
fn an_error_is_json_where_the_log_is() {
    let home = Home::new();
    let policy = home.path().join("policy.yaml");
    std::fs::write(&policy, "version: 1\nboundarys: []\n").unwrap();
    let ended = serve_by(&policy, &home, &["--log-format", "json"]).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    let said = String::from_utf8(ended.stderr).unwrap();
    let errors: Vec<Json> = said.lines().map(|line| Json::parse(line.as_bytes()).unwrap()).collect();
    assert!(errors.iter().any(|error| text(error, "error").contains("boundarys")), "{said}");
}

#[test]
fn a_server_decides_at_once_and_logs_its_self_test() {
    let home = Home::new();
    // Started here, and not by a helper that waits for the self-test.
    let mut command = crate::server::serve(&home, &["--log-format", "json"]);
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap())).map(Result::unwrap);
    let mut before = Vec::new();
    let address = lines.by_ref().find_map(|line| {
        let address = serves_at(&line);
        before.push(line);
        address
    });
    let server = Server::of(child, &address.unwrap());
    assert_eq!(server.post("/v1/decisions", "", MAIL).0, 200);
    assert_eq!(server.get("/readyz", "").0, 200);
    // It may have been faster than the socket.
    let passed = |line: &String| line.contains("the self-test of the sandbox passed");
    assert!(before.iter().any(passed) || lines.any(|line| passed(&line)));
}
