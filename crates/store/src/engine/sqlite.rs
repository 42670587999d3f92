//! Connections to a file that are sure to have the schema.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement, Transaction, TransactionBehavior};

use crate::error::StoreError;
use crate::patience;
use crate::place::Place;
use crate::table::Spelling;
use crate::tables;
use crate::value::Value;

/// Marks the file as ours: `pfmk` in ASCII (SQLite file format, offset 68).
pub(crate) const APPLICATION_ID: i32 = 0x7066_6d6b;

/// What builds before version 0.1.0 marked their files with. Their schemas had numbers of their own, so it is not the mark of
/// today.
const EARLIER_ID: i32 = 0x7072_666d;

/// It stands near the beginning of every store, whatever is overwritten before it.
pub(crate) const SIGN: &str = "CREATE TABLE receipts";

/// How long we wait for a lock that another process holds.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// How often we look whether a lock is free. SQLite's own waiting grows to 100 ms, by which a process that commits
/// without pause starves its neighbours.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// How many instructions of SQLite a read runs between two looks whether anybody waits for it: well under a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 4_000;

/// How much of the database the writer keeps in memory, in KiB: what a group changes, and the inner pages of indexes. With
/// SQLite's 2 MiB a large group is written out before it is complete, and pages are read again and again; with 16 MiB, those of the
/// log's digests, which are inserted in no order.
const WRITER_CACHE_KIB: i64 = 32 << 10;

// The writer alone has more than the 16 statements that rusqlite caches by default.
const CACHED_STATEMENTS: usize = 64;

/// The version of the schema. A change of the schema raises it, and changes the files that have the version before when they are
/// opened.
pub(crate) const VERSION: i32 = 1;

/// Opens the database at `path`, which is there. An empty one becomes a store.
///
/// # Errors
/// As [`crate::Store::open`].
pub(crate) fn open_to_write(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = connect(path).map_err(|error| StoreError::of_sqlite(path, &error))?;
    // Closing a database that turns out not to be for us must not move its log into it.
    let keep_log = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    let set = |connection: &Connection, on| match connection.set_db_config(keep_log, on) {
        Ok(_) => Ok(()),
        Err(error) => Err(StoreError::of_sqlite(path, &error)),
    };
    set(&connection, true)?;
    let sign = Sign::read(&connection).map_err(|error| StoreError::of_sqlite(path, &error))?;
    if sign != NO_SIGN {
        require_known(path, sign)?;
        add_log(&mut connection).map_err(|error| StoreError::of_sqlite(path, &error))?;
    } else {
        create(&mut connection, path)?;
    }
    log_ahead(&connection).map_err(|error| StoreError::of_sqlite(path, &error))?;
    let sized = connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB);
    sized.map_err(|error| StoreError::of_sqlite(path, &error))?;
    set(&connection, false)?;
    Ok(connection)
}

/// Opens the database at `path`, which [`open_to_write`] has opened, to move its log.
pub(crate) fn open_to_move(path: &Path) -> rusqlite::Result<Connection> {
    connect(path)
}

/// Opens the database at `path`, which [`open_to_write`] has opened, for reading.
///
/// # Errors
/// As [`crate::Store::open`].
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let connection = connect(path).and_then(|mut connection| {
        connection.pragma_update(None, "query_only", true)?;
        // It asks on the thread that reads, which is another one each time.
        connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(patience::is_over))?;
        Ok(connection)
    });
    connection.map_err(|error| StoreError::of_sqlite(path, &error))
}

/// What the header of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sign {
    application_id: i32,
    version: i32,
}

/// An empty database, and one of a program that signs nothing.
const NO_SIGN: Sign = Sign { application_id: 0, version: 0 };

impl Sign {
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        // In one statement, because another process may be making the store.
        let sql = "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version";
        connection.query_row(sql, [], |row| Ok(Self { application_id: row.get(0)?, version: row.get(1)? }))
    }
}

/// Refuses a file that is not a store of this version.
///
/// # Errors
/// [`StoreError::Earlier`], [`StoreError::Newer`] or [`StoreError::Foreign`].
pub(crate) fn require_known(path: &Path, sign: Sign) -> Result<(), StoreError> {
    let place = Place::File(path.to_owned());
    let Sign { application_id, version } = sign;
    match (application_id, u32::try_from(version)) {
        // Whatever its number: it is of another series.
        (EARLIER_ID, _) => Err(StoreError::Earlier { place }),
        (APPLICATION_ID, Ok(found)) if version > VERSION => {
            Err(StoreError::Newer { place, found, known: VERSION.unsigned_abs() })
        }
        // The mark and the number come in one commit, so a file with one of them alone is not ours.
        (APPLICATION_ID, Ok(1..)) => Ok(()),
        _ => Err(StoreError::Foreign { place }),
    }
}

