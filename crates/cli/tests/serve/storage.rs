//! Disks and databases that fail.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use proofmark_testing::Home;

use crate::client::{MAIL, NOTE, code, listed, text};
use crate::log::{begin, done, until};
use crate::server::{Server, serve, serves_at};

/// A small file system of its own, unmounted when it is dropped.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path, size: &str) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(at)
            .stderr(Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(at))
    }

    /// Leaves no room.
    fn fill(&self) {
        let mut filler = std::fs::File::create(self.0.join("filler")).unwrap();
        for size in [4096, 1] {
            while filler.write_all(&vec![0; size]).is_ok() {}
        }
    }

    fn make_room(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(self.0).status());
    }
}

#[test]
fn a_full_disk_is_said_nothing_is_lost_and_it_goes_on() {
    // The disk of PostgreSQL is full in a test of the store.
    let home = Home::in_file();
    let Some(disk) = SmallDisk::mount(home.path(), "4m") else {
        return proofmark_testing::skip("root", "only root may mount a small disk");
    };
    let server = Server::start(&home, &[]);
    let (status, first) = server.post("/v1/decisions", "", NOTE);
    assert_eq!(status, 200);
    let mut kept = vec![text(&first, "decision_id")];
    disk.fill();
    let mut refused = 0;
    for number in 0..200 {
        match server.post("/v1/decisions", "", &NOTE.replace("done", &format!("{number} {}", "long ".repeat(2_000)))) {
            (200, receipt) => kept.push(text(&receipt, "decision_id")),
            (503, problem) => {
                assert_eq!(code(&problem), "store_unavailable");
                refused += 1;
            }
            (status, answer) => panic!("{status}: {}", answer.to_text()),
        }
        if refused == 3 {
            break;
        }
    }
    assert_eq!(refused, 3, "the disk was not full");
    server.said("no space is left");
    assert_eq!(server.get("/healthz", "").0, 200);
    // What a probe found is answered for three seconds.
    server.until(|status| status.contains("store_unavailable"));
    assert_eq!(server.get("/readyz", "").0, 503);
    disk.make_room();
    // What was found is answered for some seconds.
    let ready = || server.get("/readyz", "").0 == 200;
    assert!((0..120).any(|_| ready() || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        false
    }));
    let (status, last) = server.post("/v1/decisions", "", NOTE);
    assert_eq!(status, 200, "{}", last.to_text());
    kept.push(text(&last, "decision_id"));
    are_there(&server, &kept);
    drop(server);
    are_there(&Server::start(&home, &[]), &kept);
}

/// What a server logs whose log cannot go on.
const STUCK: &str = "the log cannot be signed or copied";

#[test]
fn on_a_full_disk_the_log_loses_nothing_that_was_answered() {
    // The disk of PostgreSQL is full in a test of the store.
    let home = Home::in_file();
    let Some(disk) = SmallDisk::mount(home.path(), "32m") else {
        return proofmark_testing::skip("root", "only root may mount a small disk");
    };
    let key = begin(&home);
    let elsewhere = tempfile::tempdir().unwrap();
    let policy = elsewhere.path().join("policy.txt");
    std::fs::write(&policy, format!("log {key}\nquorum none\n")).unwrap();
    let fsck = |log: &str| done(home.path(), &["log", "fsck", log, "--log-policy", policy.to_str().unwrap()]);
    // The copy is on the same disk: neither tiles nor files nor checkpoints can be written.
    let public = home.path().join("public");
    let public = public.to_str().unwrap();
    let server = Server::start(&home, &["--log", "--log-tiles", public]);
    let decide = |number: usize| {
        let note = NOTE.replace("done", &format!("{number} {}", "long ".repeat(2_000)));
        let (status, receipt) = server.post("/v1/decisions", "", &note);
        (status == 200).then(|| text(&receipt, "decision_id"))
    };
    let mut answered: Vec<String> = (0..20).filter_map(decide).collect();
    assert_eq!(answered.len(), 20);
    until(&server, "/log/checkpoint", |status, note| status == 200 && note.lines().nth(1) == Some("20"));
    for round in 1.. {
        answered.extend((100 * round..).take(30).filter_map(decide));
        disk.fill();
        // Until nothing can be stored: what was answered before that is not signed yet, or is being signed.
        answered.extend((10_000 * round..).take(1_000).map_while(decide));
        let is_stuck = Cell::new(false);
        let size = answered.len().to_string();
        server.until(|status| {
            // Where the store cannot be written either, the status says only that.
            is_stuck.set(status.contains("\"log\":") || server.has_said(STUCK));
            is_stuck.get() || server.send("GET /log/checkpoint HTTP/1.1", "").1.lines().nth(1) == Some(&size)
        });
        if is_stuck.get() {
            break;
        }
        // All was signed before the disk was full.
        disk.make_room();
    }
    server.said(STUCK);
    disk.make_room();
    // It goes on by itself.
    server.until(|status| status.contains("\"status\":\"ready\"") && !status.contains("\"log\":"));
    for id in &answered {
        until(&server, &format!("/v1/decisions/{id}/proof"), |status, _| status == 200);
    }
    server.until(|status| !status.contains("\"log\":"));
    fsck(&format!("{}/log", server.base()));
    fsck(public);
    drop(server);
    let store = home.store();
    done(home.path(), &["log", "fsck", "--store", store.to_str().unwrap()]);
    are_there(&Server::start(&home, &[]), &answered);
}

