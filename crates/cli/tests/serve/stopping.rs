//! Work that nobody waits for, and a server that is told to stop in the middle of it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use proofmark_receipt::{Json, Object};
use proofmark_testing::Home;

use crate::client::{DECISIONS, listed, suite, text};
use crate::server::{Server, serve_by};

/// How long a server may take to end, on a busy machine too. What it does would go on for a minute or for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// An attempt of which each of so many rules looks at 40,000 values: on a busy machine, too, it is judged in the 30 s that an answer
/// may take.
fn attempt(rules: usize) -> String {
    let rule = |number| {
        format!(r#"{{"id": "r{number}", "path": "$.values[*]", "expect": {{"predicate": "value + {number} > 0"}}}}"#)
    };
    let rules = (0..rules).map(rule).collect::<Vec<_>>().join(",");
    let workflow = format!(
        r#"{{"name": "w", "class": "readonly", "steps": [{{"id": "s", "verification": {{"evidence": [{rules}]}}}}]}}"#
    );
    let values = vec!["7"; 40_000].join(",");
    let mut body = Object::new();
    body.insert("workflow", Json::parse(workflow.as_bytes()).unwrap());
    body.insert("response", format!("```result\n{{\"values\": [{values}]}}\n```\n"));
    Json::from(body).to_text()
}

/// A server whose policy looks at every fact of a request again and again.
fn deciding(home: &Home) -> Server {
    let rule = |number: usize| format!("      - fact: 'memory.exists(m, m.n == {})'\n", 50_000 + number);
    // So few that they take less than the 30 s that an answer may take, on a busy machine too.
    let rules: String = (0..30).map(rule).collect();
    let policy = home.path().join("heavy.yaml");
    std::fs::write(&policy, format!("version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    require:\n{rules}"))
        .unwrap();
    Server::begin(serve_by(&policy, home, &[]))
}

/// A request with 10,000 facts. Those on one action would go one after the other.
fn decision(number: usize) -> String {
    let memory: Vec<_> = (0..10_000).map(|number| format!(r#"{{"n": {number}}}"#)).collect();
    let action = format!(r#"{{"tool": "t", "class": "upload", "args": {{"number": {number}}}}}"#);
    format!(r#"{{"action": {action}, "memory": [{}]}}"#, memory.join(","))
}

fn begin(server: &Server, run: &str, body: &str) -> TcpStream {
    ask(server, &attempts(run), body)
}

fn attempts(run: &str) -> String {
    format!("POST /v1/steps/{run}/s/attempts HTTP/1.1\r\ncontent-type: application/json")
}

fn ask(server: &Server, head: &str, body: &str) -> TcpStream {
    let mut stream = server.connect();
    write!(stream, "{head}\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    stream
}

/// How much CPU time is used for requests whose clients leave, compared with one whose client waits. Time on the clock
/// would say how busy this host is.
fn cost_of_leaving(server: &Server, waited: (&str, &str), left: &[(String, String)]) -> f64 {
    let before = server.cpu();
    let (status, answer) = server.send(waited.0, waited.1);
    assert_eq!(status, 200, "{answer}");
    let one = server.cpu() - before;
    let streams: Vec<TcpStream> = left.iter().map(|(head, body)| ask(server, head, body)).collect();
    let begun = server.cpu();
    while server.cpu() - begun < one / 4 {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(streams);
    let left = server.cpu();
    loop {
        let before = server.cpu();
        std::thread::sleep(Duration::from_secs(1));
        if server.cpu() - before < Duration::from_millis(50) {
            return (server.cpu() - left).as_secs_f64() / one.as_secs_f64();
        }
    }
}

#[test]
fn attempts_nobody_waits_for_stop() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let body = attempt(200);
    let left: Vec<_> = (0..8).map(|number| (attempts(&format!("left{number}")), body.clone())).collect();
    let cost = cost_of_leaving(&server, (&attempts("waited"), &body), &left);
    assert!(cost < 3.0, "8 that nobody waits for cost as much as {cost}");
    assert_eq!(server.get("/v1/steps/waited/s", "").0, 200);
    assert!((0..8).all(|number| server.get(&format!("/v1/steps/left{number}/s"), "").0 == 404));
}

#[test]
fn decisions_nobody_waits_for_stop() {
    let home = Home::new();
    let server = deciding(&home);
    let left: Vec<_> = (1..9).map(|number| (DECISIONS.to_owned(), decision(number))).collect();
    let cost = cost_of_leaving(&server, (DECISIONS, &decision(0)), &left);
    assert!(cost < 3.0, "8 that nobody waits for cost as much as {cost}");
    assert_eq!(listed(&server.get("/v1/decisions", "").1, "decisions").len(), 1, "only the first was waited for");
}

#[test]
fn an_attempt_nobody_waits_for_is_not_kept() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
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
fn a_server_ends_while_attempts_are_judged_and_actions_decided_on() {
    let home = Home::new();
    let server = deciding(&home);
    let body = attempt(200);
    let judged: Vec<TcpStream> = (0..8).map(|number| begin(&server, &format!("long{number}"), &body)).collect();
    let decided: Vec<TcpStream> = (0..8).map(|number| ask(&server, DECISIONS, &decision(number))).collect();
    std::thread::sleep(Duration::from_secs(1));
    server.signal("-TERM");
    assert_eq!(server.ended_within(PATIENCE), Some(0));
    drop((judged, decided));
    // An attempt is kept with its receipt, or not at all: here 8 cores judge all of them in time, and 2 do not.
    let server = Server::start(&home, &[]);
    for number in 0..8 {
        let (status, step) = server.get(&format!("/v1/steps/long{number}/s"), "");
        assert!(status == 404 || listed(&step, "receipts").len() == 1, "{status}: {}", step.to_text());
    }
}

#[test]
fn a_server_ends_while_jobs_run_and_clients_listen() {
    let home = Home::new();
    let server = Server::start(&home, &["--jobs", "1"]);
    let endless = suite("import time\ndef f(x):\n    while True: time.sleep(60)\n");
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
