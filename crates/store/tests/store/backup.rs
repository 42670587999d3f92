use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark_store::{Checking, CopyOrder, CopyWatch, Filter, Place, Store, Used, copy};
use rusqlite::Connection;

use crate::full::{fill, rows};
use crate::samples::{Local, chained, folder, id, single};

fn is_sound(store: &Store) -> bool {
    let checking = Checking { judge: &mut |_| Ok(Used::default()), found: &mut |_| {}, progress: &mut |_, _| {} };
    store.check(checking).unwrap().faults == 0
}

fn copied(from: &Place, to: &Path) {
    let order = CopyOrder { from: from.clone(), to: to.into(), with_faults: false };
    copy(&order, &mut CopyWatch { progress: &mut |_, _, _| {}, fault: &mut |_| {} }).unwrap();
}

#[test]
fn sqlite_saves_a_file_that_is_in_use() {
    let (folder, path) = folder();
    let backup = folder.path().join("backup.db");
    let store = Store::open(&path).unwrap();
    fill(&store);
    let page = Filter { limit: 2, ..Filter::default() };
    let (tip, next) = (store.local().tip("main").unwrap(), store.all_tenants_receipts(&page).unwrap().next);
    Connection::open(&path).unwrap().execute("VACUUM INTO ?1", [backup.to_str().unwrap()]).unwrap();
    let before = rows(&path);
    store.local().submit(chained(id(8, 1), "main")).wait().unwrap();
    drop(store);

    // Put in its place.
    fs::rename(&backup, &path).unwrap();
    assert_eq!(rows(&path), before);
    let store = Store::open(&path).unwrap();
    assert!(is_sound(&store));
    assert_eq!(store.local().tip("main").unwrap(), tip);
    assert_eq!(store.all_tenants_receipts(&page).unwrap().next, next);
    store.local().submit(chained(id(8, 2), "main")).wait().unwrap();
}

/// The newest of Debian's folders with the programs of PostgreSQL.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    versions.filter_map(Result::ok).map(|entry| entry.path()).max_by_key(version).map(|path| path.join("bin"))
}

#[test]
fn a_dump_of_postgresql_that_was_restored_has_every_row() {
    let (Some(saved), Some(restored)) =
        (proofmark_testing::postgres::database(), proofmark_testing::postgres::database())
    else {
        return;
    };
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (dump, before, after) =
        (folder.path().join("dump"), folder.path().join("before.db"), folder.path().join("after.db"));
    let (saved, restored) = (saved.url(), restored.url());
    let run = |program: &str, arguments: &[&str]| {
        let done = Command::new(programs.join(program)).args(arguments).output().unwrap();
        assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let store = Store::open(Place::parse(&saved)).unwrap();
    fill(&store);
    let tip = store.local().tip("main").unwrap();
    run("pg_dump", &["--format", "custom", "--file", dump.to_str().unwrap(), &saved]);
    run("pg_restore", &["--no-owner", "--dbname", &restored, dump.to_str().unwrap()]);

    let again = Store::open(Place::parse(&restored)).unwrap();
    assert!(is_sound(&again));
    assert_eq!(again.local().tip("main").unwrap(), tip);
    drop((store, again));
    copied(&Place::parse(&saved), &before);
    copied(&Place::parse(&restored), &after);
    assert_eq!(rows(&before), rows(&after));
    Store::open(&after).unwrap().local().submit(single(id(8, 1))).wait().unwrap();
}
