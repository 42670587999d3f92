//! What makes a store slow or large, for those who operate it.

pub(crate) mod check;
pub(crate) mod copy;
pub(crate) mod grant;
pub(crate) mod seal;

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::engine::db::Db;
use crate::engine::readers::{Readers, Source};
use crate::error::StoreError;
use crate::fault::Fault;

/// What makes a store slow or large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// Of a database: how long ago the oldest transaction began, of all clients, that keeps deleted rows from being removed; zero
    /// without one. A user without the rights of `pg_monitor` does not see the transactions of other users.
    pub oldest_snapshot: Option<Duration>,
    /// Of a file: how long its write-ahead log is, in bytes.
    pub log_bytes: Option<u64>,
}

/// A session that waits for its next statement within a transaction holds its snapshot, and a prepared transaction holds one
/// until somebody ends it.
const OLDEST_SNAPSHOT: &str =
    "SELECT CAST(coalesce(max(extract(epoch FROM clock_timestamp() - begun)), 0) * 1000 AS bigint)
    FROM (SELECT xact_start AS begun FROM pg_stat_activity
          WHERE datname = current_database() AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
          UNION ALL SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()) AS held";

/// # Errors
/// When the store cannot be read.
pub(crate) fn upkeep(readers: &Readers) -> Result<Upkeep, StoreError> {
    match readers.source() {
        Source::File(path) => Ok(Upkeep { log_bytes: Some(log_bytes(path)), oldest_snapshot: None }),
        Source::Database(_) => {
            let oldest = readers.read(None, oldest_snapshot)?;
            Ok(Upkeep { oldest_snapshot: Some(oldest), log_bytes: None })
        }
    }
}

fn oldest_snapshot(db: &Db<'_>) -> Result<Duration, Fault> {
    let milliseconds = db.value::<i64>(OLDEST_SNAPSHOT, &[])?.unwrap_or_default();
    Ok(Duration::from_millis(u64::try_from(milliseconds).unwrap_or_default()))
}

/// Without a log there is nothing in it.
fn log_bytes(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    // Not opened: closing a file drops all locks that the process has on it.
    fs::metadata(log).map_or(0, |log| log.len())
}