/// Binds the values to the parameters `$1`, `$2`, …. SQLite takes these for names, and numbers them in the order in which they
/// come first.
///
/// # Errors
/// When a parameter has no value.
pub(crate) fn bind(statement: &mut Statement<'_>, values: &[Value]) -> rusqlite::Result<()> {
    for index in 1..=statement.parameter_count() {
        let number = statement.parameter_name(index).and_then(|name| name.strip_prefix('$')?.parse::<usize>().ok());
        let value = number.and_then(|number| values.get(number.checked_sub(1)?));
        statement
            .raw_bind_parameter(index, value.ok_or(rusqlite::Error::InvalidParameterCount(values.len(), index))?)?;
    }
    Ok(())
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // Without CREATE: only `file::create_missing` creates the file, with its mode. Readers open it for writing, too:
    // they share the index of the write-ahead log, and `query_only` restricts their statements.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(wait_for_lock))?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    // Plans must not depend on bound values: SQLite would prepare such a statement again for each new value, which took a
    // third of the writer's time.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // Somebody may have edited the schema: it must not call functions that have side effects.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // With NORMAL a write-ahead log is not synced at each commit, and an acknowledged receipt could be lost.
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// SQLite asks this how to go on after `waited` looks at a lock that was taken.
fn wait_for_lock(waited: i32) -> bool {
    thread::sleep(LOOK_EVERY);
    // How many earlier calls there were for this lock, which is never negative.
    LOOK_EVERY * waited.unsigned_abs() < MAX_WAIT
}

/// One transaction: afterwards a file is a store, or empty as before. On a new file it still uses a rollback journal, so that the
/// header of a store always has our mark, even while its log is not yet moved into it.
fn create(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let sqlite = |error| StoreError::of_sqlite(path, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
    // Another process may have been faster.
    let sign = Sign::read(&transaction).map_err(sqlite)?;
    if sign != NO_SIGN {
        return require_known(path, sign);
    }
    // Databases of other programs may have no sign, too.
    if !is_empty(&transaction).map_err(sqlite)? {
        return Err(StoreError::Foreign { place: Place::File(path.to_owned()) });
    }
    fill(&transaction).map_err(sqlite)?;
    transaction.commit().map_err(sqlite)
}

/// Makes the transparency log of a store that has none, with all that is stored.
fn add_log(connection: &mut Connection) -> rusqlite::Result<()> {
    let has_log = |connection: &Connection| {
        let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'log_entries')";
        connection.query_row(sql, [], |row| row.get::<_, bool>(0))
    };
    if has_log(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    if !has_log(&transaction)? {
        transaction.execute_batch(&tables::log_schema(Spelling::Sqlite))?;
    }
    transaction.commit()
}

fn is_empty(transaction: &Transaction<'_>) -> rusqlite::Result<bool> {
    transaction.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

fn fill(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(&tables::schema(Spelling::Sqlite))?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)
}

/// Switches to a write-ahead log. SQLite does not wait for the lock this needs when a neighbour does the same.
fn log_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        let switched = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        match switched {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && start.elapsed() < MAX_WAIT => {
                thread::sleep(LOOK_EVERY);
            }
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_store_whose_making_was_interrupted_is_made_again() {
        let home = TempDir::new().unwrap();
        let (path, killed) = (home.path().join("store.db"), home.path().join("killed.db"));
        fs::write(&path, b"").unwrap();
        let mut connection = connect(&path).unwrap();
        let transaction = connection.transaction().unwrap();
        fill(&transaction).unwrap();
        // What is on disk when the process ends in the middle of the commit: pages of the store, and the journal that undoes them.
        transaction.cache_flush().unwrap();
        fs::copy(&path, &killed).unwrap();
        fs::copy(home.path().join("store.db-journal"), home.path().join("killed.db-journal")).unwrap();
        transaction.rollback().unwrap();
        assert!(fs::metadata(&killed).unwrap().len() > 10_000);
        let made = open_to_write(&killed).unwrap();
        assert_eq!(Sign::read(&made).unwrap(), Sign { application_id: APPLICATION_ID, version: VERSION });
        let receipts: i64 = made.query_row("SELECT count(*) FROM receipts", [], |row| row.get(0)).unwrap();
        let clocks: i64 = made.query_row("SELECT count(*) FROM clock", [], |row| row.get(0)).unwrap();
        assert_eq!((receipts, clocks), (0, 1));
    }
}
