//! Callers that want more than their share leave the others theirs.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proofmark_receipt::object;
use proofmark_testing::Home;

use crate::client::{DECISIONS, NOTE, answer, code, suite, text};
use crate::server::{Server, keys_file, new_key};

/// What comes sooner or later has come by then, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server with the keys of two tenants.
fn of_two(home: &Home) -> (Server, String, String) {
    let (one, first) = new_key("a", "agent", "one.x");
    let (two, second) = new_key("b", "agent", "two.x");
    let file = keys_file(home.path(), &[&first, &second]);
    (Server::start(home, &["--jobs", "1", "--api-keys", &file, "--rate", "100000"]), one, two)
}

fn begin(server: &Server, head: &str, key: &str, body: &str) -> TcpStream {
    let mut stream = server.connect();
    let length = body.len();
    write!(stream, "{head}\r\nauthorization: Bearer {key}\r\nhost: localhost\r\nconnection: close\r\n").unwrap();
    write!(stream, "content-length: {length}\r\n\r\n{body}").unwrap();
    stream
}

#[test]
fn requests_of_one_tenant_leave_places_for_another() {
    let home = Home::new();
    let (server, one, two) = of_two(&home);
    assert_eq!(server.post("/v1/decisions", &one, NOTE).0, 200);
    // While another process has the database, decisions wait and reads do not.
    let held = home.hold();
    let mut asked: Vec<TcpStream> =
        (0..280).map(|number| begin(&server, DECISIONS, &one, &NOTE.replace("done", &number.to_string()))).collect();
    std::thread::sleep(Duration::from_millis(500));
    let (status, page) = server.get("/v1/decisions", &two);
    assert_eq!(status, 200, "{}", page.to_text());
    let waits = |stream: &TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let nothing = stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        stream.set_nonblocking(false).unwrap();
        nothing
    };
    assert!(asked.iter().any(waits), "the read waited for the writes");
    drop(held);
    for stream in &mut asked {
        let status = answer(stream).unwrap().0;
        // A slow machine lets some wait for longer than a request waits for a place.
        assert!(matches!(status, 200 | 429 | 503), "{status}");
    }
}

/// Actions under one limit are decided on one after the other, however they are asked for.
#[test]
fn those_that_wait_for_a_limit_do_not_keep_the_next_one_from_its_turn() {
    let home = Home::new();
    let policy = home.path().join("limit.yaml");
    let limit =
        "version: 1\nboundaries: [{id: all, match: {}, require: [{limit: {id: calls, sum: count, max: 100000}}]}]\n";
    std::fs::write(&policy, limit).unwrap();
    let (key, listed) = new_key("a", "admin", "one.x");
    let file = keys_file(home.path(), &[&listed]);
    let policy = format!("one.x={}", policy.display());
    let options = ["--policy", &policy, "--api-keys", &file, "--rate", "100000"];
    let server = Server::start(&home, &options);
    assert_eq!(server.post("/v1/decisions", &key, NOTE).0, 200);
    let held = home.hold();
    // The first is not on disk, and the second waits for it; both have given their places back.
    let decide = |number: u32| begin(&server, DECISIONS, &key, &NOTE.replace("done", &number.to_string()));
    let mut asked: Vec<TcpStream> = (0..2).map(decide).collect();
    std::thread::sleep(Duration::from_millis(500));
    // These keep theirs, as many as there are.
    let hook = |number: u32| {
        let event = format!(
            r#"{{"hook_event_name":"PreToolUse","session_id":"s{number}","tool_name":"Bash","tool_use_id":"t","tool_input":{{"command":"ls"}},"cwd":"/"}}"#
        );
        let body = object! { "host": "claude", "event": event };
        begin(
            &server,
            "POST /v1/agents/hooks HTTP/1.1\r\ncontent-type: application/json",
            &key,
            &proofmark_receipt::Json::from(body).to_text(),
        )
    };
    asked.extend((0..260).map(hook));
    std::thread::sleep(Duration::from_millis(500));
    drop(held);
    let mut answers = asked.iter_mut().map(|stream| answer(stream).unwrap());
    assert_eq!([answers.next().unwrap().0, answers.next().unwrap().0], [200, 200]);
    for (status, told) in answers {
        assert!(matches!(status, 200 | 429), "{status}: {told}");
    }
}

