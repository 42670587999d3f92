//! Policies and API keys that change while the server runs.

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use proofmark_server::{ReviewerEntry, Role, new_key};

use crate::client::{AS_JOB, GOOD, POLICY, code, json, listed, suite, text};
use crate::mcp::GREETING;
use crate::place::{Place, until};

const ENDLESS: &str = "import time\ndef f(x):\n    while True: time.sleep(60)\n";

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
