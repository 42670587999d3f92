//! Policies and API keys that change while the server runs.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proofmark_receipt::Json;
use proofmark_receipt::document::{self, Format};
use proofmark_server::{ApiKeys, Files, KeysFile, Loaded, ReviewerEntry, Role, Source, UnreadableError, new_key};
use proofmark_testing::Home;

use crate::client::{AS_JOB, GOOD, NOTE, POLICY, code, json, listed, suite, text};
use crate::mcp::GREETING;
use crate::server::{Options, Server};
use crate::ui::{Browser, FORM, MAIL, form};

const PATIENCE: Duration = Duration::from_secs(30);
const ENDLESS: &str = "def f(x):\n    while True: pass\n";

fn read<T, E: std::fmt::Display>(
    path: &Path,
    value: impl FnOnce(&Json) -> Result<T, E>,
) -> Result<Loaded<T>, UnreadableError> {
    let unreadable = |error: String| UnreadableError { message: error, help: None };
    let text = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    let document = document::parse(&text, Format::Yaml).map_err(|error| unreadable(error.to_string()))?;
    let value = value(&document).map_err(|error| unreadable(error.to_string()))?;
    Ok(Loaded { value, warnings: Vec::new() })
}

/// A server whose files are in this folder, with a key of an agent and one of an administrator.
struct Place {
    server: Server,
    home: Home,
    agent: String,
    admin: String,
}

impl Place {
    fn open() -> Self {
        let home = Home::new();
        let policy = home.path().join("policy.yaml");
        std::fs::copy(POLICY, &policy).unwrap();
        let file = KeysFile::at(&home.path().join("keys.json"));
        let [agent, admin] = [("bot", Role::Agent), ("eve", Role::Admin)].map(|(id, role)| {
            let (key, entry) = new_key(id, role, "acme", &ReviewerEntry::default()).unwrap();
            file.add(&entry, false).unwrap();
            key
        });
        let files = Files {
            action_policy: Some(Source {
                path: policy,
                read: |path| read(path, proofmark_boundary::ActionPolicy::read),
            }),
            workflow_policy: None,
            api_keys: Some(Source { path: home.path().join("keys.json"), read: |path| read(path, ApiKeys::read) }),
        };
        let keys = Some(std::fs::read_to_string(home.path().join("keys.json")).unwrap());
        let server = Server::with(&home, Options { keys, files, ..Options::default() });
        Self { server, home, agent, admin }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn keys(&self) -> KeysFile {
        KeysFile::at(&self.file("keys.json"))
    }

    fn status(&self, key: &str) -> u16 {
        self.server.get("/v1/receipts", key).0
    }

    fn outcome(&self) -> String {
        text(&self.server.post("/v1/decisions", &self.agent, NOTE).1, "outcome")
    }

    fn stale(&self) -> bool {
        self.server.send("GET /readyz HTTP/1.1", "").1.contains("stale")
    }
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_policy_is_replaced_while_the_server_decides_and_a_bad_one_is_not() {
    let place = Place::open();
    assert_eq!(place.outcome(), "allow");
    let strict = "version: 1\nboundaries:\n  - id: none\n    match: {}\n    deny:\n      - {when: 'true', reason: {code: closed, message: closed}}\n";
    std::fs::write(place.file("policy.yaml"), strict).unwrap();
    until("the strict policy", || place.outcome() != "allow");
    // Neither a mistake nor a missing file opens what the last good policy closes.
    for bad in [Some("version: 1\nboundary: []\n"), Some("version: 1\nboundaries: [\n"), Some(""), None] {
        match bad {
            Some(text) => std::fs::write(place.file("policy.yaml"), text).unwrap(),
            None => std::fs::remove_file(place.file("policy.yaml")).unwrap(),
        }
        until("the mistake", || place.stale());
        assert_ne!(place.outcome(), "allow", "{bad:?}");
        std::fs::write(place.file("policy.yaml"), strict).unwrap();
        until("it is repaired", || !place.stale());
    }
    std::fs::copy(POLICY, place.file("policy.yaml")).unwrap();
    until("the first policy", || place.outcome() == "allow");
}

#[test]
fn a_new_key_works_and_a_revoked_one_does_not_even_when_it_is_the_last() {
    let place = Place::open();
    let (new, entry) = new_key("new", Role::Agent, "acme", &ReviewerEntry::default()).unwrap();
    assert_eq!((place.status(&new), place.status(&place.agent)), (401, 200));
    place.keys().add(&entry, false).unwrap();
    until("the new key", || place.status(&new) == 200);
    place.keys().revoke("bot", None).unwrap();
    until("the revoked key", || place.status(&place.agent) == 401);
    // A file that cannot be read revokes nothing and adds nothing.
    let good = std::fs::read(place.file("keys.json")).unwrap();
    std::fs::write(place.file("keys.json"), "{\"keys\": [").unwrap();
    until("the mistake", || place.stale());
    assert_eq!((place.status(&new), place.status(&place.agent)), (200, 401));
    std::fs::write(place.file("keys.json"), good).unwrap();
    until("it is repaired", || !place.stale());
    place.keys().revoke("new", None).unwrap();
    place.keys().revoke("eve", None).unwrap();
    until("no key", || place.status(&place.admin) == 401);
    assert_eq!(place.status(&new), 401);
}

#[test]
fn what_was_begun_with_a_revoked_key_ends() {
    let place = Place::open();
    let (agent, address) = (&place.agent, &place.server.address);
    let asked = format!("{AS_JOB}\r\nauthorization: Bearer {agent}");
    let (status, job) = place.server.send(&asked, &suite(ENDLESS));
    assert_eq!(status, 202, "{job}");
    let id = text(&json(&job), "job_id");
    // A stream of events, a session with a call that runs, and the stream of that session.
    let mut events = place.server.connect();
    write!(events, "GET /v1/jobs/{id}/events HTTP/1.1\r\nauthorization: Bearer {agent}\r\nhost: h\r\n\r\n").unwrap();
    let mut events = BufReader::new(events).lines().map_while(Result::ok);
    assert!(events.by_ref().any(|line| line == "event: running"));
    let head = format!("host: h\r\nauthorization: Bearer {agent}");
    let (_, greeted) = crate::mcp::post(address, &head, GREETING);
    let session = greeted.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap().to_owned();
    let head = format!("{head}\r\n{session}");
    let mut followed = place.server.connect();
    write!(followed, "GET /mcp HTTP/1.1\r\n{head}\r\naccept: text/event-stream\r\n\r\n").unwrap();
    let mut followed = BufReader::new(followed).lines().map_while(Result::ok);
    assert!(followed.next().unwrap().contains(" 200 "));
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"name":"cb_verify_work","arguments":{}}}}}"#,
        suite("import time\ndef f(x):\n    time.sleep(20)\n    return x + 1\n").replace('\n', " ")
    );
    std::thread::scope(|scope| {
        let called = scope.spawn(|| crate::mcp::post(address, &head, &call));
        std::thread::sleep(Duration::from_millis(500));
        place.keys().revoke("bot", None).unwrap();
        let (status, answer) = called.join().unwrap();
        assert!(status == 401 || !answer.contains("verdict"), "{status}: {answer}");
    });
    // Both streams end.
    assert!(events.count() + followed.count() < 200);
    // The second of two workers is free, and the call that it worked on has no receipt.
    let (status, receipt) = place.server.post("/v1/verifications", &place.admin, &suite(GOOD));
    assert_eq!(status, 200, "{}", receipt.to_text());
    let receipts = listed(&place.server.get("/v1/receipts", &place.admin).1, "receipts");
    assert_eq!(receipts.len(), 1, "{receipts:?}");
    let (status, refused) = place.server.get(&format!("/v1/jobs/{id}"), agent);
    assert_eq!((status, code(&refused).as_str()), (401, "unauthorized"));
    // The job was promised to the tenant, who still has it.
    let (status, _) = place.server.get(&format!("/v1/jobs/{id}"), &place.admin);
    assert_eq!(status, 200);
}

