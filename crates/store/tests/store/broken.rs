use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use proofmark_store::{Filter, Place, Store, StoreError};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::samples::{Local, closed_store, folder, id, single};

type Named = fn(&StoreError) -> bool;

/// Both ways to open give an error that `named` knows, and folder and file are as before.
fn refused_untouched(path: &Path, named: Named) {
    let before = snapshot(path);
    for open in [|path| Store::open(path), |path| Store::open_existing(path)] as [fn(&Path) -> _; 2] {
        let error = open(path).err().unwrap();
        assert!(named(&error), "{error:?}");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
    assert!(snapshot(path) == before, "the folder has changed");
}

fn snapshot(path: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    // The index of a log is scratch memory that is rebuilt from the log.
    let files = entries.filter(|path| path.is_file() && path.extension() != Some("db-shm".as_ref()));
    let mut files: Vec<_> = files.map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect();
    files.sort();
    files
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

const DAMAGED: Named = |error| matches!(error, StoreError::Damaged { .. });
const FOREIGN: Named = |error| matches!(error, StoreError::Foreign { .. });

#[test]
fn a_missing_store_is_not_made_for_reading() {
    let (folder, path) = folder();
    let error = Store::open_existing(&path).err().unwrap();
    assert_eq!(error, StoreError::Missing { place: Place::from(&path) });
    assert!(error.help().unwrap().contains("`proofmark verify`"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_empty_file_becomes_a_store() {
    let (_folder, path) = folder();
    fs::write(&path, b"").unwrap();
    closed_store(&path, 1);
    assert!(Store::open_existing(&path).unwrap().local().receipt(&id(0, 0)).unwrap().is_some());
}

#[test]
fn an_overwritten_header_is_damage() {
    let (_folder, path) = folder();
    closed_store(&path, 30);
    overwrite(&path, 0, &[0xAA; 100]);
    refused_untouched(&path, DAMAGED);
}

#[test]
fn a_file_cut_short_is_damage() {
    let (_folder, path) = folder();
    closed_store(&path, 30);
    let length = fs::metadata(&path).unwrap().len();
    for length in [length / 2, length / 2 + 100, 4096, 200] {
        OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        refused_untouched(&path, DAMAGED);
    }
}

#[test]
fn a_damaged_page_is_found_when_it_is_read() {
    let (_folder, path) = folder();
    closed_store(&path, 30);
    let (bytes, verifier) = (fs::read(&path).unwrap(), b"proofmark/1.0");
    for (page, bytes) in bytes.chunks(4096).enumerate() {
        if bytes.windows(verifier.len()).any(|window| window == verifier) {
            overwrite(&path, page as u64 * 4096, &[0xAA; 4096]);
        }
    }
    let store = Store::open_existing(&path).unwrap();
    assert!(DAMAGED(&store.all_tenants_receipts(&Filter::default()).unwrap_err()));
    assert!(DAMAGED(&store.local().submit(single(id(1, 0))).wait().unwrap_err()));
}

#[test]
fn a_changed_receipt_is_damage() {
    let (_folder, path) = folder();
    closed_store(&path, 1);
    let (bytes, verifier) = (fs::read(&path).unwrap(), b"proofmark/1.0");
    let at = bytes.windows(verifier.len()).position(|window| window == verifier);
    overwrite(&path, at.unwrap() as u64, b"P");
    let store = Store::open_existing(&path).unwrap();
    assert!(DAMAGED(&store.local().receipt(&id(0, 0)).unwrap_err()));
}

/// A process writes on into a file that was deleted, and what it answers is lost when it ends.
#[test]
fn nothing_is_stored_in_or_read_from_a_file_that_is_not_at_the_path_any_more() {
    let replaced = |error: &StoreError| matches!(error, StoreError::Replaced { .. });
    for change in [
        |path: &Path| fs::remove_file(path).unwrap(),
        |path: &Path| {
            fs::copy(path, path.with_extension("copy")).unwrap();
            fs::rename(path.with_extension("copy"), path).unwrap();
        },
    ] {
        let (_folder, path) = folder();
        let store = Store::open(&path).unwrap();
        store.local().submit(single(id(0, 0))).wait().unwrap();
        fs::hard_link(&path, path.with_extension("kept")).unwrap();
        change(&path);
        let refused = store.local().submit(single(id(0, 1))).wait().unwrap_err();
        assert!(replaced(&refused), "{refused}");
        assert!(refused.help().unwrap().contains("`-wal`"), "{refused}");
        assert!(replaced(&store.local().receipt(&id(0, 0)).unwrap_err()));
        assert!(replaced(&store.probe().unwrap_err()));
        // The same file again, with the log that belongs to it.
        fs::rename(path.with_extension("kept"), &path).unwrap();
        store.local().submit(single(id(0, 2))).wait().unwrap();
        assert!(store.local().receipt(&id(0, 1)).unwrap().is_none());
        assert!(store.local().receipt(&id(0, 2)).unwrap().is_some());
    }
}

#[test]
fn nothing_is_stored_beside_a_log_that_was_deleted() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    store.local().submit(single(id(0, 0))).wait().unwrap();
    fs::remove_file(path.with_extension("db-wal")).unwrap();
    let refused = store.local().submit(single(id(0, 1))).wait().unwrap_err();
    assert!(matches!(refused, StoreError::Replaced { .. }), "{refused}");
}

#[test]
fn a_store_of_a_later_version_is_left_alone() {
    let (_folder, path) = folder();
    closed_store(&path, 1);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 1000).unwrap();
    refused_untouched(&path, |error| matches!(error, StoreError::Newer { found: 1000, known: 1, .. }));
}

#[test]
fn a_store_of_a_build_before_the_first_version_is_left_alone() {
    for version in [1, 12, 1000] {
        let (_folder, path) = folder();
        closed_store(&path, 1);
        let earlier = Connection::open(&path).unwrap();
        earlier.pragma_update(None, "application_id", 0x7072_666d).unwrap();
        earlier.pragma_update(None, "user_version", version).unwrap();
        drop(earlier);
        refused_untouched(&path, |error| {
            matches!(error, StoreError::Earlier { .. }) && error.help().unwrap().contains("`proofmark receipt export`")
        });
    }
}

#[test]
fn a_later_version_that_only_its_log_tells_of_is_left_alone() {
    let (_folder, path) = folder();
    closed_store(&path, 1);
    let later = Connection::open(&path).unwrap();
    later.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    later.pragma_update(None, "user_version", 1000).unwrap();
    drop(later);
    assert!(path.with_extension("db-wal").metadata().unwrap().len() > 0);
    refused_untouched(&path, |error| matches!(error, StoreError::Newer { found: 1000, .. }));
}

#[test]
fn other_files_are_left_alone() {
    let (_folder, path) = folder();
    let text = "CREATE TABLE receipts and other prose\n".repeat(100);
    for bytes in [b"x".to_vec(), text.into_bytes(), vec![0; 10_000], b"SQLite format 3".to_vec()] {
        fs::write(&path, bytes).unwrap();
        refused_untouched(&path, FOREIGN);
    }
    let inside = path.with_extension("folder");
    fs::create_dir(&inside).unwrap();
    refused_untouched(&inside, FOREIGN);
}

#[test]
fn other_databases_are_left_alone() {
    for mode in ["DELETE", "WAL"] {
        let (_folder, path) = folder();
        let other = Connection::open(&path).unwrap();
        other.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(())).unwrap();
        // With its log still beside it.
        other.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
        other.execute_batch("CREATE TABLE receipts (a); PRAGMA application_id = 7").unwrap();
        drop(other);
        refused_untouched(&path, FOREIGN);
    }
}

#[test]
fn a_locked_store_is_waited_for_and_then_named() {
    let (_folder, path) = folder();
    closed_store(&path, 1);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let error = Store::open(&path).err().unwrap();
    assert_eq!(error, StoreError::Locked { place: Place::from(&path) });
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    assert!(Store::open_existing(&path).unwrap().local().receipt(&id(0, 0)).unwrap().is_some());
}

#[test]
fn a_writer_waits_for_a_lock_that_is_given_back() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let pending = store.local().submit(single(id(0, 0)));
    assert_eq!(store.local().receipt(&id(0, 0)).unwrap(), None);
    other.execute_batch("COMMIT").unwrap();
    pending.wait().unwrap();
    assert!(store.local().receipt(&id(0, 0)).unwrap().is_some());
}

#[test]
fn many_may_make_the_same_store_at_once() {
    let (_folder, path) = folder();
    std::thread::scope(|scope| {
        for family in 0..8 {
            let path = &path;
            scope.spawn(move || {
                Store::open(path).unwrap().local().submit(single(id(family, 0))).wait().map(drop).unwrap()
            });
        }
    });
    let store = Store::open_existing(&path).unwrap();
    assert_eq!(store.all_tenants_receipts(&Filter::default()).unwrap().receipts.len(), 8);
}

#[test]
fn names_that_mean_something_to_sqlite_are_files() {
    let (folder, _) = folder();
    for name in [":memory:", "file:x?mode=memory", "100% #1?.db", "ü b.db"] {
        let path = folder.path().join(name);
        closed_store(&path, 1);
        assert!(path.is_file(), "{name}");
        assert!(Store::open_existing(&path).unwrap().local().receipt(&id(0, 0)).unwrap().is_some());
    }
}
