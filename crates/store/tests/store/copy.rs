use std::io::{BufRead, BufReader};
use std::path::Path;
use std::thread;
use std::time::Duration;

use proofmark_receipt::verify_chain;
use proofmark_store::{
    Copied, CopyError, CopyOrder, CopyStep, CopyWatch, NewReceipt, Place, Store, StoreError, Wrong, copy,
};
use rusqlite::Connection;

use crate::full::{fill, rows};
use crate::samples::{CHILD, Local, chained, child_at, closed_store, draft, folder, id, sign, single};

fn order(from: impl Into<Place>, to: impl Into<Place>) -> CopyOrder {
    CopyOrder { from: from.into(), to: to.into(), with_faults: false }
}

fn run(order: &CopyOrder) -> Result<Copied, CopyError> {
    copy(order, &mut CopyWatch { progress: &mut |_, _, _| {}, fault: &mut |_: Wrong| {} })
}

#[test]
fn a_copy_has_every_row_and_the_source_is_closed() {
    let (folder, from) = folder();
    let to = folder.path().join("copy.db");
    let running = Store::open(&from).unwrap();
    fill(&running);
    let before = rows(&from);
    assert!(before.iter().all(|(name, rows)| !rows.is_empty() || panic!("{name}")));

    let copied = run(&order(&from, &to)).unwrap();
    assert_eq!(rows(&to), before);
    assert_eq!((copied.earlier, copied.source.receipts, copied.source.chains), (0, 15, 2));
    let receipts = copied.rows.iter().find(|(table, _)| *table == "receipts");
    assert_eq!(receipts, Some(&("receipts", 15)));

    // A process that has the source open, and one that opens it, can read it and nothing else.
    let opened = Store::open(&from).unwrap();
    for store in [&running, &opened] {
        let refused = store.local().submit(single(id(8, 1))).wait().unwrap_err();
        let moved = StoreError::Moved { place: Place::from(&from), to: to.display().to_string() };
        assert_eq!((&refused, refused.is_refusal()), (&moved, false));
        assert_eq!(store.require_current(), Err(moved.clone()));
        assert_eq!(store.probe(), Err(moved));
        assert_eq!(store.local().chain("main").unwrap().len(), 6);
    }
    assert_eq!(rows(&from), before);

    let store = Store::open(&to).unwrap();
    store.require_current().unwrap();
    store.probe().unwrap();
    store.local().submit(chained(id(8, 1), "main")).wait().unwrap();
    verify_chain(&store.local().chain("main").unwrap(), None).unwrap();
}

#[test]
fn a_store_that_was_moved_is_not_copied_again() {
    let (folder, from) = folder();
    closed_store(&from, 1);
    run(&order(&from, folder.path().join("copy.db"))).unwrap();
    let again = run(&order(&from, folder.path().join("other.db"))).unwrap_err();
    assert!(matches!(again, CopyError::Store(StoreError::Moved { .. })), "{again:?}");
    let back = run(&order(folder.path().join("copy.db"), &from)).unwrap_err();
    assert!(matches!(back, CopyError::Store(StoreError::Moved { .. })), "{back:?}");
    run(&order(folder.path().join("copy.db"), folder.path().join("back.db"))).unwrap();
}

#[test]
fn nothing_is_stored_in_the_source_meanwhile() {
    let (folder, from) = folder();
    closed_store(&from, 3);
    let other = Connection::open(&from).unwrap();
    other.busy_timeout(Duration::ZERO).unwrap();
    let mut refused = 0;
    let mut progress = |_, _, _| refused += u64::from(other.execute("UPDATE clock SET latest = 1", []).is_err());
    let mut watch = CopyWatch { progress: &mut progress, fault: &mut |_| {} };
    copy(&order(&from, folder.path().join("copy.db")), &mut watch).unwrap();
    assert!(refused > 0);
}

/// Not a test by itself: copies the store to the file that the argument names, and stops for ever in the middle.
#[test]
fn child_copies() {
    let Some(from) = std::env::var_os(CHILD) else { return };
    let to = std::env::var("PROOFMARK_TEST_ARGUMENT").unwrap();
    let mut portions = 0;
    let mut progress = |step, table, _| {
        portions += u32::from((step, table) == (CopyStep::Copying, "receipts"));
        if portions == 2 {
            println!("\nhalf way.");
            thread::sleep(Duration::from_secs(600));
        }
    };
    let mut watch = CopyWatch { progress: &mut progress, fault: &mut |_| {} };
    copy(&order(Place::from(from), Place::parse(&to)), &mut watch).unwrap();
}

