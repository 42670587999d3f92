//! The attacks: what a tenant does that takes what it can get.

use std::io::{Error, ErrorKind, Result, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::Tally;
use super::client::{Caller, Client, Request};
use super::server::Server;

/// An attack on a server.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// What is stored before it.
    pub(crate) prepare: fn(&Server) -> anyhow::Result<()>,
    /// How many threads it has.
    pub(crate) clients: u64,
    /// What the thread of this number does until it is told to stop.
    pub(crate) act: fn(&Server, u64, &AtomicBool, &Tally),
}

/// All attacks.
pub(crate) const ATTACKS: [Attack; 12] = [
    Attack { name: "find", prepare: wait_for_reviews, clients: 16, act: find },
    Attack { name: "large-bodies", prepare: nothing, clients: 6, act: large_bodies },
    Attack { name: "workflows", prepare: nothing, clients: 64, act: workflows },
    Attack { name: "large-pages", prepare: decide_much, clients: 40, act: large_pages },
    Attack { name: "gzip-bombs", prepare: nothing, clients: 32, act: gzip_bombs },
    Attack { name: "lists-not-read", prepare: decide_much, clients: 1, act: lists_not_read },
    Attack { name: "members", prepare: nothing, clients: 40, act: members },
    Attack { name: "decisions", prepare: nothing, clients: 64, act: decisions },
    Attack { name: "sign-ins", prepare: nothing, clients: 64, act: sign_ins },
    Attack { name: "slow-heads", prepare: nothing, clients: 1, act: slow_heads },
    Attack { name: "trickling-bodies", prepare: nothing, clients: 1, act: trickling_bodies },
    Attack { name: "held-streams", prepare: nothing, clients: 1, act: held_streams },
];

/// How long a client waits that was refused: the hint of the server is a second.
const AFTER_REFUSAL: Duration = Duration::from_millis(20);
/// How often each connection that is held gets a byte, or is looked at.
const ROUND: Duration = Duration::from_millis(500);

/// 16 MB of decisions that wait: how many, and the bytes of each.
const WAITING: u64 = 40;
const WAITING_BYTES: usize = 400_000;
/// Decisions that fill a page, and the bytes of each.
const STORED: u64 = 1_000;
const STORED_BYTES: usize = 8_000;
/// The longest bodies of a verification and of a decision.
const VERIFICATION_BYTES: usize = 16 << 20;
const BODY_BYTES: usize = 4 << 20;
const STEPS: usize = 1_000;
const MEMBERS: usize = 40_000;
/// Connections that are held.
const LISTS: usize = 250;
const HEADS: usize = 1_024;
const HELD: usize = 1_023;

fn nothing(_: &Server) -> anyhow::Result<()> {
    Ok(())
}

