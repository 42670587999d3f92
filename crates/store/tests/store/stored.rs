use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proofmark_receipt::{Receipt, Results, Status, Verdict};
use proofmark_store::{Cursor, Filter, MAX_FOUND, MAX_GROUP, MAX_PAGE, NewReceipt, Store, StoreError, StoredReceipt};
use rusqlite::Connection;

use crate::samples::{Home, Local, chained, closed_store, draft, folder, id, sign, single};

engines! {
    a_receipt_comes_back_byte_for_byte,
    a_duplicate_is_refused_alone,
    what_is_submitted_before_the_end_is_kept,
    threads_share_a_store,
    ids_are_found_by_their_beginning,
    lists_are_filtered_and_newest_first,
    pages_follow_each_other_while_receipts_come_in,
}

fn a_receipt_comes_back_byte_for_byte(home: &Home) {
    let signed = sign(draft(id(0, 1)));
    let mut text = sign(draft(id(0, 2))).to_text();
    text.insert_str(1, r#""zuerst": [1.50, 1e3, -0, "\/", {"b": 1, "a": 2}], "#);
    let foreign = Receipt::parse(text.as_bytes()).unwrap();
    let store = home.open();
    for receipt in [&signed, &foreign] {
        store.local().submit(NewReceipt::single(receipt.clone())).wait().unwrap();
    }
    drop(store);
    let store = home.open_existing();
    for receipt in [signed, foreign] {
        let kept = store.local().receipt(&receipt.receipt_id()).unwrap().unwrap().receipt;
        assert_eq!(kept.to_text(), receipt.to_text());
        assert_eq!(kept, receipt);
    }
    assert_eq!(store.local().receipt(&id(0, 3)).unwrap(), None);
}

#[test]
fn a_new_store_is_for_its_owner_alone() {
    let (folder, _) = folder();
    let path = folder.path().join("a/b/proofmark.db");
    let store = Store::open(&path).unwrap();
    store.local().submit(single(id(0, 1))).wait().unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.path().join("a")), 0o700);
    assert_eq!(mode(folder.path().join("a/b")), 0o700);
    for file in ["proofmark.db", "proofmark.db-wal", "proofmark.db-shm"] {
        assert_eq!(mode(folder.path().join("a/b").join(file)), 0o600, "{file}");
    }
    drop(store);
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["proofmark.db"]);
}

fn a_duplicate_is_refused_alone(home: &Home) {
    let store = home.open();
    let pending = [1, 2, 1, 3].map(|number| store.local().submit(single(id(0, number))));
    let answers = pending.map(|one| one.wait().map(drop));
    assert_eq!(answers, [Ok(()), Ok(()), Err(StoreError::Duplicate(id(0, 1))), Ok(())]);
    assert_eq!(store.local().submit(single(id(0, 3))).wait().map(drop), Err(StoreError::Duplicate(id(0, 3))));
    assert_eq!(store.all_tenants_receipts(&Filter::default()).unwrap().receipts.len(), 3);
}

fn what_is_submitted_before_the_end_is_kept(home: &Home) {
    let store = home.open();
    let pending: Vec<_> = (0..50).map(|number| store.local().submit(single(id(0, number)))).collect();
    drop(store);
    assert!(pending.into_iter().all(|one| one.wait().is_ok()));
    assert_eq!(home.open().all_tenants_receipts(&Filter::default()).unwrap().receipts.len(), 50);
}

#[test]
fn what_waits_while_the_database_is_locked_shares_a_commit() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    let new: Vec<_> = (0..MAX_GROUP as u32).map(|number| single(id(0, number))).collect();
    let before = commits(&path);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let pending: Vec<_> = new.into_iter().map(|one| store.local().submit(one)).collect();
    other.execute_batch("COMMIT").unwrap();
    pending.into_iter().for_each(|one| drop(one.wait().unwrap()));
    assert_eq!(commits(&path) - before, 1);
}

/// How many commits the write-ahead log holds.
fn commits(path: &Path) -> usize {
    let log = fs::read(path.with_extension("db-wal")).unwrap_or_default();
    // A frame of the write-ahead log is a commit if bytes 4 to 7 of its header are not zero (SQLite file format, 4.1).
    let frames = log.get(32..).unwrap_or_default().chunks(24 + 4096);
    frames.filter(|frame| frame.get(4..8).is_some_and(|size| size != [0; 4])).count()
}

fn threads_share_a_store(home: &Home) {
    let store = &home.open();
    std::thread::scope(|scope| {
        for family in 0..4 {
            scope.spawn(move || {
                for number in 0..25 {
                    store.local().submit(single(id(family, number))).wait().unwrap();
                    assert!(store.local().receipt(&id(family, number)).unwrap().is_some());
                }
            });
        }
    });
    assert_eq!(
        store.all_tenants_receipts(&Filter { limit: MAX_PAGE, ..Filter::default() }).unwrap().receipts.len(),
        100
    );
}

