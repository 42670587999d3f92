//! A client of a server, in process or not, and what tests send.

use std::io::{Read, Write};
use std::net::TcpStream;

use proofmark_receipt::Json;

pub(crate) const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/tests/support/policy.yaml");
pub(crate) const NOTE: &str =
    r#"{"action": {"tool": "add_note", "class": "record_mutation", "args": {"text": "done"}}}"#;
pub(crate) const MAIL: &str =
    r#"{"action": {"tool": "send_email", "class": "external_message_send", "args": {"to": "a"}}}"#;
pub(crate) const DECISIONS: &str = "POST /v1/decisions HTTP/1.1\r\ncontent-type: application/json";
/// A verification whose client waits for the receipt, however slow the machine is.
pub(crate) const VERIFY: &str = "POST /v1/verifications HTTP/1.1\r\ncontent-type: application/json\r\nprefer: wait=300";
pub(crate) const AS_JOB: &str = "POST /v1/verifications HTTP/1.1\r\nprefer: respond-async";
/// For two minutes: jobs are slow where the machine is busy.
const TRIES: u32 = 2_400;

pub(crate) const GOOD: &str = "def f(x):\n    return x + 1\n";
pub(crate) const WRONG: &str = "def f(x):\n    return x\n";

/// Where a server listens.
pub(crate) struct Client {
    pub(crate) address: String,
}

impl Client {
    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    pub(crate) fn try_send(&self, head: &str, body: &[u8]) -> std::io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address)?;
        write_request(&mut stream, head, body)?;
        answer(&mut stream)
    }

    pub(crate) fn send(&self, head: &str, body: &str) -> (u16, String) {
        self.try_send(head, body.as_bytes()).unwrap()
    }

    pub(crate) fn get(&self, path: &str, key: &str) -> (u16, Json) {
        let (status, body) = self.send(&format!("GET {path} HTTP/1.1\r\nauthorization: Bearer {key}"), "");
        (status, Json::parse(body.as_bytes()).unwrap_or_else(|_| panic!("no JSON: {body}")))
    }

    pub(crate) fn post(&self, path: &str, key: &str, body: &str) -> (u16, Json) {
        // On a slow machine, verifications would be answered with jobs.
        let head = format!("POST {path} HTTP/1.1\r\nauthorization: Bearer {key}\r\nprefer: wait=300");
        let (status, body) = self.send(&head, body);
        (status, Json::parse(body.as_bytes()).unwrap_or_else(|_| panic!("no JSON: {body}")))
    }
}

/// Sends a request in JSON, after which the connection closes.
pub(crate) fn write_request(stream: &mut TcpStream, head: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    let json = if head.contains("content-type:") { "" } else { "content-type: application/json\r\n" };
    write!(stream, "{head}\r\nhost: localhost\r\nconnection: close\r\n{json}content-length: {length}\r\n\r\n")?;
    stream.write_all(body)
}

/// Status and body of the answer to a request that was sent.
pub(crate) fn answer(stream: &mut TcpStream) -> std::io::Result<(u16, String)> {
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
    Ok((status, body.to_owned()))
}

/// A request for `f(1)` to be 2.
pub(crate) fn suite(source: &str) -> String {
    let source = Json::from(source).to_text();
    format!(
        r#"{{"task_id": "t", "output": {{"content": {source}}}, "verification": {{"kind": "test_suite", "language": "python", "entrypoint": "f",
        "limits": {{"timeout_ms": 60000}}, "tests": [{{"name": "one", "input": [1], "expected_output": 2}}]}}}}"#
    )
}

pub(crate) fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap_or_else(|_| panic!("no JSON: {text}"))
}

pub(crate) fn job(server: &Client, source: &str) -> String {
    let (status, job) = server.send(AS_JOB, &suite(source));
    assert_eq!(status, 202, "{job}");
    text(&json(&job), "job_id")
}

/// The job, once it is in this state.
pub(crate) fn once(server: &Client, id: &str, state: &str) -> Json {
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

pub(crate) fn verified(server: &Client, key: &str) -> Json {
    let (status, receipt) = server.post("/v1/verifications", key, &suite(GOOD));
    assert_eq!(status, 200, "{}", receipt.to_text());
    receipt
}

pub(crate) fn text(json: &Json, name: &str) -> String {
    json.as_object().unwrap().get(name).unwrap().as_str().unwrap().to_owned()
}

pub(crate) fn listed(json: &Json, name: &str) -> Vec<Json> {
    json.as_object().unwrap().get(name).unwrap().as_array().unwrap().to_vec()
}

/// `error.code` of a problem.
pub(crate) fn code(problem: &Json) -> String {
    text(problem.as_object().unwrap().get("error").unwrap(), "code")
}