#[test]
fn many_gets_at_once_are_all_answered() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    assert_eq!(server.post("/v1/decisions", "", NOTE).0, 200);
    let mut asked: Vec<TcpStream> = (0..250).map(|_| begin(&server, "GET /v1/decisions HTTP/1.1", "", "")).collect();
    let refused = asked.iter_mut().map(|stream| answer(stream).unwrap().0).filter(|status| *status != 200).count();
    assert_eq!(refused, 0);
}

#[test]
fn bodies_that_are_announced_and_not_sent_hold_nothing() {
    let home = Home::new();
    let (server, one, two) = of_two(&home);
    let announced: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = server.connect();
            write!(stream, "{DECISIONS}\r\nauthorization: Bearer {one}\r\nhost: localhost\r\n").unwrap();
            write!(stream, "content-length: {}\r\n\r\n{{", 4 << 20).unwrap();
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    for key in [&one, &two] {
        let (status, answer) = server.post("/v1/decisions", key, NOTE);
        assert_eq!(status, 200, "{}", answer.to_text());
    }
    drop(announced);
}

#[test]
fn bodies_that_are_sent_count_until_they_are_answered() {
    let home = Home::new();
    let (server, one, two) = of_two(&home);
    // 40 times 4 MiB but the last byte: more than the 128 MiB that one tenant has.
    let most = " ".repeat((4 << 20) - 1);
    let (refused, posted) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (begun, sent) = (Instant::now(), Barrier::new(41));
    std::thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| {
                let mut stream = server.connect();
                write!(stream, "{DECISIONS}\r\nauthorization: Bearer {one}\r\nhost: localhost\r\n").unwrap();
                write!(stream, "connection: close\r\ncontent-length: {}\r\n\r\n", 4 << 20).unwrap();
                let taken = stream.write_all(most.as_bytes());
                if taken.is_err() {
                    // It did not read on.
                    refused.fetch_add(1, Ordering::Relaxed);
                }
                sent.wait();
                stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
                // Who is over the share is refused before the last byte; who is not is told after a while that it is too slow.
                let is_over = || refused.load(Ordering::Relaxed) > 0 && posted.load(Ordering::Relaxed);
                while taken.is_ok() && !is_over() && begun.elapsed() < PATIENCE {
                    let mut status = [0; 12];
                    match stream.read_exact(&mut status) {
                        Ok(()) if &status == b"HTTP/1.1 408" => break,
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        Ok(()) | Err(_) => {
                            refused.fetch_add(1, Ordering::Relaxed);
                            break;
                        }
                    }
                }
            });
        }
        sent.wait();
        assert_eq!(server.post("/v1/decisions", &two, NOTE).0, 200);
        posted.store(true, Ordering::Relaxed);
    });
    assert!(refused.into_inner() > 0, "nobody was refused");
    assert_eq!(server.post("/v1/decisions", &one, NOTE).0, 200, "what was given up is free again");
}

#[test]
fn half_open_heads_keep_nobody_out() {
    const HALF_OPEN: usize = 4_200;
    /// More than a thousand that nobody has accepted yet would wait for the system, which sends again after seconds.
    const AT_ONCE: usize = 200;
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let files = limits.lines().find(|line| line.starts_with("Max open files"));
    let files: usize = files.and_then(|line| line.split_whitespace().nth(3)?.parse().ok()).unwrap_or(0);
    if files < 2 * HALF_OPEN + 1_000 {
        let reason = format!("this process may have {files} files open; run `ulimit -n 20000` first");
        return proofmark_testing::skip("open-files", &reason);
    }
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let half_open: Vec<TcpStream> = (0..HALF_OPEN)
        .filter_map(|number| {
            let mut stream = TcpStream::connect(&server.address).ok()?;
            stream.write_all(b"GET /healthz HTT").ok()?;
            if number % AT_ONCE == 0 {
                assert_eq!(server.get("/healthz", "").0, 200);
            }
            Some(stream)
        })
        .collect();
    assert!(half_open.len() > 4_096, "{}", half_open.len());
    assert_eq!(server.get("/healthz", "").0, 200);
    // It was not answered because heads had expired: the last one is still waited for.
    let last = half_open.last().unwrap();
    last.set_nonblocking(true).unwrap();
    let still_open = (&*last).read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(still_open, Err(std::io::ErrorKind::WouldBlock));
    for _ in 0..20 {
        assert_eq!(server.get("/healthz", "").0, 200);
        assert_eq!(server.send(DECISIONS, NOTE).0, 200);
    }
}

