//! Work that nobody waits for, and a server that is told to stop in the middle of it.

use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use proofmark_receipt::{Json, Object};
use tempfile::TempDir;

use crate::server::{Server, text};
use crate::verifications::suite;

/// How long a server may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// An attempt of which each of so many rules looks at 100,000 values.
fn attempt(rules: usize) -> String {
    let rule = |number| {
        format!(r#"{{"id": "r{number}", "path": "$.values[*]", "expect": {{"predicate": "value + {number} > 0"}}}}"#)
    };
    let rules = (0..rules).map(rule).collect::<Vec<_>>().join(",");
    let workflow = format!(
        r#"{{"name": "w", "class": "readonly", "steps": [{{"id": "s", "verification": {{"evidence": [{rules}]}}}}]}}"#
    );
    let values = vec!["7"; 100_000].join(",");
    let mut body = Object::new();
    body.insert("workflow", Json::parse(workflow.as_bytes()).unwrap());
    body.insert("response", format!("```result\n{{\"values\": [{values}]}}\n```\n"));
    Json::from(body).to_text()
}

fn begin(server: &Server, run: &str, body: &str) -> std::net::TcpStream {
    let mut stream = server.connect();
    let head = format!("POST /v1/steps/{run}/s/attempts HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json");
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    stream
}

#[test]
fn an_attempt_nobody_waits_for_is_not_kept() {
    let home = TempDir::new().unwrap();
    let server = Server::start(home.path(), &[]);
    let body = attempt(3);
    let begun = Instant::now();
    let (status, answer) = server.post("/v1/steps/waited/s/attempts", "", &body);
    assert_eq!(status, 200, "{}", answer.to_text());
    let took = begun.elapsed();
    drop(begin(&server, "left", &body));
    std::thread::sleep(2 * took + Duration::from_secs(1));
    assert_eq!(server.get("/v1/steps/waited/s", "").0, 200);
    assert_eq!(server.get("/v1/steps/left/s", "").0, 404, "it was kept, after {took:?} at most");
}

#[test]
fn a_server_ends_while_an_attempt_is_judged() {
    let home = TempDir::new().unwrap();
    let server = Server::start(home.path(), &[]);
    let _judged = begin(&server, "long", &attempt(200));
    std::thread::sleep(Duration::from_secs(1));
    server.signal("-TERM");
    assert_eq!(server.ended_within(PATIENCE), Some(0));
    // What was being judged is not half kept.
    let server = Server::start(home.path(), &[]);
    assert_eq!(server.get("/v1/steps/long/s", "").0, 404);
}

#[test]
fn a_server_ends_while_jobs_run_and_clients_listen() {
    let home = TempDir::new().unwrap();
    let server = Server::start(home.path(), &["--jobs", "1"]);
    let endless = suite("def f(x):\n    while True: pass\n");
    let (status, job) = server.send("POST /v1/verifications HTTP/1.1\r\nprefer: respond-async", &endless);
    assert_eq!(status, 202);
    let id = text(&Json::parse(job.as_bytes()).unwrap(), "job_id");
    let mut stream = server.connect();
    write!(stream, "GET /v1/jobs/{id}/events HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.by_ref().any(|line| line == "event: running"));
    let mut session = server.connect();
    let greeting = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let accept = "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\nhost: localhost";
    write!(session, "POST /mcp HTTP/1.1\r\n{accept}\r\ncontent-length: {}\r\n\r\n{greeting}", greeting.len()).unwrap();
    let mut said = BufReader::new(session.try_clone().unwrap()).lines().map_while(Result::ok);
    let id = said.by_ref().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
    let mut listening = server.connect();
    write!(listening, "GET /mcp HTTP/1.1\r\n{accept}\r\n{id}\r\n\r\n").unwrap();
    let mut heard = BufReader::new(listening).lines().map_while(Result::ok);
    assert!(heard.next().unwrap().contains(" 200 "));
    server.signal("-TERM");
    assert_eq!(server.ended_within(PATIENCE), Some(0));
    // Both streams have ended.
    assert!(lines.count() + heard.count() < 100);
}