/// Starts a copy, and kills it half way.
fn interrupt(from: &Path, to: &str) {
    let mut copying = child_at("copy::child_copies", from.as_os_str(), to);
    let mut lines = BufReader::new(copying.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "half way."));
    copying.kill().unwrap();
    copying.wait().unwrap();
}

#[test]
fn a_copy_that_was_killed_goes_on() {
    let (folder, from) = folder();
    let to = folder.path().join("copy.db");
    closed_store(&from, 500);
    interrupt(&from, to.to_str().unwrap());
    let refused = Store::open(&to).err().unwrap();
    assert_eq!(refused, StoreError::Unfinished { place: Place::from(&to), from: from.display().to_string() });
    let written = Connection::open(&to).unwrap().execute("DELETE FROM receipts", []);
    assert!(written.unwrap_err().to_string().contains("unfinished copy"));
    Store::open(&from).unwrap().require_current().unwrap();

    let (another, second) = (folder.path().join("another.db"), order(folder.path().join("another.db"), &to));
    closed_store(&another, 1);
    assert!(matches!(run(&second), Err(CopyError::OtherCopy { .. })));

    let copied = run(&order(&from, &to)).unwrap();
    assert!(copied.earlier > 100 && copied.earlier < 500, "{}", copied.earlier);
    assert_eq!(rows(&to), rows(&from));
    Store::open(&to).unwrap().probe().unwrap();
}

#[test]
fn what_is_stored_after_a_killed_copy_is_copied() {
    let (folder, from) = folder();
    let to = folder.path().join("copy.db");
    closed_store(&from, 500);
    interrupt(&from, to.to_str().unwrap());
    let store = Store::open(&from).unwrap();
    let mut newer = draft(id(7, 1));
    newer.metadata.insert("supersedes", id(0, 1).to_string());
    let newer = NewReceipt { supersedes: Some(id(0, 1)), ..NewReceipt::single(sign(newer)) };
    store.local().submit(newer).wait().unwrap();
    drop(store);
    let copied = run(&order(&from, &to)).unwrap();
    assert_eq!(copied.earlier, 0);
    assert_eq!(rows(&to), rows(&from));
}

#[test]
fn what_changed_without_the_clock_is_found_by_the_comparison() {
    let (folder, from) = folder();
    let to = folder.path().join("copy.db");
    closed_store(&from, 500);
    interrupt(&from, to.to_str().unwrap());
    // No group does this; the recorded time is as before.
    let changed = "UPDATE jobs SET state = 'failed'; UPDATE receipts SET superseded_by = sequence WHERE sequence = 3;
                   UPDATE receipt_counts SET receipts = 499 WHERE standing = 'own';
                   INSERT INTO receipt_counts SELECT tenant, chain_id, issuer, task_type, verdict, 'superseded', 1
                       FROM receipt_counts";
    Connection::open(&from).unwrap().execute_batch(changed).unwrap();
    let copied = run(&CopyOrder { with_faults: true, ..order(&from, &to) }).unwrap();
    assert_eq!(copied.earlier, 0);
    assert_eq!(rows(&to), rows(&from));
}

#[test]
fn a_destination_with_rows_and_the_source_itself_are_refused() {
    let (folder, from) = folder();
    let to = folder.path().join("copy.db");
    closed_store(&from, 1);
    closed_store(&to, 1);
    let error = run(&order(&from, &to)).unwrap_err();
    assert!(matches!(error, CopyError::NotEmpty { table: "receipts", .. }), "{error:?}");
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&from, &link).unwrap();
    for to in [&from, &link] {
        assert!(matches!(run(&order(&from, to)), Err(CopyError::Same(_))));
    }
    let missing = run(&order(folder.path().join("missing.db"), folder.path().join("new.db"))).unwrap_err();
    assert!(matches!(missing, CopyError::Store(StoreError::Missing { .. })));
    for store in [&from, &to] {
        Store::open(store).unwrap().probe().unwrap();
    }
}