const MCP: &str = "POST /mcp HTTP/1.1\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream";
const GREETING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// Status, and the whole answer with its head.
pub(crate) fn mcp(server: &Server, key: &str, more: &str, body: &str) -> (u16, String) {
    let mut stream = begin(server, &format!("{MCP}{more}"), key, body);
    let mut whole = String::new();
    stream.read_to_string(&mut whole).unwrap();
    (whole.split(' ').nth(1).unwrap().parse().unwrap(), whole)
}

pub(crate) fn session(server: &Server, key: &str) -> String {
    let (status, whole) = mcp(server, key, "", GREETING);
    assert_eq!(status, 200, "{whole}");
    whole.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap().to_owned()
}

#[test]
fn sessions_of_one_tenant_leave_sessions_for_another_and_are_given_back() {
    let home = Home::new();
    let (server, one, two) = of_two(&home);
    let sessions: Vec<String> = (0..256).map(|_| session(&server, &one)).collect();
    let (status, whole) = mcp(&server, &one, "", GREETING);
    assert!(status == 429 && whole.to_lowercase().contains("retry-after"), "{whole}");
    session(&server, &two);
    let end = format!("DELETE /mcp HTTP/1.1\r\nauthorization: Bearer {one}\r\n{}", sessions[0]);
    assert!(server.send(&end, "").0 < 300);
    let begun = Instant::now();
    while mcp(&server, &one, "", GREETING).0 != 200 {
        assert!(begun.elapsed() < PATIENCE, "a session that ended keeps its place");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn answers_over_mcp_are_not_kept() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let checks: Vec<String> = (0..1_000)
        .map(|number| format!(r#"{{"name": "{}{number}", "constraint": "length <= 10"}}"#, "n".repeat(200)))
        .collect();
    let request = format!(
        r#"{{"output": {{"content": "x"}}, "verification": {{"kind": "schema_check", "checks": [{}]}}}}"#,
        checks.join(",")
    );
    let (status, receipt) = server.post("/v1/verifications", "", &request);
    assert_eq!(status, 200, "{}", receipt.to_text());
    let id = text(&receipt, "receipt_id");
    let session = session(&server, "");
    let get = |number: usize| {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"get_receipt","arguments":{{"id":"{id}"}}}}}}"#
        );
        mcp(&server, "", &format!("\r\n{session}"), &call).1.len()
    };
    let length = get(2);
    assert!(length > 400_000, "{length}");
    (3..13).for_each(|number| assert!(get(number) >= length));
    let before = server.memory();
    (13..113).for_each(|number| assert!(get(number) >= length));
    let grown = server.memory().saturating_sub(before);
    assert!(grown < 32 << 10, "{grown} KiB more after a hundred answers of {length} bytes");
}

#[test]
fn bodies_over_mcp_count_as_all_others() {
    let home = Home::new();
    let (server, one, two) = of_two(&home);
    // Clients number their calls: the answer to one that is numbered as another would be lost.
    let call = |number: usize, length: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"verify_receipt","arguments":{{"receipt":"{}"}}}}}}"#,
            "x".repeat(length)
        )
    };
    let sessions = [&one, &two].map(|key| session(&server, key));
    let (refused, sent, asked) = (AtomicUsize::new(0), Barrier::new(37), AtomicBool::new(false));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..36 {
            let large = call(100 + number, 4_000_000);
            let (server, sessions, one, refused) = (&server, &sessions, &one, &refused);
            let (sent, asked) = (&sent, &asked);
            scope.spawn(move || {
                let mut stream = server.connect();
                let length = large.len();
                write!(stream, "{MCP}\r\n{}\r\nauthorization: Bearer {one}\r\nhost: localhost\r\n", sessions[0])
                    .unwrap();
                write!(stream, "connection: close\r\ncontent-length: {length}\r\n\r\n").unwrap();
                // All but the end of it, so that all of them are there at once.
                let taken = stream.write_all(&large.as_bytes()[..length - 1]);
                sent.wait();
                stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
                let refuse = || {
                    refused.fetch_add(1, Ordering::Relaxed);
                };
                // Who is over the share is refused before the last byte, once the server has read what the others sent.
                let mut status = [0; 12];
                while taken.is_ok() && !asked.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE {
                    match stream.peek(&mut status) {
                        Ok(_) if &status == b"HTTP/1.1 408" => return,
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        Ok(_) | Err(_) => return refuse(),
                    }
                }
                if taken.is_err() {
                    return refuse();
                }
                drop(stream.write_all(&large.as_bytes()[length - 1..]));
                stream.set_read_timeout(None).unwrap();
                drop(stream.read_to_end(&mut Vec::new()));
            });
        }
        sent.wait();
        while refused.load(Ordering::Relaxed) == 0 && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        let (status, _) = mcp(&server, &two, &format!("\r\n{}", sessions[1]), &call(2, 10));
        asked.store(true, Ordering::Relaxed);
        assert_eq!(status, 200);
    });
    assert!(refused.into_inner() > 0, "36 times 4 MB are more than the 128 MiB one tenant has");
    assert_eq!(mcp(&server, &one, &format!("\r\n{}", sessions[0]), &call(3, 4_000_000)).0, 200);
}

