//! The Model Context Protocol over HTTP, with what no client would send.

use std::io::{Read, Write};
use std::net::TcpStream;

use proofmark_testing::Home;

use crate::server::{Server, keys, new_key};

pub(crate) const GREETING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// A call that takes some seconds.
const SLOW: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"cb_verify_work","arguments":{"output":{"content":"import time\ndef f(x):\n    time.sleep(3)\n    return x"},"verification":{"kind":"test_suite","language":"python","entrypoint":"f","limits":{"timeout_ms":30000},"tests":[{"name":"a","input":[1],"expected_output":1}]}}}}"#;

#[test]
fn a_call_with_the_id_of_another_is_refused_over_http() {
    let home = Home::new();
    let server = Server::start(&home);
    let address = &server.address;
    let session = || {
        let (_, greeted) = post(address, "host: localhost", GREETING);
        let session = greeted.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
        format!("host: localhost\r\n{session}")
    };
    let (ours, other) = (session(), session());
    let list = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    std::thread::scope(|scope| {
        // Whichever comes first is worked on for some seconds.
        let both = [(); 2].map(|()| scope.spawn(|| post(address, &ours, SLOW)));
        assert!(post(address, &other, list).1.contains(r#""result""#), "sessions number their own calls");
        let answers = both.map(|one| one.join().unwrap());
        let with = |part: &str| answers.iter().filter(|(status, said)| *status == 200 && said.contains(part)).count();
        let counts = (with(r#""id":7,"error":{"code":-32600,"#), with(r#"\"verdict\":\"pass\""#));
        assert_eq!(counts, (1, 1), "{answers:?}");
    });
    assert!(post(address, &ours, list).1.contains(r#""result""#), "of a call that is answered the id is free again");
}

#[test]
fn a_call_whose_client_left_holds_its_id_only_while_it_is_worked_on() {
    let home = Home::new();
    let server = Server::start(&home);
    let address = &server.address;
    let (_, greeted) = post(address, "host: localhost", GREETING);
    let session = greeted.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
    let head = format!("host: localhost\r\n{session}");
    let mut left = TcpStream::connect(address).unwrap();
    let accept = "accept: application/json, text/event-stream\r\ncontent-type: application/json";
    write!(left, "POST /mcp HTTP/1.1\r\n{head}\r\n{accept}\r\ncontent-length: {}\r\n\r\n{SLOW}", SLOW.len()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    drop(left);
    let list = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    let again = || post(address, &head, list).1.contains(r#""result""#);
    let wait = || std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(
        (0..150).any(|_| again() || {
            wait();
            false
        }),
        "the id is held for ever"
    );
}

#[test]
fn ending_a_session_is_answered_as_clients_expect() {
    let home = Home::new();
    let server = Server::start(&home);
    let (_, greeted) = post(&server.address, "host: localhost", GREETING);
    let session = greeted.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
    // The Python client takes 200 and 204 for success, and warns of anything else.
    let ended = server.try_send(&format!("DELETE /mcp HTTP/1.1\r\n{session}"), b"").unwrap();
    assert_eq!(ended, (204, String::new()));
    let (status, _) = post(
        &server.address,
        &format!("host: localhost\r\n{session}"),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
    );
    assert_eq!(status, 404, "it has ended");
}

#[test]
fn pages_and_other_hosts_are_refused_without_keys() {
    let home = Home::new();
    let server = Server::start(&home);
    let address = &server.address;
    assert_eq!(post(address, "host: localhost", GREETING).0, 200);
    assert_eq!(post(address, "host: evil.example", GREETING).0, 403);
    assert_eq!(post(address, "host: localhost\r\norigin: http://evil.example", GREETING).0, 403);
    for garbage in ["", "garbage", "[]", r#"{"id":1,"id":2}"#] {
        let (status, answer) = post(address, "host: localhost", garbage);
        assert!((400..500).contains(&status), "{garbage}: {answer}");
    }
    assert_eq!(post(address, "host: localhost", GREETING).0, 200);
}

#[test]
fn keys_hold_and_tenants_do_not_see_each_others_decisions() {
    let home = Home::new();
    let ((ours, one), (theirs, two)) = (new_key("bot", "agent", "acme.shop"), new_key("eve", "agent", "other.shop"));
    let server = Server::with_keys(&home, &keys(&[&one, &two]));
    let address = &server.address;
    assert_eq!(post(address, "host: proofmark.example", GREETING).0, 401);
    let ask = |key: &str, call: &str| {
        let head = format!("host: proofmark.example\r\nauthorization: Bearer {key}");
        let (_, greeted) = post(address, &head, GREETING);
        let session = greeted.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
        let message = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{call}}}"#);
        post(address, &format!("{head}\r\n{session}"), &message)
    };
    let note = r#"{"name":"decide_action","arguments":{"action":{"tool":"add_note","class":"record_mutation"}}}"#;
    let (status, decided) = ask(&ours, note);
    assert_eq!(status, 200, "{decided}");
    let (_, rest) = decided.split_once(r#""decision_id":""#).unwrap();
    let get = format!(r#"{{"name":"get_receipt","arguments":{{"id":"{}"}}}}"#, rest.split('"').next().unwrap());
    assert!(ask(&ours, &get).1.contains("add_note") || ask(&ours, &get).1.contains("record_mutation"));
    assert!(ask(&theirs, &get).1.contains("no receipt with that id"));
}

/// The answer to one call of a tool, in a session of its own.
pub(crate) fn called(address: &str, tool: &str, arguments: &str) -> String {
    let head = format!("host: {address}");
    let (_, greeted) = post(address, &head, GREETING);
    let session = greeted.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    );
    post(address, &format!("{head}\r\n{session}"), &call).1
}

pub(crate) fn post(address: &str, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let accept = "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\nconnection: close";
    write!(stream, "POST /mcp HTTP/1.1\r\n{head}\r\n{accept}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}
