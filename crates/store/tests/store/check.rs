use std::path::Path;

use proofmark_store::{CheckedStore, Checking, CopyOrder, CopyWatch, Place, Store, StoredDocument, Used, Wrong, copy};
use rusqlite::Connection;

use crate::full::fill;
use crate::samples::{decision_id, folder, id};

/// What is found in a store, as its code and table, and what was verified.
fn check(place: impl Into<Place>) -> (Vec<Wrong>, CheckedStore) {
    let store = Store::open(place.into()).unwrap();
    let (mut found, mut documents) = (Vec::new(), 0);
    let checking = Checking {
        judge: &mut |document| {
            documents += u64::from(is_signed(&document));
            Ok(Used::default())
        },
        found: &mut |wrong| found.push(wrong),
        progress: &mut |_, _| {},
    };
    let checked = store.check(checking).unwrap();
    assert_eq!(checked.faults, found.len() as u64);
    let unreadable = found.iter().filter(|wrong| wrong.code == "unreadable" && wrong.table != "jobs").count() as u64;
    assert_eq!(documents, checked.receipts + checked.decisions + checked.entries - unreadable);
    (found, checked)
}

fn is_signed(document: &StoredDocument<'_>) -> bool {
    matches!(document, StoredDocument::Receipt(_) | StoredDocument::Decision(_) | StoredDocument::Entry { .. })
}

fn codes(found: &[Wrong]) -> Vec<(&str, &str)> {
    found.iter().map(|wrong| (wrong.code, wrong.table)).collect()
}

fn full(path: &Path) {
    fill(&Store::open(path).unwrap());
}

#[test]
fn a_store_with_rows_in_every_table_is_sound() {
    let (_folder, path) = folder();
    full(&path);
    let (found, checked) = check(&path);
    assert_eq!(found, []);
    let expected = CheckedStore { receipts: 15, chains: 2, decisions: 6, sessions: 1, entries: 3, faults: 0 };
    assert_eq!(checked, expected);
}

#[test]
fn an_empty_store_is_sound() {
    let (_folder, path) = folder();
    drop(Store::open(&path).unwrap());
    assert_eq!(check(&path), (Vec::new(), CheckedStore::default()));
}

