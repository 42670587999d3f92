//! The ends of chains that a home keeps beside its key: a store that is behind them is not extended.

use std::path::Path;

use proofmark_receipt::{LostEnd, Receipt, verify_chain};
use proofmark_store::{Store, StoreError};

use crate::samples::{Home, Local, chained, decision, folder, id};

engines! {
    a_chain_that_lost_its_end_goes_on_when_that_is_accepted,
    another_document_at_a_signed_position_is_a_loss_too,
    a_chain_that_lost_everything_begins_with_the_loss,
    lost_decisions_keep_every_tenant_from_deciding,
}

fn open(home: &Home, ends: &Path) -> Store {
    home.open().keep_ends(ends).unwrap()
}

fn add(store: &Store, number: u32) -> Result<Receipt, StoreError> {
    store.local().submit(chained(id(1, number), "main")).receipt()
}

fn accept(store: &Store) {
    store.accept_losses(&store.losses().unwrap()).unwrap();
}

fn lost(of: &Receipt) -> Option<LostEnd> {
    let tip = of.tip().unwrap();
    Some(LostEnd { position: tip.position, hash: tip.hash })
}

fn a_chain_that_lost_its_end_goes_on_when_that_is_accepted(home: &Home) {
    let ends = tempfile::tempdir().unwrap();
    let (running, other) = (open(home, ends.path()), open(home, ends.path()));
    let receipts: Vec<_> = (0..3).map(|number| add(&running, number).unwrap()).collect();
    home.sql("DELETE FROM receipts WHERE position > 0");
    // A process that runs meanwhile finds it, and so does one that has signed nothing itself; other chains go on.
    for store in [&running, &other] {
        let refused = add(store, 8).unwrap_err();
        assert!(matches!(refused, StoreError::Behind { signed: 2, stored: Some(0), .. }), "{refused:?}");
        assert_eq!(store.require_whole(), Err(refused));
    }
    running.local().submit(chained(id(2, 0), "other")).wait().unwrap();
    accept(&other);
    let after = add(&running, 3).unwrap();
    assert_eq!((after.tip().unwrap().position, after.link().loss()), (1, Ok(lost(&receipts[2]))));
    // Stated once.
    assert_eq!(add(&other, 4).unwrap().link().loss(), Ok(None));
    assert_eq!((running.losses().unwrap(), running.require_whole()), (Vec::new(), Ok(())));
    verify_chain(&running.local().chain("main").unwrap(), None).unwrap();
}

fn another_document_at_a_signed_position_is_a_loss_too(home: &Home) {
    let ends = tempfile::tempdir().unwrap();
    let mine = open(home, ends.path());
    let [_, second] = [0, 1].map(|number| add(&mine, number).unwrap());
    home.sql("DELETE FROM receipts WHERE position = 1");
    // A server with another home knows nothing of it.
    let elsewhere = home.open();
    (2..4).for_each(|number| drop(add(&elsewhere, number).unwrap()));
    let refused = add(&mine, 8).unwrap_err();
    assert!(matches!(refused, StoreError::Behind { signed: 1, stored: Some(2), .. }), "{refused:?}");
    accept(&mine);
    let after = add(&mine, 4).unwrap();
    assert_eq!((after.tip().unwrap().position, after.link().loss()), (3, Ok(lost(&second))));
}

fn a_chain_that_lost_everything_begins_with_the_loss(home: &Home) {
    let ends = tempfile::tempdir().unwrap();
    let store = open(home, ends.path());
    let first = add(&store, 0).unwrap();
    home.sql("DELETE FROM receipts");
    assert!(matches!(add(&store, 8), Err(StoreError::Behind { signed: 0, stored: None, .. })));
    accept(&store);
    assert_eq!(add(&store, 1).unwrap().link().loss(), Ok(lost(&first)));
    verify_chain(&store.local().chain("main").unwrap(), None).unwrap();
}

fn lost_decisions_keep_every_tenant_from_deciding(home: &Home) {
    let ends = tempfile::tempdir().unwrap();
    let store = open(home, ends.path());
    for number in 1..3 {
        store.local().submit(decision(number, "action", number, true)).wait().unwrap();
    }
    home.sql("DELETE FROM decisions WHERE position = 1");
    let other = "other".parse().unwrap();
    let refused = store.of(&other).submit(decision(3, "action", 1, true)).wait().map(drop);
    assert!(matches!(refused, Err(StoreError::Behind { signed: 1, stored: Some(0), .. })), "{refused:?}");
    accept(&store);
    store.of(&other).submit(decision(3, "action", 1, true)).wait().unwrap();
}

#[test]
fn a_hundred_writers_at_once_forget_no_position() {
    let (folder, path) = folder();
    let ends = folder.path().join("ends");
    // Of a hundred that make it at once, many would wait for the others.
    drop(Store::open(&path).unwrap());
    std::thread::scope(|scope| {
        for number in 0..100 {
            let (path, ends) = (&path, &ends);
            scope.spawn(move || {
                let add_one = || add(&Store::open(path)?.keep_ends(ends)?, number);
                // On a busy machine some wait longer than a store waits, and are to try again.
                let ended =
                    std::iter::repeat_with(add_one).find(|added| !matches!(added, Err(StoreError::Locked { .. })));
                ended.unwrap().unwrap();
            });
        }
    });
    let store = Store::open(&path).unwrap().keep_ends(&ends).unwrap();
    store.require_whole().unwrap();
    rusqlite::Connection::open(&path).unwrap().execute("DELETE FROM receipts WHERE position = 99", []).unwrap();
    assert!(matches!(store.require_whole(), Err(StoreError::Behind { signed: 99, stored: Some(98), .. })));
}

#[test]
fn without_its_file_no_chain_goes_on() {
    let (folder, path) = folder();
    let ends = folder.path().join("ends");
    let store = Store::open(path).unwrap().keep_ends(&ends).unwrap();
    // A file where the folder is to be.
    std::fs::write(&ends, "").unwrap();
    assert!(matches!(add(&store, 1), Err(StoreError::Ends { .. })));
    std::fs::remove_file(&ends).unwrap();
    assert_eq!(add(&store, 2).unwrap().tip().unwrap().position, 0);
    store.require_whole().unwrap();
}