fn are_there(server: &Server, ids: &[String]) {
    let (status, page) = server.get("/v1/decisions?limit=1000", "");
    assert_eq!(status, 200);
    let kept: Vec<String> = listed(&page, "decisions").iter().rev().map(|kept| text(kept, "decision_id")).collect();
    assert_eq!(kept, ids);
}

#[test]
fn a_database_another_process_locks_is_said() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    assert_eq!(server.post("/v1/decisions", "", NOTE).0, 200);
    let held = home.hold();
    let (status, problem) = server.post("/v1/decisions", "", MAIL);
    assert_eq!((status, code(&problem).as_str()), (503, "store_unavailable"));
    server.said("another process keeps it locked");
    // Who only reads is not kept waiting.
    assert_eq!(server.get("/v1/decisions", "").0, 200);
    drop(held);
    assert_eq!(server.post("/v1/decisions", "", MAIL).0, 200);
}

#[test]
fn a_damaged_database_is_not_served_and_not_touched() {
    // What is damaged is the file.
    let home = Home::in_file();
    let store = home.path().join("proofmark.db");
    let server = Server::start(&home, &[]);
    assert_eq!(server.post("/v1/decisions", "", NOTE).0, 200);
    server.signal("-TERM");
    assert_eq!(server.ended().0, Some(0));
    let whole = std::fs::read(&store).unwrap();
    assert!(!home.path().join("proofmark.db-wal").exists(), "a store that was closed needs no log");
    let beginning = [vec![0x55; 100].as_slice(), &whole[100..]].concat();
    let schema = [&whole[..100], vec![0x55; 3_996].as_slice(), &whole[4_096..]].concat();
    for damaged in [beginning, schema, b"something else entirely".to_vec(), whole[..1_000].to_vec()] {
        std::fs::write(&store, &damaged).unwrap();
        let done = serve(&home, &[]).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains("damaged") || said.contains("not a Proofmark database"), "{said}");
        assert!(std::fs::read(&store).unwrap() == damaged, "the file was changed: {said}");
    }
}

#[test]
fn a_log_nobody_reads_changes_no_answer() {
    let home = Home::new();
    let mut child = serve(&home, &[]).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("serving on ") {
        line.clear();
        assert!(log.read_line(&mut line).unwrap() > 0, "it did not begin to serve");
    }
    drop(log);
    let server = Server::of(child, &serves_at(&line).unwrap());
    home.sql("ALTER TABLE decisions RENAME TO elsewhere");
    for _ in 0..2 {
        let (status, problem) = server.post("/v1/decisions", "", NOTE);
        assert_eq!((status, code(&problem).as_str()), (503, "store_unavailable"));
    }
}