/// What somebody does to the rows, and what is found of it.
const DAMAGE: &[(&str, &[(&str, &str)])] = &[
    // Documents and columns.
    (
        "UPDATE receipts SET document = replace(document, 'acp-tx', 'acp-ty') WHERE sequence = 3",
        &[("changed", "receipts")],
    ),
    ("UPDATE receipts SET document = '{' WHERE sequence = 3", &[("unreadable", "receipts")]),
    ("UPDATE receipts SET task_id = 'else' WHERE sequence = 3", &[("column", "receipts")]),
    ("UPDATE receipts SET content = zeroblob(32) WHERE sequence = 3", &[("column", "receipts")]),
    (
        "UPDATE decisions SET document = replace(document, '{\"decision_id\"', '{\"a\":1,\"decision_id\"') WHERE position = 1",
        &[("changed", "decisions")],
    ),
    ("UPDATE decisions SET document = 'x' WHERE position = 4", &[("unreadable", "decisions")]),
    (
        "UPDATE session_entries SET document = replace(document, 'entry_id', 'entry_ie') WHERE position = 1",
        &[("changed", "session_entries")],
    ),
    // Places.
    ("UPDATE receipts SET position = 9 WHERE chain_id = 1 AND position = 5", &[("gap", "receipts")]),
    (
        "UPDATE receipts SET position = 99 WHERE sequence = 1; UPDATE receipts SET position = 0 WHERE sequence = 3;
      UPDATE receipts SET position = 1 WHERE sequence = 1",
        &[("link", "receipts"), ("link", "receipts"), ("link", "receipts")],
    ),
    ("UPDATE receipts SET sequence = 1000 WHERE sequence = 1", &[("order", "receipts"), ("times", "receipt_times")]),
    ("DELETE FROM session_entries WHERE position = 1", &[("gap", "session_entries")]),
    (
        "DELETE FROM decisions WHERE position = 2",
        &[("gap", "decisions"), ("counts", "decision_counts"), ("counts", "agent_counts"), ("orphan", "counted")],
    ),
    ("UPDATE decisions SET nth = 7 WHERE position = 1", &[("gap", "decisions")]),
    // Rows that are missing at the end of a chain show in what is counted.
    (
        "DELETE FROM receipts WHERE chain_id = 2 AND position = 4",
        &[("counts", "receipt_counts"), ("counts", "receipt_counts"), ("counts", "verdict_counts")],
    ),
    (
        "DELETE FROM receipts WHERE chain_id = 2",
        &[("counts", "receipt_counts"), ("counts", "receipt_counts"), ("counts", "verdict_counts")],
    ),
    // What is kept beside the rows.
    ("UPDATE receipt_counts SET receipts = receipts + 1 WHERE chain_id = 2", &[("counts", "receipt_counts")]),
    ("DELETE FROM receipt_counts WHERE chain_id = 0 AND standing = 'superseded'", &[("counts", "receipt_counts")]),
    ("UPDATE verdict_counts SET receipts = receipts - 1 WHERE tenant = 'local'", &[("counts", "verdict_counts")]),
    ("UPDATE decision_counts SET decisions = 9 WHERE mode = '' AND allowed", &[("counts", "decision_counts")]),
    ("DELETE FROM agent_counts WHERE agent = 'ann'", &[("counts", "agent_counts")]),
    ("UPDATE receipt_times SET earliest = 0", &[("times", "receipt_times")]),
    (
        "DELETE FROM decision_times",
        &[
            ("times", "decision_times"),
            ("times", "decision_times"),
            ("times", "decision_times"),
            ("times", "decision_times"),
            ("times", "decision_times"),
            ("times", "decision_times"),
        ],
    ),
    ("DELETE FROM waiting", &[("waiting", "waiting")]),
    (
        "UPDATE waiting SET sequence = 1, first = 1",
        &[("waiting", "waiting"), ("waiting", "waiting"), ("waiting", "waiting")],
    ),
    ("UPDATE waiting SET asked = 1", &[("waiting", "waiting")]),
    ("UPDATE jobs SET bytes = 99 WHERE state = 'waiting'", &[("job", "jobs")]),
    ("UPDATE chains SET tenant = 'else' WHERE chain_id = 1", &[("column", "chains")]),
    (
        "UPDATE receipts SET superseded_by = 1 WHERE superseded_by IS NOT NULL",
        &[("spent", "receipts"), ("column", "receipts")],
    ),
    ("UPDATE reviews SET subject = 'else' WHERE verdict = 'denied'", &[("column", "reviews")]),
    ("UPDATE reviews SET fingerprint = 'else' WHERE verdict = 'denied'", &[("column", "reviews")]),
    ("UPDATE reviews SET receipt_id = NULL", &[("column", "reviews")]),
    ("UPDATE decisions SET tool = 'else' WHERE tool IS NOT NULL", &[("column", "decisions")]),
    ("UPDATE pins SET document = '[]'", &[("column", "pins")]),
    ("UPDATE waiting SET first = 99", &[("waiting", "waiting")]),
    ("DELETE FROM awaited", &[("awaited", "awaited")]),
    (
        "INSERT INTO awaited SELECT tenant, decision_id, expires_at FROM decisions WHERE position = 2",
        &[("awaited", "awaited")],
    ),
    ("INSERT INTO awaited VALUES ('local', 'none', 1)", &[("awaited", "awaited")]),
    ("INSERT INTO asked VALUES ('none', '{}')", &[("orphan", "asked")]),
    ("INSERT INTO requests VALUES (99, '{}')", &[("orphan", "requests")]),
    // What was spent is not to be spent again.
    ("DELETE FROM spent WHERE content = (SELECT content FROM receipts WHERE position = 5)", &[("spent", "receipts")]),
    (
        "UPDATE receipts SET superseded_by = 99 WHERE superseded_by IS NOT NULL",
        &[("superseded", "receipts"), ("spent", "receipts")],
    ),
    ("UPDATE jobs SET job_id = zeroblob(16) WHERE state = 'done'", &[("job", "jobs"), ("unreadable", "jobs")]),
    ("UPDATE clock SET latest = 0", &[("clock", "clock")]),
];

