//! What was answered stays answered: after a restart, a kill, and a stop in the middle of requests.

use std::collections::BTreeSet;
use std::sync::Mutex;

use proofmark_receipt::Json;
use proofmark_testing::Home;

use crate::client::{DECISIONS, MAIL, NOTE, listed, text};
use crate::server::Server;

#[test]
fn a_key_gets_the_same_answer_also_after_a_restart() {
    let home = Home::new();
    let head = &format!("{DECISIONS}\r\nidempotency-key: k1");
    let server = Server::start(&home, &[]);
    let first = server.send(head, NOTE);
    assert_eq!(first.0, 200, "{}", first.1);
    assert_eq!(server.send(head, NOTE), first);
    drop(server);
    let server = Server::start(&home, &[]);
    assert_eq!(server.send(head, NOTE), first);
    let (status, other) = server.send(head, MAIL);
    assert_eq!(status, 422, "{other}");
    assert!(other.contains("idempotency_key_reused"), "{other}");
}

#[test]
fn what_was_answered_is_there_after_a_kill() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let answered = answered_until(&server, "-KILL", 200);
    server.ended();
    assert!(answered.len() >= 200, "{}", answered.len());
    is_kept(&answered, &home);
}

#[test]
fn told_to_stop_it_finishes_what_was_begun() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let answered = answered_until(&server, "-TERM", 100);
    assert_eq!(server.ended().0, Some(0));
    assert!(answered.len() >= 100, "{}", answered.len());
    is_kept(&answered, &home);
}

/// What eight clients were answered before the server ended; it is sent the signal after so many answers.
fn answered_until(server: &Server, signal: &str, count: usize) -> BTreeSet<String> {
    let answered = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for client in 0..8 {
            let answered = &answered;
            scope.spawn(move || {
                for number in 0..125 {
                    let note = NOTE.replace("done", &format!("{client} {number}"));
                    let Ok((200, body)) = server.try_send(DECISIONS, note.as_bytes()) else { return };
                    let receipt = Json::parse(body.as_bytes()).unwrap();
                    let mut answered = answered.lock().unwrap();
                    assert!(answered.insert(text(&receipt, "decision_id")), "one decision was answered twice");
                    if answered.len() == count {
                        server.signal(signal);
                    }
                }
            });
        }
    });
    answered.into_inner().unwrap()
}

fn is_kept(answered: &BTreeSet<String>, home: &Home) {
    let server = Server::start(home, &[]);
    let (status, page) = server.get("/v1/decisions?limit=1000", "");
    assert_eq!(status, 200);
    let kept: Vec<String> = listed(&page, "decisions").iter().map(|kept| text(kept, "decision_id")).collect();
    let distinct: BTreeSet<String> = kept.iter().cloned().collect();
    assert_eq!(distinct.len(), kept.len());
    assert!(answered.is_subset(&distinct), "an answered decision is gone");
}
