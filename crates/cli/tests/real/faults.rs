//! Servers, clients and guards that fail or lie: answers stay with their requests, and no call runs without a decision on disk.

use std::collections::BTreeSet;
use std::time::Duration;

use proofmark_receipt::Json;

use crate::place::{Place, Session, said, script, words};

const POLICY: &str = "
version: 1
tools:
  - {tool: delete, class: record_mutation}
  - {tool: '*', class: generic}
boundaries:
  - id: reads
    match: {action_class: generic}
";

fn guarded(place: &Place) -> Session {
    let server = words(&["python3", &script("server.py"), &place.path("plays")]);
    let mut session = Session::guarded(place, "plays", &server);
    session.begin();
    session
}

fn call(id: u32, tool: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"n":{id}{more}}}}}}}"#
    )
}

/// The entries of the session, as they were exported.
fn entries(place: &Place) -> Vec<String> {
    let exported = place.proofmark(&["session", "export", "plays"]);
    assert!(exported.status.success(), "{}", said(&exported));
    std::fs::write(place.at("plays.jsonl"), &exported.stdout).unwrap();
    let verified = place.proofmark(&["receipt", "verify", "plays.jsonl", "--as-chain"]);
    assert!(verified.status.success(), "{}", said(&verified));
    String::from_utf8(exported.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn of_kind(entries: &[String], kind: &str) -> Vec<String> {
    let is_it = |line: &&String| {
        let entry = Json::parse(line.as_bytes()).unwrap();
        entry.as_object().unwrap().get("kind").and_then(Json::as_str) == Some(kind)
    };
    entries.iter().filter(is_it).cloned().collect()
}

#[test]
fn a_server_that_dies_in_the_middle_of_an_answer_is_reported() {
    let place = Place::with(POLICY);
    let mut session = guarded(&place);
    session.say(call(1, "hangs", ""));
    session.say(call(2, "dies", ""));
    let answers = [session.line(), session.line()];
    assert!(answers.iter().all(|answer| answer.contains("the server has ended")), "{answers:?}");
    assert_eq!(session.wait().code(), Some(3));
    assert!(of_kind(&entries(&place), "closed").iter().any(|closed| closed.contains(r#""unanswered":["1","2"]"#)));
}

#[test]
fn answers_come_once_and_to_requests_that_are_open() {
    let place = Place::with(POLICY);
    let mut session = guarded(&place);
    session.say(call(1, "hangs", ""));
    // A server may confuse two requests that are open; each gets one answer.
    session.say(call(2, "other", r#","id":1"#));
    assert!(session.answer("1").contains("of another") && session.answer("2").contains("of this"));
    session.say(call(3, "twice", ""));
    assert!(session.answer("3").contains("first"));
    session.say(call(4, "forges", r#","id":5"#));
    session.say(call(5, "delete", ""));
    // The guard answers the one, the server the other.
    let answers = [session.line(), session.line()].concat();
    assert!(answers.contains("done") && answers.contains("Not executed") && !answers.contains("forged"), "{answers}");
    session.say(call(6, "floods", ""));
    assert!(session.line().contains("after the flood"));
    session.say(call(7, "half", ""));
    assert!(session.line().contains("in pieces"));
    session.say(call(8, "read", ""));
    assert!(session.line().contains(r#""id": 8"#) || place.read("plays.effects").contains("read 8"));
    session.close();
    assert!(session.wait().success());
    assert!(!place.read("plays.effects").contains("delete"));
}

#[test]
fn an_id_is_used_again_only_after_its_answer() {
    let place = Place::with(POLICY);
    let mut session = guarded(&place);
    session.say(call(1, "hangs", ""));
    session.say(call(1, "read", ""));
    assert!(session.answer("1").contains("still open"));
    session.say(call(2, "read", ""));
    assert!(session.answer("2").contains("ok"));
    session.say(call(2, "read", ""));
    assert!(session.answer("2").contains("ok"));
    assert_eq!(place.read("plays.effects"), "hangs 1\nread 2\nread 2\n");
}

#[test]
fn a_cancelled_call_is_recorded_and_its_late_answer_passes_once() {
    let place = Place::with(POLICY);
    let mut session = guarded(&place);
    session.say(call(1, "hangs", ""));
    session.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    // Of a request that is not open.
    session.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#);
    session.say(call(2, "other", r#","id":1"#));
    assert!(session.answer("2").contains("of this"));
    session.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    session.say(call(3, "read", ""));
    assert!(session.answer("3").contains("ok"));
    session.close();
    assert!(session.wait().success());
    let entries = entries(&place);
    assert_eq!(of_kind(&entries, "cancelled").len(), 1, "{entries:?}");
    assert!(!place.read("plays.server").contains(r#""requestId":77"#));
}

#[test]
fn calls_in_flight_are_answered_after_the_client_closed_its_side() {
    let place = Place::with(POLICY);
    let mut session = guarded(&place);
    for id in 1..=20 {
        session.say(call(id, "read", ""));
    }
    session.close();
    for id in 1..=20 {
        assert!(session.answer(&id.to_string()).contains("ok"));
    }
    assert!(session.wait().success());
    let entries = entries(&place);
    assert_eq!((of_kind(&entries, "decided").len(), of_kind(&entries, "result").len()), (20, 20));
}

#[test]
fn a_client_that_goes_away_leaves_no_guard_behind() {
    let place = Place::with(POLICY);
    let mut session = guarded(&place);
    session.say(call(1, "big", ""));
    // Its pipe is full, so the guard is writing when nobody reads any more.
    std::thread::sleep(Duration::from_millis(300));
    session.leave();
    session.wait();
}

#[test]
fn no_call_runs_without_a_decision_on_disk_when_the_guard_is_killed() {
    let place = Place::with(POLICY);
    for _ in 0..3 {
        let mut session = guarded(&place);
        for id in 1..=100 {
            session.say(call(id, "read", ""));
        }
        session.answer("5");
        session.child.kill().unwrap();
        session.wait();
    }
    let decided: Vec<_> = of_kind(&entries(&place), "decided");
    let number = |line: &String| {
        let entry = Json::parse(line.as_bytes()).unwrap();
        entry.as_object().unwrap().get("arguments").unwrap().as_str().unwrap().to_owned()
    };
    let count = |all: &[String], one: &str| all.iter().filter(|other| *other == one).count();
    let decided: Vec<String> = decided.iter().map(number).collect();
    let ran: Vec<String> = place.read("plays.effects").lines().map(|line| line.replace("read ", "")).collect();
    assert!(ran.len() >= 15, "{ran:?}");
    for n in ran.iter().collect::<BTreeSet<_>>() {
        assert!(count(&ran, n) <= count(&decided, &format!(r#"{{"n":{n}}}"#)), "{n} of {decided:?}");
    }
}
