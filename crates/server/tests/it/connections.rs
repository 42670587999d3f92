//! Clients that are slow, idle, or many.

use std::io::Write;
use std::net::TcpStream;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proofmark_testing::Home;

use crate::client::{DECISIONS, NOTE, answer};
use crate::server::Server;

#[test]
fn slow_clients_keep_nobody_waiting() {
    let home = Home::new();
    let server = Server::start(&home);
    // More than the 256 requests that are worked on at once: one that is still arriving is not worked on.
    let mut slow: Vec<TcpStream> = (0..300).map(|_| server.connect()).collect();
    for (number, stream) in slow.iter_mut().enumerate() {
        let head = if number % 2 == 0 {
            "POST /v1/deci".to_owned()
        } else {
            format!("{DECISIONS}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", NOTE.len())
        };
        stream.write_all(head.as_bytes()).unwrap();
    }
    let answered = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (trickling, answered) = (&mut slow, &answered);
        scope.spawn(move || {
            for byte in NOTE.as_bytes().iter().take(8) {
                for stream in trickling.iter_mut().skip(1).step_by(2) {
                    stream.write_all(&[*byte]).unwrap();
                }
                if answered.load(Ordering::Relaxed) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        for _ in 0..20 {
            assert_eq!(server.send(DECISIONS, NOTE).0, 200);
            assert_eq!(server.get("/healthz", "").0, 200);
        }
        answered.store(true, Ordering::Relaxed);
    });
    // Who is slow and honest is answered in the end: the server has not dropped them for the others' sake.
    let mut one = server.connect();
    write!(one, "{DECISIONS}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", NOTE.len())
        .unwrap();
    NOTE.as_bytes().chunks(9).for_each(|part| one.write_all(part).unwrap());
    assert_eq!(answer(&mut one).unwrap().0, 200);
}

#[test]
fn a_thousand_idle_connections_keep_nobody_waiting() {
    const IDLE: usize = 1_000;
    if open_files() < 2 * IDLE {
        let reason = format!("this process may have {} files open; run `ulimit -n 4096` first", open_files());
        return proofmark_testing::skip("open-files", &reason);
    }
    let home = Home::new();
    let server = Server::start(&home);
    let idle: Vec<TcpStream> = (0..IDLE).map(|_| server.connect()).collect();
    for _ in 0..20 {
        assert_eq!(server.send(DECISIONS, NOTE).0, 200);
    }
    drop(idle);
    assert_eq!(server.get("/readyz", "").0, 200);
}

#[test]
fn a_list_that_its_client_has_left_ends_in_the_database() {
    let Some(home) = Home::in_postgres() else { return };
    let (server, database) = (Server::start(&home), home.database().unwrap());
    let waiting = || {
        database.psql(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
             AND pid <> pg_backend_pid() AND query LIKE '%once_0%'",
        )
    };
    let holder = "FROM pg_locks WHERE relation = 'decisions'::regclass AND mode = 'AccessExclusiveLock' AND granted";
    std::thread::scope(|scope| {
        // It ends by being cut off.
        let holding = scope.spawn(|| {
            let hold = "BEGIN; LOCK TABLE decisions IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(1000)";
            std::panic::catch_unwind(AssertUnwindSafe(|| database.psql(hold))).is_err()
        });
        while database.psql(&format!("SELECT count(*) {holder}")) == "0" {}
        let mut client = server.connect();
        client.write_all(b"GET /v1/decisions HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        while waiting() == "0" {}
        let left = Instant::now();
        drop(client);
        while waiting() != "0" {}
        // By itself the database ends a statement after 20 s.
        assert!(left.elapsed() < Duration::from_secs(12), "{:?}", left.elapsed());
        assert_eq!(database.psql(&format!("SELECT count(pg_terminate_backend(pid)) {holder}")), "1");
        assert!(holding.join().unwrap());
    });
    assert_eq!(server.get("/v1/decisions", "").0, 200);
}

/// How many files this process, and so the server it starts, may have open.
fn open_files() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    line.and_then(|line| line.split_whitespace().nth(3)?.parse().ok()).unwrap_or(0)
}
