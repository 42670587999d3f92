//! The time that counts in a store: it never goes back, whatever the clocks of its hosts do.

use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

/// How far a clock may be behind the latest recorded time before it counts as set back, in milliseconds: hosts that share a
/// store differ by less.
pub const MAX_CLOCK_SKEW: i64 = 60_000;

/// The clock of this process, corrected by what the store has recorded.
#[derive(Default)]
pub(crate) struct Clock {
    /// The latest recorded time when the clock was first found to be behind it, and when that was.
    behind: Mutex<Option<(i64, Instant)>>,
}

impl Clock {
    /// The time now, given the latest recorded time, both in milliseconds after 1970-01-01T00:00:00Z: the system's, unless a
    /// later time was recorded. Where the system's is behind by more than [`MAX_CLOCK_SKEW`], it was set back, and time
    /// continues from what was recorded.
    pub(crate) fn now(&self, latest: i64) -> i64 {
        let system = system_time();
        let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        // A small difference is that of two hosts: time stands still at `latest` until this clock has caught up.
        if latest.saturating_sub(system) <= MAX_CLOCK_SKEW {
            *behind = None;
            return latest.max(system);
        }
        // The start stays what it was first: `latest` grows by our own writes, so adding the elapsed time to that would
        // count it twice.
        let (recorded, since) = behind.get_or_insert_with(|| (latest, Instant::now()));
        let elapsed = i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX);
        latest.max(recorded.saturating_add(elapsed))
    }
}

/// The latest time that was recorded, in milliseconds after 1970-01-01T00:00:00Z.
pub(crate) fn latest(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("SELECT latest FROM clock")?.query_row([], |row| row.get(0))
}

/// Records that it is at least `now`, so that no process that shares the store goes back behind it.
pub(crate) fn record(connection: &Connection, now: i64) -> rusqlite::Result<()> {
    // A time that is not later changes no row, so such a commit writes no page for it.
    connection.prepare_cached("UPDATE clock SET latest = ?1 WHERE latest < ?1")?.execute([now]).map(drop)
}

fn system_time() -> i64 {
    // A clock before 1970 counts as 1970, which is behind whatever the store has recorded.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