#[test]
fn streams_of_one_tenant_leave_streams_for_another() {
    let home = Home::new();
    let (server, one, two) = of_two(&home);
    let job = |key: &str| {
        let head = format!("POST /v1/verifications HTTP/1.1\r\nprefer: respond-async\r\nauthorization: Bearer {key}");
        let (status, job) = server.send(&head, &suite("import time\ndef f(x):\n    while True: time.sleep(60)\n"));
        assert_eq!(status, 202, "{job}");
        text(&proofmark_receipt::Json::parse(job.as_bytes()).unwrap(), "job_id")
    };
    let listen = |key: &str, id: &str| {
        let mut lines = BufReader::new(begin(&server, &format!("GET /v1/jobs/{id}/events HTTP/1.1"), key, "")).lines();
        (lines.next().unwrap().unwrap(), lines)
    };
    let (mine, theirs) = (job(&one), job(&two));
    let mut open: Vec<_> = (0..256).map(|_| listen(&one, &mine)).collect();
    assert!(open.iter().all(|(status, _)| status.contains(" 200 ")));
    let (status, _) = listen(&one, &mine);
    assert!(status.contains(" 429 "), "{status}");
    assert!(listen(&two, &theirs).0.contains(" 200 "));
    open.clear();
    let begun = Instant::now();
    while !listen(&one, &mine).0.contains(" 200 ") {
        assert!(begun.elapsed() < PATIENCE, "a stream that nobody reads keeps its place");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_job_that_runs_nothing_does_not_wait_for_those_that_run() {
    let home = Home::new();
    let (server, one, two) = of_two(&home);
    let head = format!("POST /v1/verifications HTTP/1.1\r\nprefer: respond-async\r\nauthorization: Bearer {one}");
    for _ in 0..3 {
        assert_eq!(server.send(&head, &suite("import time\ndef f(x):\n    while True: time.sleep(60)\n")).0, 202);
    }
    let quick = r#"{"output": {"content": "x"}, "verification": {"kind": "schema_check",
                    "checks": [{"name": "short", "constraint": "length <= 10"}]}}"#;
    for key in [&one, &two] {
        let (status, receipt) = server.post("/v1/verifications", key, quick);
        assert_eq!(status, 200, "{}", receipt.to_text());
        assert_eq!(text(&receipt, "verdict"), "pass");
    }
}

#[test]
fn waiting_requests_have_a_share_of_bytes() {
    let home = Home::new();
    let (server, one, two) = of_two(&home);
    let large = suite(&format!("def f(x):\n    while True: pass\n# {}", "x".repeat(15 << 20)));
    let ask = |key: &str| {
        let head = format!("POST /v1/verifications HTTP/1.1\r\nprefer: respond-async\r\nauthorization: Bearer {key}");
        server.send(&head, &large)
    };
    let refused = (0..8).map(|_| ask(&one)).find(|(status, _)| *status != 202);
    let (status, problem) = refused.unwrap();
    let problem = proofmark_receipt::Json::parse(problem.as_bytes()).unwrap();
    assert_eq!((status, code(&problem).as_str()), (429, "queue_full"));
    assert_eq!(ask(&two).0, 202);
}
