//! The transparency log: every document has one entry, stored with it, in the order of the commits.

use proofmark_receipt::{Sha256Digest, Trust};
use proofmark_store::{
    Checking, Filter, LogChange, LogEntry, LogState, LogTile, NewReceipt, Store, StoreError, Tenant,
};

use crate::samples::{Home, Local, chained, decision, draft, id, sign, single};

engines! {
    every_document_has_an_entry_once,
    a_document_that_is_refused_has_no_entry,
    a_change_of_the_log_that_was_overtaken_changes_nothing,
    a_store_without_a_log_gets_one_with_all_that_is_stored,
    the_check_names_what_is_not_in_the_log,
}

fn entries(store: &Store) -> Vec<Sha256Digest> {
    store.log_entries(0, 1_000).unwrap()
}

fn digest(number: u8) -> Sha256Digest {
    Sha256Digest::from_bytes([number; 32])
}

fn every_document_has_an_entry_once(home: &Home) {
    let store = home.open();
    let tenant: Tenant = "a".parse().unwrap();
    let receipt = sign(draft(id(0, 1)));
    store.local().submit(single(id(0, 1))).wait().unwrap();
    let written = store.local().submit(chained(id(0, 2), "nightly")).wait().unwrap();
    store.of(&tenant).submit(decision(1, "x", 1, true)).wait().unwrap();
    // The same receipt, of another tenant.
    store.of(&tenant).submit(NewReceipt::received(receipt.clone(), Trust::Trusted)).wait().unwrap();
    store.local().submit(LogEntry(digest(9))).wait().unwrap();
    store.local().submit(LogEntry(digest(9))).wait().unwrap();
    let decided = store.all_tenants_last_decision().unwrap().unwrap().hash;
    let expected = [receipt.hash(), written.receipt.unwrap().hash(), decided, digest(9)];
    assert_eq!(entries(&store), expected);
    assert_eq!(store.log_length().unwrap(), 4);
    assert_eq!(expected.map(|digest| store.log_index(&digest).unwrap()), [Some(0), Some(1), Some(2), Some(3)]);
    assert_eq!(store.log_index(&digest(8)).unwrap(), None);
    assert_eq!(store.log_entries(1, 2).unwrap(), expected[1..3]);
    assert_eq!(store.log_entries(4, 10).unwrap(), []);
}

fn a_document_that_is_refused_has_no_entry(home: &Home) {
    let store = home.open();
    let pending = [1, 1, 2].map(|number| store.local().submit(single(id(0, number))));
    let answers = pending.map(|one| one.wait().map(drop));
    assert_eq!(answers, [Ok(()), Err(StoreError::Duplicate(id(0, 1))), Ok(())]);
    assert_eq!(entries(&store), [1, 2].map(|number| sign(draft(id(0, number))).hash()));
}

fn a_change_of_the_log_that_was_overtaken_changes_nothing(home: &Home) {
    let store = home.open();
    let tile = |byte| vec![LogTile { level: 0, index: 0, hashes: vec![byte; 64] }];
    let state = |signed, text: &str| LogState { integrated: 2, signed, checkpoint: text.to_owned() };
    let first = LogChange { from: LogState::default(), to: state(0, ""), tiles: tile(1) };
    assert!(store.change_log(first.clone()).unwrap());
    assert!(!store.change_log(LogChange { tiles: tile(2), ..first }).unwrap());
    assert_eq!(store.log_tile(0, 0).unwrap(), Some(vec![1; 64]));
    let signed = LogChange { from: state(0, ""), to: state(2, "a note"), tiles: tile(3) };
    assert!(store.change_log(signed.clone()).unwrap());
    assert_eq!(store.log_state().unwrap(), state(2, "a note"));
    assert_eq!(store.log_tile(0, 0).unwrap(), Some(vec![3; 64]));
    assert_eq!(store.log_tile(1, 0).unwrap(), None);
    assert!(!store.change_log(signed).unwrap());
}

fn a_store_without_a_log_gets_one_with_all_that_is_stored(home: &Home) {
    let store = home.open();
    let tenant: Tenant = "a".parse().unwrap();
    let receipt = sign(draft(id(0, 1)));
    store.of(&tenant).submit(decision(1, "x", 1, true)).wait().unwrap();
    store.local().submit(single(id(0, 1))).wait().unwrap();
    store.of(&tenant).submit(NewReceipt::received(receipt, Trust::Trusted)).wait().unwrap();
    store.local().submit(single(id(0, 2))).wait().unwrap();
    let [decided, first, second] = entries(&store).try_into().unwrap();
    drop(store);
    for table in ["log_entries", "log_tiles", "log_state"] {
        home.sql(&format!("DROP TABLE {table}"));
    }
    let store = home.open();
    assert_eq!(entries(&store), [first, second, decided]);
    store.local().submit(single(id(0, 3))).wait().unwrap();
    assert_eq!(entries(&store)[3], sign(draft(id(0, 3))).hash());
    assert_eq!(store.all_tenants_receipts(&Filter::default()).unwrap().receipts.len(), 4);
}

fn the_check_names_what_is_not_in_the_log(home: &Home) {
    let store = home.open();
    (1..=3).for_each(|number| drop(store.local().submit(single(id(0, number))).wait().unwrap()));
    assert_eq!(codes(&store), [""; 0]);
    home.sql("DELETE FROM log_entries WHERE number = 2");
    assert_eq!(codes(&store), ["missing", "not_logged"]);
    assert!(matches!(store.log_entries(0, 10), Err(StoreError::Damaged { .. })));
    home.sql("DELETE FROM log_entries WHERE number = 3");
    let state = LogState { integrated: 3, signed: 3, checkpoint: String::new() };
    assert!(store.change_log(LogChange { from: LogState::default(), to: state, tiles: Vec::new() }).unwrap());
    assert_eq!(codes(&store), ["checkpoint_ahead", "not_logged", "not_logged"]);
}

fn codes(store: &Store) -> Vec<&'static str> {
    let mut codes = Vec::new();
    let checking = Checking {
        judge: &mut |_| Ok(proofmark_store::Used::default()),
        found: &mut |wrong| codes.push(wrong.code),
        progress: &mut |_, _| {},
    };
    store.check(checking).unwrap();
    codes
}
