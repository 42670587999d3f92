//! Reads that nobody waits for any more, and what they leave behind.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use proofmark_testing::postgres as server;
use tempfile::TempDir;

use crate::engine::db::Db;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::patience::while_wanted;
use crate::place::Place;
use crate::store::Store;
use crate::tenant::Tenant;

/// A question that takes longer than any test.
fn endless(db: &Db<'_>) -> Result<Option<i64>, Fault> {
    let sqlite = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    db.value(db.spelled(sqlite, "SELECT CAST(1 AS bigint) FROM pg_sleep(100000)"), &[])
}

fn one_of(db: &Db<'_>) -> Result<Option<i64>, Fault> {
    db.value("SELECT CAST(1 AS bigint)", &[])
}

/// What becomes of an endless question whose client leaves.
fn left(store: &Store, tenant: &Tenant) -> Option<StoreError> {
    let stop = Arc::new(AtomicBool::new(false));
    let (begun, has_begun) = mpsc::channel();
    thread::scope(|scope| {
        let leaving = Arc::clone(&stop);
        scope.spawn(move || {
            has_begun.recv().unwrap();
            leaving.store(true, Ordering::Relaxed);
        });
        let ask = || {
            store.read_of(tenant, |db| {
                db.moment(|db| {
                    one_of(db)?;
                    begun.send(()).unwrap();
                    endless(db)
                })
            })
        };
        while_wanted(&stop, ask).err()
    })
}

/// As many at once as one tenant has connections, and more.
fn all_left(store: &Store) {
    thread::scope(|scope| {
        let leaving: Vec<_> = (0..12).map(|_| scope.spawn(|| left(store, &Tenant::LOCAL))).collect();
        for one in leaving {
            assert_eq!(one.join().unwrap(), Some(StoreError::Left));
        }
    });
    assert_eq!(store.read(|db| db.moment(one_of)), Ok(Some(1)));
    let stop = Arc::new(AtomicBool::new(true));
    assert_eq!(while_wanted(&stop, || store.read(one_of)), Err(StoreError::Left));
    assert_eq!(store.read(one_of), Ok(Some(1)), "the flag was of that work alone");
}

/// Whatever moment of a read its client leaves at, the next one finds the connection as new.
fn left_at_each_row(store: &Store) {
    let numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i FROM n";
    for leaves_at in 0..30 {
        let (stop, mut rows) = (Arc::new(AtomicBool::new(false)), 0);
        let mut row = || {
            stop.store(rows == leaves_at, Ordering::Relaxed);
            rows += 1;
            Ok(ControlFlow::Continue(()))
        };
        let ask = || {
            store.read(|db| {
                db.moment(|db| {
                    db.each(numbers, &[], |_| row())?;
                    db.each(numbers, &[], |_| row())
                })
            })
        };
        let answer = while_wanted(&stop, ask);
        // After the last row nothing is left to be asked.
        assert_eq!(answer, if leaves_at < 17 { Err(StoreError::Left) } else { Ok(()) }, "{leaves_at}");
        assert_eq!(store.read(|db| db.moment(one_of)), Ok(Some(1)), "{leaves_at}");
    }
}

#[test]
fn a_read_of_a_file_ends_when_its_client_leaves() {
    let home = TempDir::new().unwrap();
    let store = Store::open(home.path().join("store.db")).unwrap();
    all_left(&store);
    left_at_each_row(&store);
}

#[test]
fn a_read_of_a_database_ends_when_its_client_leaves_and_in_the_server() {
    let Some(theirs) = server::database() else { return };
    let store = Store::open(Place::parse(&theirs.url())).unwrap();
    all_left(&store);
    left_at_each_row(&store);
    // What the server did for those who left was cancelled, not only cut off.
    let asleep = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%FROM pg_sleep(%'
                  AND pid <> pg_backend_pid() AND datname = current_database()";
    while theirs.psql(asleep) != "0" {}
}

#[test]
fn many_questions_of_one_tenant_leave_a_connection_to_another() {
    let home = TempDir::new().unwrap();
    let store = Store::open(home.path().join("store.db")).unwrap();
    let (one, other): (Tenant, Tenant) = ("one".parse().unwrap(), "other".parse().unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let (begun, has_begun) = mpsc::channel();
    thread::scope(|scope| {
        let asking: Vec<_> = (0..20)
            .map(|_| {
                let (begun, one, store, stop) = (begun.clone(), &one, &store, &stop);
                scope.spawn(move || {
                    let ask = |db: &Db<'_>| {
                        begun.send(()).unwrap();
                        endless(db)
                    };
                    while_wanted(stop, || store.read_of(one, ask))
                })
            })
            .collect();
        has_begun.recv().unwrap();
        // All that one tenant may have at a time are busy for ever, and others of its wait for them.
        (0..10).for_each(|_| assert_eq!(store.read_of(&other, one_of), Ok(Some(1))));
        stop.store(true, Ordering::Relaxed);
        for one in asking {
            assert_eq!(one.join().unwrap(), Err(StoreError::Left));
        }
    });
}

#[test]
fn a_question_that_fails_spoils_no_later_one() {
    let Some(theirs) = server::database() else { return };
    let store = Store::open(Place::parse(&theirs.url())).unwrap();
    let fails = |db: &Db<'_>| db.value::<i64>("SELECT CAST(1 AS bigint) / (SELECT 0 FROM clock)", &[]);
    for _ in 0..3 {
        assert!(store.read(|db| db.moment(fails)).is_err());
        let cancelled = store.read(|db| {
            db.moment(|db| {
                one_of(db)?;
                // As an administrator does.
                db.value::<bool>("SELECT pg_cancel_backend(pg_backend_pid()) FROM pg_sleep(0)", &[])?;
                endless(db)
            })
        });
        assert!(cancelled.is_err());
        assert_eq!(store.read(|db| db.moment(one_of)), Ok(Some(1)));
    }
}