#[test]
fn a_form_that_is_on_its_way_when_its_key_is_revoked_does_nothing() {
    let place = Place::open();
    let (_, asked) = place.server.post("/v1/decisions", &place.agent, MAIL);
    let path = format!("/ui/decisions/{}", text(&asked, "decision_id"));
    let cookie = Browser::signed_in(&place.server, &place.admin).cookie;
    let body = form(&[("verdict", "approve"), ("note", "still me")]);
    let (first, rest) = body.split_at(body.len() / 2);
    let mut stream = place.server.connect();
    let own = format!("host: localhost\r\norigin: http://localhost\r\ncookie: {cookie}\r\nconnection: close\r\n{FORM}");
    write!(stream, "POST {path} HTTP/1.1\r\n{own}content-length: {}\r\n\r\n{first}", body.len()).unwrap();
    // Until the head has come, nobody is admitted by it.
    std::thread::sleep(Duration::from_millis(500));
    place.keys().revoke("eve", None).unwrap();
    until("the revoked key", || place.status(&place.admin) == 401);
    // The server may have closed the connection by then.
    drop(stream.write_all(rest.as_bytes()));
    drop(stream.read_to_string(&mut String::new()));
    let (_, decision) = place.server.get(&path.replace("/ui/", "/v1/"), &place.agent);
    assert!(listed(&decision, "reviews").is_empty(), "{}", decision.to_text());
}
