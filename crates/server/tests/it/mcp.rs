//! The Model Context Protocol over HTTP, with what no client would send.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

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

/// The session that a greeting begins, as the head of later requests.
fn begun(address: &str) -> String {
    let (_, greeted) = post(address, "host: localhost", GREETING);
    let session = greeted.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
    format!("host: localhost\r\n{session}")
}

/// The same call, of a client that wants to know how far it is.
fn slow_with_progress() -> String {
    SLOW.replace(r#""name":"cb_verify_work""#, r#""_meta":{"progressToken":"p"},"name":"cb_verify_work""#)
}

#[test]
fn a_lost_stream_is_followed_again_until_the_answer() {
    let home = Home::new();
    let server = Server::start(&home);
    let head = begun(&server.address);
    let call = slow_with_progress();
    let mut left = TcpStream::connect(&server.address).unwrap();
    let accept = "accept: application/json, text/event-stream\r\ncontent-type: application/json";
    write!(left, "POST /mcp HTTP/1.1\r\n{head}\r\n{accept}\r\ncontent-length: {}\r\n\r\n{call}", call.len()).unwrap();
    let mut lines = BufReader::new(left.try_clone().unwrap()).lines().map_while(Result::ok);
    let first = lines.by_ref().find(|line| line.starts_with("id: ")).unwrap();
    assert!(lines.by_ref().any(|line| line.contains("notifications/progress")));
    drop((lines, left));
    let follow = |last: &str| {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let end = "accept: text/event-stream\r\nconnection: close";
        write!(stream, "GET /mcp HTTP/1.1\r\n{head}\r\nlast-event-id: {last}\r\n{end}\r\n\r\n").unwrap();
        let mut whole = String::new();
        stream.read_to_string(&mut whole).unwrap();
        whole
    };
    let whole = follow(first.trim_start_matches("id: "));
    assert!(whole.contains("notifications/progress") && whole.contains(r#"\"verdict\":\"pass\""#), "{whole}");
    // Nobody waits for a stream of what is over, or never was.
    for gone in [first.trim_start_matches("id: "), "99-0", "0", "x"] {
        let whole = follow(gone);
        assert!(whole.starts_with("HTTP/1.1 200 ") && !whole.contains("data:"), "{gone}: {whole}");
    }
}

#[test]
fn a_call_is_cancelled_by_its_session_only_and_its_stream_ends_without_an_answer() {
    let home = Home::new();
    let server = Server::start(&home);
    let [ours, other] = [(); 2].map(|()| begun(&server.address));
    let address = &server.address;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    std::thread::scope(|scope| {
        let calls = [&ours, &other].map(|head| scope.spawn(move || post(address, head, &slow_with_progress())));
        std::thread::sleep(std::time::Duration::from_millis(1_000));
        assert_eq!(post(address, &ours, cancel).0, 202);
        let [cancelled, answered] = calls.map(|call| call.join().unwrap());
        assert!(cancelled.0 == 200 && !cancelled.1.contains("verdict"), "{cancelled:?}");
        assert!(answered.1.contains(r#"\"verdict\":\"pass\""#), "{answered:?}");
    });
    // The id is free again.
    assert!(post(address, &ours, r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).1.contains(r#""result":{}"#));
}

#[test]
fn headers_and_members_that_contradict_each_other_are_refused() {
    let home = Home::new();
    let server = Server::start(&home);
    let address = &server.address;
    let session = begun(address);
    let list =
        |meta: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#);
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let whole = list(&format!(r#"{version},"io.modelcontextprotocol/clientCapabilities":{{}}"#));
    let (method, plain) = ("mcp-method: tools/list", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let named = "host: localhost\r\nmcp-protocol-version: 2026-07-28";
    let with_method = format!("{named}\r\n{method}");
    for (head, body, expected) in [
        (with_method.as_str(), whole.as_str(), (200, "\"resultType\":\"complete\"")),
        (named, &whole, (400, "-32020")),
        ("host: localhost", &whole, (400, "-32020")),
        (&with_method, plain, (400, "-32602")),
        (&with_method, &list(version), (400, "-32602")),
        (&with_method.replace("tools/list", "ping"), &whole, (400, "-32020")),
        (&format!("{with_method}\r\n{method}"), &whole, (400, "-32020")),
        (&with_method.replace("tools/list", "initialize"), &whole.replace("tools/list", "initialize"), (404, "-32601")),
        (&with_method.replace("list", "fly"), &whole.replace("list", "fly"), (404, "-32601")),
        (&with_method.replace("2026", "2099"), &whole.replace("2026", "2099"), (400, "-32022")),
        (named, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, (400, "-32600")),
        (&format!("{session}\r\nmcp-protocol-version: x"), plain, (400, "-32022")),
        (&format!("{session}\r\nmcp-protocol-version: 2025-11-25"), plain, (200, "\"result\"")),
        (&format!("{session}\r\n{}", session.lines().last().unwrap()), plain, (400, "invalid_session")),
        (&session, &format!("[{plain}]"), (400, "-32600")),
        (&session, &plain.replace("tools/list", "tools/fly"), (200, "-32601")),
        ("host: localhost", plain, (400, "no_session")),
        ("host: localhost\r\nmcp-session-id: nobodys", plain, (404, "not_found")),
        ("host: localhost\r\nmcp-protocol-version: 2025-11-25", GREETING, (400, "-32600")),
        ("host: localhost", &GREETING.replace("clientInfo", "client"), (400, "-32602")),
    ] {
        let (status, answer) = post(address, head, body);
        assert!(status == expected.0 && answer.contains(expected.1), "{head}\n{body}\n{answer}");
    }
    for accept in ["*/*", "application/json", "application/json, text/event-stream;q=0.0"] {
        let head = format!("POST /mcp HTTP/1.1\r\naccept: {accept}");
        assert_eq!(server.try_send(&head, GREETING.as_bytes()).unwrap().0, 406, "{accept}");
    }
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

/// Begins sessions as a client, each by a connection of its own, and prints the status of each.
const FLOOD: &str = r#"
for number in $(seq "$2"); do
  exec 3<>"/dev/tcp/${1%:*}/${1##*:}"
  printf 'POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept: application/json, text/event-stream\r\n' >&3
  printf 'content-type: application/json\r\ncontent-length: %s\r\n\r\n%s' "${#3}" "$3" >&3
  read -r version status rest <&3
  echo "$status"
  exec 3>&-
done
"#;

/// An account without rights.
const NOBODY: u32 = 65_534;

#[test]
fn without_keys_one_account_leaves_sessions_for_another() {
    let home = Home::new();
    let server = Server::start(&home);
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let mut flood = Command::new("bash");
    flood.args(["-c", FLOOD, "flood", &server.address, "140", GREETING]);
    if is_root {
        flood.uid(NOBODY).gid(NOBODY);
    }
    let told = flood.output().unwrap();
    let statuses = String::from_utf8_lossy(&told.stdout);
    let count = |status: &str| statuses.lines().filter(|line| *line == status).count();
    assert_eq!((count("200"), count("429")), (128, 12), "{statuses}{}", String::from_utf8_lossy(&told.stderr));
    // Where the test is not run by root, there is no other account.
    let own = post(&server.address, "host: localhost", GREETING).0;
    assert_eq!(own, if is_root { 200 } else { 429 });
}