#[test]
fn whatever_somebody_changed_is_found() {
    let (folder, path) = folder();
    full(&path);
    let damaged = folder.path().join("damaged.db");
    let mut wrong = Vec::new();
    for (damage, expected) in DAMAGE {
        std::fs::copy(&path, &damaged).unwrap();
        Connection::open(&damaged).unwrap().execute_batch(&format!("PRAGMA foreign_keys = off; {damage}")).unwrap();
        let (found, _) = check(&damaged);
        if codes(&found) != *expected {
            wrong.push(format!("{damage}: {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_fault_names_its_row() {
    let (_folder, path) = folder();
    full(&path);
    let damage = "UPDATE receipts SET document = '{' WHERE sequence = 1;
                  UPDATE decisions SET document = '{' WHERE position = 2";
    Connection::open(&path).unwrap().execute_batch(damage).unwrap();
    let rows: Vec<String> = check(&path).0.into_iter().map(|wrong| wrong.row).collect();
    assert_eq!(rows, [id(1, 0).to_string(), decision_id(3)]);
}

#[test]
fn the_caller_judges_signatures() {
    let (_folder, path) = folder();
    full(&path);
    let store = Store::open(&path).unwrap();
    let mut found = Vec::new();
    let checking = Checking {
        judge: &mut |document| match document {
            StoredDocument::Receipt(receipt) if receipt.receipt_id() == id(3, 1) => Err("bad".to_owned()),
            StoredDocument::Decision(decision) if decision.decision_id == decision_id(2) => Err("bad".to_owned()),
            StoredDocument::Entry { id: entry, .. } if entry == id(5, 0).to_string() => Err("bad".to_owned()),
            _ => Ok(Used::default()),
        },
        found: &mut |wrong| found.push(wrong),
        progress: &mut |_, _| {},
    };
    store.check(checking).unwrap();
    assert_eq!(
        codes(&found),
        [("signature", "receipts"), ("signature", "decisions"), ("signature", "session_entries")]
    );
}

#[test]
fn a_database_is_verified_as_a_file_is() {
    let Some(database) = proofmark_testing::postgres::database() else { return };
    let (_folder, path) = folder();
    full(&path);
    let (url, before) = (database.url(), check(&path));
    let order = CopyOrder { from: Place::from(&path), to: Place::parse(&url), with_faults: false };
    copy(&order, &mut CopyWatch { progress: &mut |_, _, _| {}, fault: &mut |_| {} }).unwrap();
    assert_eq!(check(Place::parse(&url)), before);
    let damage = "UPDATE receipts SET document = replace(document, 'acp-tx', 'acp-ty') WHERE sequence = 3;
                  DELETE FROM waiting; DELETE FROM awaited; UPDATE receipt_times SET earliest = 0;
                  DELETE FROM session_entries WHERE position = 1; UPDATE jobs SET state = 'done';
                  UPDATE agent_counts SET decisions = 9 WHERE allowed";
    drop(database.psql(damage));
    let expected = [
        ("changed", "receipts"),
        ("times", "receipt_times"),
        ("counts", "agent_counts"),
        ("waiting", "waiting"),
        ("awaited", "awaited"),
        ("gap", "session_entries"),
        ("job", "jobs"),
    ];
    assert_eq!(codes(&check(Place::parse(&url)).0), expected);
}
