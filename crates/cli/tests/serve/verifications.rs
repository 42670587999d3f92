//! Work that is verified over HTTP: at once, as jobs, and whatever happens to the server meanwhile.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::Command;

use proofmark_receipt::Json;
use tempfile::TempDir;

use crate::server::{PROOFMARK, Server, answer, code, keys_file, listed, new_key, text};

const VERIFY: &str = "POST /v1/verifications HTTP/1.1\r\ncontent-type: application/json";
const AS_JOB: &str = "POST /v1/verifications HTTP/1.1\r\nprefer: respond-async";
const TRIES: u32 = 600;

/// A request for `f(1)` to be 2.
pub(crate) fn suite(source: &str) -> String {
    let source = Json::from(source).to_text();
    format!(
        r#"{{"task_id": "t", "output": {{"content": {source}}}, "verification": {{"kind": "test_suite", "language": "python", "entrypoint": "f",
        "limits": {{"timeout_ms": 60000}}, "tests": [{{"name": "one", "input": [1], "expected_output": 2}}]}}}}"#
    )
}

pub(crate) const GOOD: &str = "def f(x):\n    return x + 1\n";
const WRONG: &str = "def f(x):\n    return x\n";
const ENDLESS: &str = "def f(x):\n    while True: pass\n";

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap_or_else(|_| panic!("no JSON: {text}"))
}

fn verify(server: &Server, source: &str) -> Json {
    let (status, receipt) = server.send(VERIFY, &suite(source));
    assert_eq!(status, 200, "{receipt}");
    json(&receipt)
}

fn job(server: &Server, source: &str) -> String {
    let (status, job) = server.send(AS_JOB, &suite(source));
    assert_eq!(status, 202, "{job}");
    text(&json(&job), "job_id")
}

/// The job, once it is in this state.
fn once(server: &Server, id: &str, state: &str) -> Json {
    for _ in 0..TRIES {
        let (status, job) = server.get(&format!("/v1/jobs/{id}"), "");
        assert_eq!(status, 200, "{}", job.to_text());
        if text(&job, "state") == state {
            return job;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{id} did not come to be {state}");
}

#[test]
fn work_is_answered_with_its_receipt_which_verifies_after_the_server_is_gone() {
    let home = TempDir::new().unwrap();
    let server = Server::start(home.path(), &[]);
    let (status, wrong) = server.send(VERIFY, &suite(WRONG));
    assert_eq!((status, text(&json(&wrong), "verdict").as_str()), (200, "fail"));
    let mut stream = server.connect();
    let body = suite(GOOD);
    write!(stream, "{VERIFY}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .unwrap();
    let mut whole = String::new();
    std::io::Read::read_to_string(&mut stream, &mut whole).unwrap();
    let (head, receipt) = whole.split_once("\r\n\r\n").unwrap();
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next().unwrap()
    };
    assert!(header("access-control-expose-headers").contains("X-VRF-Receipt"));
    let carried = header("x-vrf-receipt");
    drop(server);
    let decoded = Command::new(PROOFMARK).args(["x402", "decode", &carried]).output().unwrap();
    assert_eq!(String::from_utf8(decoded.stdout).unwrap().trim_end(), receipt);
    let file = home.path().join("receipt.json");
    std::fs::write(&file, receipt).unwrap();
    let checked = Command::new(PROOFMARK).args(["receipt", "verify"]).arg(&file).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
}

#[test]
fn one_key_has_one_receipt_also_when_asked_at_once_and_after_a_restart() {
    let home = TempDir::new().unwrap();
    let server = Server::start(home.path(), &[]);
    let head = format!("{VERIFY}\r\nidempotency-key: k");
    let answers: Vec<_> = std::thread::scope(|scope| {
        let ask = || scope.spawn(|| server.send(&head, &suite(GOOD)));
        let asked: Vec<_> = (0..8).map(|_| ask()).collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| answer.0 == 200 && *answer == answers[0]), "{answers:?}");
    drop(server);
    let server = Server::start(home.path(), &[]);
    assert_eq!(server.send(&head, &suite(GOOD)), answers[0]);
    assert_eq!(server.send(&head, &suite(WRONG)).0, 422);
    assert_eq!(listed(&server.get("/v1/receipts", "").1, "receipts").len(), 1);
}

#[test]
fn a_job_tells_how_far_it_is_and_is_cancelled() {
    let home = TempDir::new().unwrap();
    let server = Server::start(home.path(), &["--jobs", "1"]);
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
    let home = TempDir::new().unwrap();
    let server = Server::start(home.path(), &["--jobs", "1"]);
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
    let home = TempDir::new().unwrap();
    let server = Server::start(home.path(), &[]);
    let slow = "import time\ndef f(x):\n    time.sleep(11)\n    return x + 1\n";
    let (status, answer) = server.send(VERIFY, &suite(slow));
    assert_eq!(status, 202, "{answer}");
    once(&server, &text(&json(&answer), "job_id"), "done");
}

#[test]
fn jobs_survive_a_kill_and_have_one_receipt_each() {
    let home = TempDir::new().unwrap();
    let server = Server::start(home.path(), &["--jobs", "2"]);
    let slow = "import time\ndef f(x):\n    time.sleep(0.2)\n    return x + 1\n";
    let jobs: BTreeSet<String> = (0..12).map(|_| job(&server, slow)).collect();
    once(&server, jobs.first().unwrap(), "done");
    server.signal("-9");
    drop(server.ended());
    let server = Server::start(home.path(), &["--jobs", "2"]);
    for id in &jobs {
        once(&server, id, "done");
    }
    let receipts = listed(&server.get("/v1/receipts?limit=1000", "").1, "receipts");
    let ids: BTreeSet<String> = receipts.iter().map(|receipt| text(receipt, "receipt_id")).collect();
    assert_eq!((receipts.len(), ids), (jobs.len(), jobs));
}

#[test]
fn a_full_queue_says_when_to_come_back_and_other_tenants_still_get_in() {
    let home = TempDir::new().unwrap();
    let (one, first) = new_key("a", "agent", "one.x");
    let (two, second) = new_key("b", "agent", "two.x");
    let file = keys_file(home.path(), &[&first, &second]);
    let server = Server::start(home.path(), &["--jobs", "1", "--api-keys", &file, "--rate", "100000"]);
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
    let home = TempDir::new().unwrap();
    let server = Server::start(home.path(), &[]);
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
