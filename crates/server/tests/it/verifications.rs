//! Work that is verified over HTTP: at once, as jobs, and whatever happens to the server meanwhile.

use std::io::{BufRead, BufReader, Write};

use proofmark_receipt::Json;
use proofmark_testing::Home;

use crate::client::{AS_JOB, GOOD, VERIFY, WRONG, answer, code, job, json, listed, once, suite, text};
use crate::server::{Options, Server, keys, new_key};

const ENDLESS: &str = "import time\ndef f(x):\n    while True: time.sleep(60)\n";

fn verify(server: &Server, source: &str) -> Json {
    let (status, receipt) = server.send(VERIFY, &suite(source));
    assert_eq!(status, 200, "{receipt}");
    json(&receipt)
}

#[test]
fn one_key_has_one_receipt_also_when_asked_at_once_and_after_a_restart() {
    let home = Home::new();
    let server = Server::start(&home);
    let head = format!("{VERIFY}\r\nidempotency-key: k");
    let answers: Vec<_> = std::thread::scope(|scope| {
        let ask = || scope.spawn(|| server.send(&head, &suite(GOOD)));
        let asked: Vec<_> = (0..8).map(|_| ask()).collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| answer.0 == 200 && *answer == answers[0]), "{answers:?}");
    drop(server);
    let server = Server::start(&home);
    assert_eq!(server.send(&head, &suite(GOOD)), answers[0]);
    assert_eq!(server.send(&head, &suite(WRONG)).0, 422);
    assert_eq!(listed(&server.get("/v1/receipts", "").1, "receipts").len(), 1);
}

#[test]
fn a_job_tells_how_far_it_is_and_is_cancelled() {
    let home = Home::new();
    let server = Server::with_jobs(&home, 1);
    let id = job(&server, GOOD);
    let done = once(&server, &id, "done");
    assert_eq!(text(done.as_object().unwrap().get("receipt").unwrap(), "receipt_id"), id);
    let endless = job(&server, ENDLESS);
    once(&server, &endless, "running");
    let mut stream = server.connect();
    write!(stream, "GET /v1/jobs/{endless}/events HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line == "event: running"));
    let waiting = job(&server, GOOD);
    let (status, cancelled) = server.send(&format!("DELETE /v1/jobs/{endless} HTTP/1.1"), "");
    assert_eq!((status, text(&json(&cancelled), "state").as_str()), (200, "cancelled"));
    assert!(lines.by_ref().any(|line| line == "event: cancelled"));
    let (status, over) = server.send(&format!("DELETE /v1/jobs/{endless} HTTP/1.1"), "");
    assert_eq!((status, code(&json(&over)).as_str()), (409, "job_over"));
    once(&server, &waiting, "done");
    assert_eq!(server.get(&format!("/v1/receipts/{endless}"), "").0, 404);
}

#[test]
fn work_that_nobody_waits_for_does_not_go_on() {
    let home = Home::new();
    let server = Server::with_jobs(&home, 1);
    let body = suite(ENDLESS);
    let mut stream = server.connect();
    write!(stream, "{VERIFY}\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    drop(stream);
    // The only worker is free again long before the minute the endless one had.
    assert_eq!(text(&verify(&server, GOOD), "verdict"), "pass");
}

#[test]
fn what_outlasts_the_patience_of_a_client_goes_on_as_a_job() {
    let home = Home::new();
    let server = Server::start(&home);
    let slow = "import time\ndef f(x):\n    time.sleep(2)\n    return x + 1\n";
    let (status, answer) = server.send("POST /v1/verifications HTTP/1.1\r\nprefer: wait=1", &suite(slow));
    assert_eq!(status, 202, "{answer}");
    once(&server, &text(&json(&answer), "job_id"), "done");
}

#[test]
fn a_full_queue_says_when_to_come_back_and_other_tenants_still_get_in() {
    let home = Home::new();
    let (one, first) = new_key("a", "agent", "one.x");
    let (two, second) = new_key("b", "agent", "two.x");
    let file = keys(&[&first, &second]);
    let server = Server::with(&home, Options { keys: Some(file), jobs: 1, rate: 100_000, ..Options::default() });
    let ask = |key: &str| server.send(&format!("{AS_JOB}\r\nauthorization: Bearer {key}"), &suite(ENDLESS));
    let refused = (0..300).map(|_| ask(&one)).find(|(status, _)| *status != 202).unwrap();
    assert_eq!((refused.0, code(&json(&refused.1)).as_str()), (429, "queue_full"));
    let (status, mine) = ask(&two);
    assert_eq!(status, 202);
    let path = format!("/v1/jobs/{}", text(&json(&mine), "job_id"));
    assert_eq!((server.get(&path, &two).0, server.get(&path, &one).0), (200, 404));
}

#[test]
fn bad_work_is_refused_before_it_runs() {
    let home = Home::new();
    let server = Server::start(&home);
    for (body, status) in [
        ("", 400),
        ("[]", 400),
        (r#"{"output": {"content": "x"}}"#, 400),
        (r#"{"output": {"content": "x"}, "verification": {"language": "cobol", "tests": []}}"#, 400),
        (r#"{"output": {"content": "x"}, "verification": {"language": "python", "tests": []}}"#, 400),
    ] {
        let (found, problem) = server.send(VERIFY, body);
        assert_eq!(found, status, "{body}: {problem}");
    }
    let (status, problem) = server.send("POST /v1/verifications?chain=a/b HTTP/1.1", &suite(GOOD));
    assert_eq!((status, code(&json(&problem)).as_str()), (400, "invalid_chain"));
    let mut stream = server.connect();
    write!(stream, "{VERIFY}\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{{\"output\"").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    // However it is refused, the server lives.
    drop(answer(&mut stream));
    assert_eq!(server.get("/healthz", "").0, 200);
}