fn action(tool: &str, class: &str, args: &str) -> String {
    format!(r#"{{"action": {{"tool": "{tool}", "class": "{class}", "args": {args}}}}}"#)
}

fn wait_for_reviews(server: &Server) -> anyhow::Result<()> {
    for number in 0..WAITING {
        let args = format!(r#"{{"number": {number}, "text": "{}"}}"#, "word ".repeat(WAITING_BYTES / 5));
        let decide = Request::post("/v1/decisions", &action("pay", "system_change", &args));
        server.prepare(&server.greedy, &decide)?;
    }
    Ok(())
}

fn decide_much(server: &Server) -> anyhow::Result<()> {
    for number in 0..STORED {
        let args = format!(r#"{{"number": {number}, "text": "{}"}}"#, "word ".repeat(STORED_BYTES / 5));
        server.prepare(&server.greedy, &Request::post("/v1/decisions", &action("note", "record_mutation", &args)))?;
    }
    Ok(())
}

/// Sends requests, each when the one before is answered.
fn again_and_again(server: &Server, caller: &Caller, stop: &AtomicBool, tally: &Tally, next: impl Fn(u64) -> Request) {
    let (mut client, mut number) = (None, 0);
    while !stop.load(Ordering::Relaxed) {
        let request = next(number);
        let answer = server.connected(&mut client, caller).and_then(|client| client.ask(&request, caller));
        tally.count(&answer);
        number += 1;
        if !matches!(answer, Ok(200..400)) {
            // A server that refuses a body before it has read it closes the connection.
            client = None;
            std::thread::sleep(AFTER_REFUSAL);
        }
    }
}

fn find(server: &Server, _: u64, stop: &AtomicBool, tally: &Tally) {
    let Ok(cookie) = signed_in(server) else { return tally.count(&Err(Error::from(ErrorKind::PermissionDenied))) };
    again_and_again(server, &server.reviewer, stop, tally, |number| {
        Request::get(&format!("/ui/waiting?find=nowhere{number}")).with(&format!("cookie: {cookie}"))
    });
}

/// The cookie of a sign-in.
fn signed_in(server: &Server) -> anyhow::Result<String> {
    let (head, _) = server.prepare(&server.reviewer, &sign_in(server))?;
    let set = head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    Ok(set.and_then(|cookie| cookie.split(';').next()).unwrap_or_default().to_owned())
}

fn sign_in(server: &Server) -> Request {
    Request {
        method: "POST",
        path: "/ui/sign-in".to_owned(),
        headers: format!("content-type: application/x-www-form-urlencoded\r\norigin: {}\r\n", server.origin()),
        body: format!("key={}&to=/ui/waiting", server.reviewer.key).into_bytes(),
    }
}

fn sign_ins(server: &Server, _: u64, stop: &AtomicBool, tally: &Tally) {
    again_and_again(server, &server.reviewer, stop, tally, |_| sign_in(server));
}

/// A list of zeros that is so long.
fn zeros(bytes: usize) -> String {
    format!("[{}0]", "0,".repeat(bytes / 2))
}

fn large_bodies(server: &Server, _: u64, stop: &AtomicBool, tally: &Tally) {
    let body = format!(r#"{{"output": {{"content": "x"}}, "verification": {}}}"#, zeros(VERIFICATION_BYTES - 100));
    let request = Request::post("/v1/verifications", &body);
    again_and_again(server, &server.greedy, stop, tally, |_| request.clone());
}

fn workflows(server: &Server, client: u64, stop: &AtomicBool, tally: &Tally) {
    let step = |number: usize| {
        format!(
            r#"{{"id": "s{number}", "verification": {{"evidence": [{{"path": "a.b.c", "expect": "present", "rejectMessage": "{}"}}]}}}}"#,
            "it is missing ".repeat(20)
        )
    };
    let steps = (0..STEPS).map(step).collect::<Vec<_>>().join(",");
    let body = format!(
        r#"{{"workflow": {{"name": "w", "class": "readonly", "steps": [{steps}]}}, "response": "```result\n{{\"a\": {{\"b\": {{}}}}}}\n```\n"}}"#
    );
    again_and_again(server, &server.greedy, stop, tally, |number| {
        Request::post(&format!("/v1/steps/r{client}.{number}/s0/attempts"), &body)
    });
}

fn large_pages(server: &Server, _: u64, stop: &AtomicBool, tally: &Tally) {
    again_and_again(server, &server.greedy, stop, tally, |_| Request::get("/v1/decisions?limit=1000"));
}

fn gzip_bombs(server: &Server, number: u64, stop: &AtomicBool, tally: &Tally) {
    let (path, bytes) = match number % 2 {
        0 => ("/v1/verifications", VERIFICATION_BYTES),
        _ => ("/v1/decisions", BODY_BYTES),
    };
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    // To a vector; nothing can fail.
    drop(packer.write_all(format!(r#"{{"action": {}}}"#, zeros(bytes - 100)).as_bytes()));
    let mut request = Request::post(path, "").with("content-encoding: gzip");
    request.body = packer.finish().unwrap_or_default();
    again_and_again(server, &server.greedy, stop, tally, |_| request.clone());
}

fn members(server: &Server, client: u64, stop: &AtomicBool, tally: &Tally) {
    let args = (0..MEMBERS).map(|number| format!(r#""m{number}": {number}"#)).collect::<Vec<_>>().join(",");
    again_and_again(server, &server.greedy, stop, tally, |number| {
        let args = format!(r#"{{"client": {client}, "number": {number}, {args}}}"#);
        Request::post("/v1/decisions", &action("pay", "system_change", &args))
    });
}

fn decisions(server: &Server, client: u64, stop: &AtomicBool, tally: &Tally) {
    again_and_again(server, &server.greedy, stop, tally, |number| {
        Request::post("/v1/decisions", &server.note(client << 32 | number))
    });
}

/// Holds this many connections open, opens those anew that the server has closed, and sends each something now and then.
fn hold(
    server: &Server,
    many: usize,
    stop: &AtomicBool,
    tally: &Tally,
    begin: impl Fn(&mut Client) -> Result<()>,
    go_on: impl Fn(&mut Client) -> Result<()>,
) {
    let open = || {
        let mut client = server.connect(&server.greedy)?;
        begin(&mut client)?;
        client.stream().set_nonblocking(true)?;
        Ok(client)
    };
    let mut held: Vec<Client> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        while held.len() < many && !stop.load(Ordering::Relaxed) {
            match open() {
                Ok(client) => held.push(client),
                Err(error) => {
                    tally.count(&Err(error));
                    break;
                }
            }
        }
        std::thread::sleep(ROUND);
        let before = held.len();
        held.retain_mut(|client| match go_on(client) {
            Ok(()) => !client.is_closed(),
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        });
        (held.len()..before).for_each(|_| tally.count(&Err(Error::from(ErrorKind::ConnectionReset))));
    }
}

fn lists_not_read(server: &Server, _: u64, stop: &AtomicBool, tally: &Tally) {
    let list = Request::get("/v1/decisions?limit=1000");
    hold(server, LISTS, stop, tally, |client| client.send(&list, &server.greedy), |_| Ok(()));
}

fn slow_heads(server: &Server, _: u64, stop: &AtomicBool, tally: &Tally) {
    let begin = |client: &mut Client| client.stream().write_all(b"POST /v1/decisions HTTP/1.1\r\nx-slow: ");
    hold(server, HEADS, stop, tally, begin, |client| client.stream().write_all(b"x"));
}

fn trickling_bodies(server: &Server, _: u64, stop: &AtomicBool, tally: &Tally) {
    let begin = |client: &mut Client| {
        let head = format!(
            "POST /v1/decisions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {BODY_BYTES}\r\n\r\n",
            server.greedy.key
        );
        client.stream().write_all(head.as_bytes())
    };
    hold(server, HELD, stop, tally, begin, |client| client.stream().write_all(b" "));
}

/// Follows one job that sleeps.
fn held_streams(server: &Server, _: u64, stop: &AtomicBool, tally: &Tally) {
    const SLEEP: &str = r#"{"output": {"content": "import time\ndef f(x):\n    time.sleep(50)\n    return x\n"}, "verification": {"kind": "test_suite",
        "language": "python", "entrypoint": "f", "limits": {"timeout_ms": 60000}, "tests": [{"name": "one", "input": [1], "expected_output": 1}]}}"#;
    let verify = Request::post("/v1/verifications", SLEEP).with("prefer: respond-async");
    let begun = server.prepare(&server.greedy, &verify);
    let place = begun
        .ok()
        .and_then(|(head, _)| Some(head.lines().find_map(|line| line.strip_prefix("location: "))?.to_owned()));
    let Some(place) = place else { return tally.count(&Err(Error::from(ErrorKind::NotFound))) };
    let follow = Request::get(&format!("{place}/events"));
    hold(server, HELD, stop, tally, |client| client.send(&follow, &server.greedy), |_| Ok(()));
}
