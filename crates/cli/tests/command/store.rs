//! Copies and checks of stores.

use std::fs;

use insta::assert_snapshot;
use proofmark_receipt::{Json, Receipt};

use crate::run::{Place, RIGHT, request};

/// A store with two receipts on a chain.
fn place() -> Place {
    let place = Place::new();
    let file = place.file("right.json", request(RIGHT));
    for _ in 0..2 {
        assert_eq!(place.run(&["verify", &file, "--chain", "nightly", "--store", "old.db"]).code, 0);
    }
    place
}

/// Changes bytes of the store's file, wherever they are; the old ones and the new ones have one length.
fn overwrite(place: &Place, old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    let path = place.path("old.db");
    let mut bytes = fs::read(&path).unwrap();
    let found: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(old)).collect();
    assert!(!found.is_empty());
    found.into_iter().for_each(|at| bytes[at..at + new.len()].copy_from_slice(new));
    fs::write(path, bytes).unwrap();
}

/// The second receipt of the chain.
fn second(place: &Place) -> Receipt {
    let chain = place.run(&["receipt", "export", "--chain", "nightly", "--store", "old.db"]);
    Receipt::parse(chain.stdout.lines().nth(1).unwrap().as_bytes()).unwrap()
}

#[test]
fn a_store_is_copied_and_closed() {
    let place = place();
    let done = place.run(&["store", "copy", "--from", "old.db", "--to", "new.db"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert_snapshot!(done.stdout);
    let file = place.file("right.json", request(RIGHT));
    let refused = place.run(&["verify", &file, "--chain", "nightly", "--store", "old.db"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("it was moved to"), "{}", refused.stderr);
    assert_eq!(place.run(&["receipt", "list", "--store", "old.db"]).code, 0);
    assert_eq!(place.run(&["verify", &file, "--chain", "nightly", "--store", "new.db"]).code, 0);
    let chain = place.run(&["receipt", "export", "--chain", "nightly", "--store", "new.db"]);
    assert_eq!(chain.stdout.lines().count(), 3);
}

#[test]
fn a_copy_is_described_as_json() {
    let place = place();
    let done = place.run(&["store", "copy", "--from", "old.db", "--to", "new.db", "--json"]);
    let object = Json::parse(done.stdout.trim().as_bytes()).unwrap();
    let member = |name: &str| object.as_object().unwrap().get(name).unwrap().to_text();
    assert_eq!([member("receipts"), member("chains"), member("faults"), member("copied_before")], ["2", "1", "0", "0"]);
    // Whatever the name is, no terminal acts on it.
    let (right_to_left, escaped) = ("\u{202e}.db", "\\u202e.db");
    let done = place.run(&["store", "copy", "--from", "new.db", "--to", right_to_left, "--json"]);
    assert!(done.stdout.contains(escaped) && !done.stdout.contains(right_to_left), "{}", done.stdout);
    let done = place.run(&["store", "check", "--store", right_to_left, "--json"]);
    assert!(done.stdout.contains(escaped) && !done.stdout.contains(right_to_left), "{}", done.stdout);
    let again = place.run(&["store", "copy", "--from", "old.db", "--to", "other.db", "--json"]);
    assert_eq!(again.code, 2);
    let error = Json::parse(again.stderr.trim().as_bytes()).unwrap();
    assert!(error.as_object().unwrap().get("error").unwrap().as_str().unwrap().contains("it was moved to"));
}

#[test]
fn faults_are_listed_and_stop_a_copy() {
    let place = place();
    let sound = place.run(&["store", "check", "--store", "old.db"]);
    assert_eq!(sound.code, 0);
    assert_snapshot!("sound", sound.stdout);
    // A character that terminals act on, in a document and in what is said of it.
    let verifier = second(&place).metadata().get("verifier").unwrap().as_str().unwrap().to_owned();
    overwrite(&place, verifier.as_bytes(), format!("\u{1b}[2J{}", &verifier[4..]).as_bytes());
    let found = place.run(&["store", "check", "--store", "old.db"]);
    assert_eq!(found.code, 1, "{}", found.stderr);
    assert!(!found.stdout.contains('\u{1b}'), "{}", found.stdout);
    assert_eq!(
        found.stdout.lines().filter(|line| line.starts_with("unreadable receipts ")).count(),
        2,
        "{}",
        found.stdout
    );
    let lines = place.run(&["store", "check", "--store", "old.db", "--json"]);
    assert_eq!(lines.code, 1);
    let last = lines.stdout.lines().last().unwrap();
    assert!(last.contains("\"sound\":false"), "{last}");
    let refused = place.run(&["store", "copy", "--from", "old.db", "--to", "new.db"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("--with-faults"), "{}", refused.stderr);
    assert_eq!(place.run(&["store", "copy", "--from", "old.db", "--to", "new.db", "--with-faults"]).code, 0);
}

#[test]
fn a_receipt_that_nobody_signed_so_is_found() {
    let place = place();
    // With its hash: only the signature shows it.
    let receipt = second(&place);
    let forged = receipt.to_text().replace("\"proofmark", "\"proofmarx");
    assert_ne!(forged, receipt.to_text());
    overwrite(&place, receipt.to_text().as_bytes(), forged.as_bytes());
    let forged = Receipt::parse(forged.as_bytes()).unwrap();
    overwrite(&place, receipt.hash().as_bytes(), forged.hash().as_bytes());
    overwrite(&place, receipt.content().as_bytes(), forged.content().as_bytes());
    let found = place.run(&["store", "check", "--store", "old.db"]);
    assert_eq!(found.code, 1);
    assert!(found.stdout.starts_with("signature receipts "), "{}", found.stdout);
}

#[test]
fn the_environment_names_the_store_and_an_option_comes_first() {
    let place = place();
    let list = |store: &[&str]| {
        let arguments = [&["receipt", "list", "--json"], store].concat();
        let done = place.run_with(&arguments, &[("PROOFMARK_STORE", "old.db")], b"");
        done.stdout.lines().count()
    };
    assert_eq!(list(&[]), 2);
    let file = place.file("right.json", request(RIGHT));
    assert_eq!(place.run(&["verify", &file, "--store", "else.db"]).code, 0);
    assert_eq!(list(&["--store", "else.db"]), 1);
}

#[test]
fn a_password_on_the_command_line_is_warned_of_and_not_shown() {
    let place = Place::new();
    // Nothing listens at this port.
    let url = "postgres://ann:s3cr3t@127.0.0.1:1/proofs";
    for arguments in [&["receipt", "list", "--store", url][..], &["store", "copy", "--from", url, "--to", "x.db"]] {
        let done = place.run(arguments);
        assert_eq!(done.code, 2);
        assert!(done.stderr.contains("warning: other users of this machine can see the password"), "{}", done.stderr);
        assert!(!done.stderr.contains("s3cr3t"), "{}", done.stderr);
    }
    let done = place.run_with(&["receipt", "list"], &[("PROOFMARK_STORE", url)], b"");
    assert!(!done.stderr.contains("warning") && !done.stderr.contains("s3cr3t"), "{}", done.stderr);
}

#[test]
fn a_hook_does_not_use_the_store_of_the_environment() {
    let place = Place::new();
    assert_eq!(place.run(&["examples"]).code, 0);
    let event =
        br#"{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"a"}}"#;
    let hook = ["hook", "claude", "--policy", "examples/hooks/agent.yaml", "--deadline", "40s"];
    let done = place.run_with(&hook, &[("PROOFMARK_STORE", "else.db")], event);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(!place.path("else.db").exists());
    assert!(place.path("home/proofmark.db").exists(), "{}", done.stderr);
}

#[test]
fn what_hosts_start_is_told_of_the_store_of_the_environment() {
    let place = Place::new();
    let config = ["mcp", "config", "claude"];
    let written = place.run_with(&config, &[("PROOFMARK_STORE", "team.db")], b"");
    assert_eq!(written.code, 0, "{}", written.stderr);
    let path = place.path("team.db").canonicalize().unwrap_or_else(|_| place.path("team.db"));
    assert!(written.stdout.contains("\"--store\"") && written.stdout.contains(&path.display().to_string()));
    let named = place.run_with(
        &["mcp", "config", "claude", "--", "--store", "postgres://ann@db.example/proofs"],
        &[("PROOFMARK_STORE", "team.db")],
        b"",
    );
    assert!(named.stdout.contains("postgres://ann@db.example/proofs"), "{}{}", named.stdout, named.stderr);
    assert!(!named.stdout.contains("team.db"), "{}", named.stdout);
    let url = "postgres://ann:s3cr3t@db.example/proofs";
    let refused = place.run_with(&config, &[("PROOFMARK_STORE", url)], b"");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("its password would stand there") && !refused.stderr.contains("s3cr3t"));
}