fn ids_are_found_by_their_beginning(home: &Home) {
    closed_store(home.place(), 20);
    let store = home.open_existing();
    assert_eq!(store.all_tenants_find("00000003").unwrap(), [id(0, 3)]);
    assert_eq!(store.all_tenants_find("0000000a-0000").unwrap(), [id(0, 10)]);
    assert_eq!(store.all_tenants_find("0000000A-0").unwrap(), [id(0, 10)]);
    assert_eq!(store.all_tenants_find(&id(0, 7).to_string()).unwrap(), [id(0, 7)]);
    assert_eq!(store.all_tenants_find("0000").unwrap(), (0..10).map(|number| id(0, number)).collect::<Vec<_>>());
    assert_eq!(MAX_FOUND, 10);
    assert_eq!(store.all_tenants_find("ffff").unwrap(), []);
    for bad in ["", "000", "0-0-0", "00zz", "ßßßß", &"0".repeat(33), "+000"] {
        assert!(matches!(store.all_tenants_find(bad), Err(StoreError::Prefix(_))), "{bad}");
    }
}

fn lists_are_filtered_and_newest_first(home: &Home) {
    let store = home.open();
    let mut passed = draft(id(0, 1));
    passed.verdict = Verdict::Pass;
    passed.results = Results::from_details(vec![detail("a")]);
    let mut deep = draft(id(0, 2));
    deep.tier = 1;
    let mut other = draft(id(0, 3));
    other.task = None;
    for draft in [passed, deep, other] {
        store.local().submit(NewReceipt::single(sign(draft))).wait().unwrap();
    }
    store.local().submit(chained(id(0, 4), "main")).wait().unwrap();

    let ids = |filter: Filter| numbers(&store.all_tenants_receipts(&filter).unwrap().receipts);
    let all = Filter::default;
    assert_eq!(ids(all()), [4, 3, 2, 1]);
    assert_eq!(ids(Filter { verdict: Some(Verdict::Pass), ..all() }), [1]);
    assert_eq!(ids(Filter { verdict: Some(Verdict::Fail), ..all() }), []);
    assert_eq!(ids(Filter { tier: Some(1), ..all() }), [2]);
    assert_eq!(ids(Filter { tier: Some(0), ..all() }), [4, 3, 1]);
    assert_eq!(ids(Filter { task_id: Some("acp-tx-789".to_owned()), ..all() }), [4, 2, 1]);
    assert_eq!(ids(Filter { task_id: Some("' OR 1".to_owned()), ..all() }), []);
    assert_eq!(ids(Filter { chain: Some("main".to_owned()), ..all() }), [4]);
    assert_eq!(ids(Filter { chain: Some("other".to_owned()), ..all() }), []);
    let task_id = Some("acp-tx-789".to_owned());
    assert_eq!(ids(Filter { tier: Some(0), verdict: Some(Verdict::Error), task_id, ..all() }), [4]);
}

fn pages_follow_each_other_while_receipts_come_in(home: &Home) {
    closed_store(home.place(), 7);
    let store = home.open();
    let mut seen = Vec::new();
    let mut filter = Filter { limit: 3, ..Filter::default() };
    loop {
        let page = store.all_tenants_receipts(&filter).unwrap();
        seen.push(numbers(&page.receipts));
        store.local().submit(single(id(1, seen.len() as u32))).wait().unwrap();
        let Some(next) = page.next else { break };
        filter.after = Some(next.to_string().parse().unwrap());
    }
    assert_eq!(seen, [vec![6, 5, 4], vec![3, 2, 1], vec![0]]);
    for limit in [0, 1] {
        assert_eq!(store.all_tenants_receipts(&Filter { limit, ..Filter::default() }).unwrap().receipts.len(), 1);
    }
    assert_eq!(store.all_tenants_receipts(&Filter { limit: usize::MAX, ..Filter::default() }).unwrap().next, None);
    for bad in ["", "s", "7", "s-1", "s+1", "s1 ", "s99999999999999999999"] {
        assert!(bad.parse::<Cursor>().is_err(), "{bad}");
    }
}

fn numbers(receipts: &[StoredReceipt]) -> Vec<u32> {
    let number = |kept: &StoredReceipt| u128::from_be_bytes(*kept.receipt.receipt_id().as_bytes()) >> 96;
    receipts.iter().map(|kept| number(kept) as u32).collect()
}

fn detail(name: &str) -> proofmark_receipt::Detail {
    proofmark_receipt::Detail::new(name, Status::Pass)
}

#[test]
fn a_log_begins_anew_while_much_is_stored() {
    let home = Home::file();
    let store = home.open();
    let mut stored = 0;
    for number in 0..100 {
        let mut draft = draft(id(0, number));
        draft.metadata.insert("filler", "x".repeat(700_000));
        stored += 700_000;
        store.local().submit(NewReceipt::single(sign(draft))).wait().unwrap();
    }
    let mut log = home.place();
    log.push("-wal");
    let log = std::fs::metadata(log).unwrap().len();
    assert!(log < stored * 2 / 3, "{log} of {stored}");
    drop(store);
    assert_eq!(
        home.open().local().list(&Filter { limit: 1000, ..Filter::default() }).unwrap().receipts.len(),
        11,
        "a page"
    );
}
