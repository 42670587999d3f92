//! The transparency log over HTTP: its files, proofs, witnesses, mirrors and monitors, as processes of their own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use proofmark_receipt::Json;
use proofmark_testing::{Home, python_with};

use crate::client::{DECISIONS, MAIL, NOTE, text};
use crate::server::{PROOFMARK, Server};

const ORIGIN: &str = "log.example/proofmark";

pub(crate) fn run(home: &Path, arguments: &[&str]) -> Output {
    Command::new(PROOFMARK).args(arguments).env("PROOFMARK_HOME", home).env("NO_COLOR", "1").output().unwrap()
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What a command says that has to succeed.
pub(crate) fn done(home: &Path, arguments: &[&str]) -> String {
    let output = run(home, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    out(&output)
}

pub(crate) fn member(json: &str, name: &str) -> Json {
    Json::parse(json.as_bytes()).unwrap().as_object().unwrap().get(name).unwrap().clone()
}

/// Begins the log of a home; its key.
pub(crate) fn begin(home: &Home) -> String {
    let place = home.store();
    let arguments = ["log", "init", ORIGIN, "--json", "--store", place.to_str().unwrap()];
    member(&done(home.path(), &arguments), "key").as_str().unwrap().to_owned()
}

/// A witness that is killed when it is dropped.
pub(crate) struct Witness {
    child: Child,
    pub(crate) url: String,
    pub(crate) key: String,
}

impl Witness {
    pub(crate) fn start(home: &Path, number: u32, policy: &Path) -> Self {
        let name = format!("w{number}");
        if !home.join("keys").join(format!("{name}.pem")).exists() {
            done(home, &["key", "new", &name]);
        }
        let state = home.join(&name);
        let mut child = Command::new(PROOFMARK)
            .args(["log", "witness", "--name", &format!("witness.example/{name}"), "--key", &name])
            .args(["--listen", "127.0.0.1:0", "--log-policy", policy.to_str().unwrap()])
            .args(["--state", state.to_str().unwrap()])
            .env("PROOFMARK_HOME", home)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.find(|line| line.contains("witness on ")).unwrap();
        // Its log is read to the end, or it would wait for the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let (_, rest) = line.split_once("witness on ").unwrap();
        let (url, key) = rest.split_once(" with the key ").unwrap();
        Self { child, url: url.to_owned(), key: key.trim_end_matches('"').to_owned() }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn file(home: &Home, name: &str, text: &str) -> PathBuf {
    let path = home.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Asks until the answer has this status: checkpoints follow what is stored.
pub(crate) fn until(server: &Server, path: &str, wanted: impl Fn(u16, &str) -> bool) -> String {
    for _ in 0..6_000 {
        let (status, body) = server.send(&format!("GET {path} HTTP/1.1"), "");
        if wanted(status, &body) {
            return body;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{path}: {:?}", server.send(&format!("GET {path} HTTP/1.1"), ""));
}

#[test]
fn a_decision_is_proven_with_witnesses_and_others_follow_the_log() {
    let home = Home::new();
    let watching = Home::new();
    let key = begin(&home);
    let logs = file(&home, "logs.txt", &format!("log {key}\nquorum none\n"));
    let witnesses = [1, 2].map(|number| Witness::start(watching.path(), number, &logs));
    let named = |number: usize| {
        let Witness { url, key, .. } = &witnesses[number];
        format!("witness w{number} {key} {url}\n")
    };
    let policy = format!("log {key}\n{}{}group both all w0 w1\nquorum both\n", named(0), named(1));
    let policy = file(&home, "policy.txt", &policy);
    let policy = policy.to_str().unwrap();
    let server = Server::start(&home, &["--log", "--log-policy", policy]);
    let (_, decision) = server.send(DECISIONS, NOTE);
    let id = text(&Json::parse(decision.as_bytes()).unwrap(), "decision_id").to_owned();
    // Cosignatures follow the checkpoint.
    let has_all = |status: u16, proof: &str| status == 200 && proof.matches('\u{2014}').count() == 3;
    let proof = until(&server, &format!("/v1/decisions/{id}/proof"), has_all);

    // Anybody verifies it offline, by keys that they know.
    let elsewhere = Home::new();
    let proof = file(&elsewhere, "decision.tlog-proof", &proof);
    let arguments = ["log", "verify", proof.to_str().unwrap(), "--log-policy", policy, "--max-age", "1h", "--json"];
    let found = done(elsewhere.path(), &arguments);
    assert_eq!(member(&found, "answer").as_str(), Some("valid"), "{found}");
    assert_eq!(member(&found, "witnessed").as_str(), Some("met"), "{found}");
    let document = file(&elsewhere, "decision.json", &decision);
    let checked = ["receipt", "verify", document.to_str().unwrap(), "--proof", proof.to_str().unwrap()];
    let checked = run(elsewhere.path(), &[&checked[..], &["--log-policy", policy, "--json"]].concat());
    assert!(out(&checked).contains(r#""witnessed":"met""#), "{checked:?}");

    let base = format!("{}/log", server.base());
    for path in ["/log/tile/0/000", "/log/tile/0/000.p/0", "/log/tile/0/000.p/01", "/log/tile/9/000.p/1", "/log/tile/x"]
    {
        assert_eq!(server.send(&format!("GET {path} HTTP/1.1"), "").0, 404, "{path}");
    }
    let copy = elsewhere.path().join("copy");
    let state = elsewhere.path().join("state");
    let (copy, state) = (copy.to_str().unwrap(), state.to_str().unwrap());
    for action in [MAIL, NOTE] {
        let before = member(
            &done(elsewhere.path(), &["log", "mirror", copy, "--from", &base, "--log-policy", policy, "--json"]),
            "entries",
        );
        let fsck = done(elsewhere.path(), &["log", "fsck", copy, "--log-policy", policy, "--json"]);
        assert_eq!(member(&fsck, "entries"), before);
        done(elsewhere.path(), &["log", "fsck", &base, "--log-policy", policy]);
        done(elsewhere.path(), &["log", "monitor", &base, "--log-policy", policy, "--state", state]);
        let size = before.as_number().unwrap().to_string();
        server.send(DECISIONS, action);
        until(&server, "/log/checkpoint", |status, note| {
            status == 200 && note.lines().nth(1) != Some(size.as_str()) && note.matches('\u{2014}').count() == 3
        });
    }
    checked_by_another_program(&base, &key, &witnesses.each_ref().map(|witness| witness.key.as_str()));

    // A witness that was killed goes on with what it has cosigned.
    let [first, _second] = witnesses;
    drop(first);
    let again = Witness::start(watching.path(), 1, &logs);
    let origin = proofmark_receipt::Sha256Digest::of(ORIGIN.as_bytes()).to_string().replace("sha256:", "");
    let address = again.url.trim_start_matches("http://").to_owned();
    let client = crate::client::Client { address };
    let (status, note) = client.send(&format!("GET /{origin}/checkpoint HTTP/1.1"), "");
    assert!(status == 200 && note.starts_with(ORIGIN), "{status} {note}");
    assert_eq!(client.send("POST /add-checkpoint HTTP/1.1", "old 0\n\nno note").0, 400);
}

/// A reader of C2SP logs by others: the checkpoint, its cosignatures, every tile and every entry.
fn checked_by_another_program(base: &str, key: &str, witnesses: &[&str]) {
    const PROGRAM: &str = "
import sys, urllib.request
from aics_tlog.checkpoint import checkpoint_from_note, verify_checkpoint
from aics_tlog.note import parse_vkey
from aics_tlog.remote import HttpTileReader
from aics_tlog.verified import audit_tiles
base, key, *witnesses = sys.argv[1:]
note = urllib.request.urlopen(base + '/checkpoint').read().decode()
checkpoint, parsed = checkpoint_from_note(note)
result = verify_checkpoint(parsed, parse_vkey(key), [parse_vkey(one) for one in witnesses], len(witnesses))
assert result.ok, result
report = audit_tiles(HttpTileReader(base), checkpoint.size, checkpoint.root)
print('agreed', checkpoint.size, report)
";
    let Some(python) = python_with("aics_tlog", "aics-tlog") else { return };
    let output = Command::new(python).args(["-c", PROGRAM, base, key]).args(witnesses).output().unwrap();
    assert!(output.status.success() && out(&output).starts_with("agreed "), "{output:?}");
}

#[test]
fn two_histories_shown_to_two_clients_are_found() {
    let (home, fork, client) = (Home::new(), Home::new(), Home::new());
    let key = begin(&home);
    begin(&fork);
    // The same key signs for another store, what no log may do: as an operator who shows each client its own history.
    std::fs::remove_dir_all(fork.path().join("log")).unwrap();
    for folder in ["log", "log/keys"] {
        std::fs::create_dir(fork.path().join(folder)).unwrap();
        for entry in std::fs::read_dir(home.path().join(folder)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() && entry.file_name() != "checkpoint" {
                std::fs::copy(entry.path(), fork.path().join(folder).join(entry.file_name())).unwrap();
            }
        }
    }
    fork.sql("DELETE FROM log_state");
    let policy = file(&client, "policy.txt", &format!("log {key}\nquorum none\n"));
    let policy = policy.to_str().unwrap();
    let state = client.path().join("state");
    let servers = [&home, &fork].map(|home| Server::start(home, &["--log"]));
    for server in &servers {
        server.send(DECISIONS, NOTE);
        until(server, "/log/checkpoint", |status, note| status == 200 && note.lines().nth(1) == Some("1"));
    }
    let look = |server: &Server| {
        let url = format!("{}/log", server.base());
        run(client.path(), &["log", "monitor", &url, "--log-policy", policy, "--state", state.to_str().unwrap()])
    };
    assert!(look(&servers[0]).status.success());
    let found = look(&servers[1]);
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    assert!(out(&found).contains("split_view"), "{found:?}");
    let kept = std::fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(kept.into_iter().any(|name| name.starts_with("other-")), "both are kept as evidence");
    // The server no longer signs for a store that has lost entries, and says so.
    home.sql("DELETE FROM log_entries WHERE number = 1");
    servers[0].until(|status| status.contains("\"log\":"));
    // Without a log nothing is shown.
    let none = Home::new();
    let server = Server::start(&none, &[]);
    let (status, body) = server.send("GET /log/checkpoint HTTP/1.1", "");
    assert!(status == 404 && body.contains("--log"), "{body}");
}