#[test]
fn a_source_with_faults_is_copied_on_demand_only() {
    let (folder, from) = folder();
    let to = folder.path().join("copy.db");
    closed_store(&from, 3);
    Connection::open(&from).unwrap().execute("UPDATE receipts SET verdict = 'pass' WHERE sequence = 2", []).unwrap();
    let mut found = Vec::new();
    let mut watch = CopyWatch { progress: &mut |_, _, _| {}, fault: &mut |wrong: Wrong| found.push(wrong.code) };
    let error = copy(&order(&from, &to), &mut watch).unwrap_err();
    assert!(matches!(error, CopyError::Faults { faults: 5, .. }), "{error:?} {found:?}");
    Store::open(&from).unwrap().probe().unwrap();
    run(&CopyOrder { with_faults: true, ..order(&from, &to) }).unwrap();
    assert_eq!(rows(&to), rows(&from));
}

#[test]
fn through_postgresql_and_back_every_row_stays() {
    let Some(database) = proofmark_testing::postgres::database() else { return };
    let (folder, from) = folder();
    let (url, back) = (database.url(), folder.path().join("back.db"));
    fill(&Store::open(&from).unwrap());
    let server = Store::open(Place::parse(&url)).unwrap();
    run(&order(&from, Place::parse(&url))).unwrap();
    // A server that had the empty database open goes on with what was copied.
    server.local().submit(chained(id(8, 1), "main")).wait().unwrap();
    assert_eq!(server.local().chain("main").unwrap().len(), 7);
    let copied = run(&order(Place::parse(&url), &back)).unwrap();
    assert_eq!((copied.source.receipts, copied.source.faults), (16, 0));
    let refused = server.local().submit(single(id(8, 2))).wait().unwrap_err();
    assert_eq!(refused, StoreError::Moved { place: Place::parse(&url), to: back.display().to_string() });
    assert!(!refused.to_string().contains("password"));

    let mut after = rows(&back);
    let store = Store::open(&back).unwrap();
    verify_chain(&store.local().chain("main").unwrap(), None).unwrap();
    let mut before = rows(&from);
    // The receipt that the server stored, and what is counted of it.
    for table in ["receipts", "receipt_counts", "verdict_counts", "clock", "log_entries"] {
        assert_ne!(before.remove(table), after.remove(table), "{table}");
    }
    assert_eq!(before, after);
}

#[test]
fn a_copy_into_postgresql_that_was_killed_goes_on() {
    let Some(database) = proofmark_testing::postgres::database() else { return };
    let (folder, from) = folder();
    let (url, back) = (database.url(), folder.path().join("back.db"));
    closed_store(&from, 500);
    let before = rows(&from);
    interrupt(&from, &url);
    let unfinished = Store::open(Place::parse(&url)).err().unwrap();
    assert!(matches!(unfinished, StoreError::Unfinished { .. }), "{unfinished:?}");
    let copied = run(&order(&from, Place::parse(&url))).unwrap();
    assert!(copied.earlier > 100 && copied.earlier < 500, "{}", copied.earlier);
    run(&order(Place::parse(&url), &back)).unwrap();
    assert_eq!(rows(&back), before);
}

#[test]
fn text_that_postgresql_cannot_store_is_named() {
    let Some(database) = proofmark_testing::postgres::database() else { return };
    let (_folder, from) = folder();
    let store = Store::open(&from).unwrap();
    let run_of = |name: &str| proofmark_store::StepRun {
        run: name.to_owned(),
        begun_by: "local".to_owned(),
        step: "s".to_owned(),
        version: 1,
        state: "{}".to_owned(),
    };
    for name in ["a", "b"] {
        store.local().submit(run_of(name)).wait().unwrap();
    }
    drop(store);
    // Another program has: no store takes it.
    Connection::open(&from)
        .unwrap()
        .execute("UPDATE runs SET run = 'b' || char(0) || 'c' WHERE run = 'b'", [])
        .unwrap();
    let error = run(&order(&from, Place::parse(&database.url()))).unwrap_err();
    let CopyError::Nul { table: "runs", row } = &error else { panic!("{error:?}") };
    assert!(row.contains("run `b"), "{row}");
    Store::open(&from).unwrap().probe().unwrap();
}
