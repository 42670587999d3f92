//! The time that counts in a store: it never goes back, whatever the clocks of its hosts do.

use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// How far a clock may be behind the latest recorded time before it counts as set back, in milliseconds: hosts that share a
/// store differ by less.
pub const MAX_CLOCK_SKEW: i64 = 60_000;

/// The clock of this process, corrected by what the store has recorded.
#[derive(Default)]
pub(crate) struct Clock {
    /// The latest recorded time when the clock was first found to be behind it, and when that was.
    behind: Mutex<Option<(i64, Instant)>>,
    /// What the clock of a database showed last, corrected, and when that was.
    seen: Mutex<Option<(i64, Instant)>>,
}

impl Clock {
    /// The time now, given the latest recorded time, both in milliseconds after 1970-01-01T00:00:00Z: the system's, unless a
    /// later time was recorded. Where the system's is behind by more than [`MAX_CLOCK_SKEW`], it was set back, and time
    /// continues from what was recorded.
    pub(crate) fn now(&self, latest: i64) -> i64 {
        self.at(system_time(), latest)
    }

    /// The time now, by what the [`columns`] of the clock were.
    pub(crate) fn of_reading(&self, Reading { latest, shown }: Reading) -> i64 {
        match shown {
            Some(shown) => self.of_database(shown, latest),
            None => self.now(latest),
        }
    }

    /// As [`Clock::now`], by the clock of a database, which its servers share and which shows `shown`.
    pub(crate) fn of_database(&self, shown: i64, latest: i64) -> i64 {
        let now = self.at(shown, latest);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, Instant::now()));
        now
    }

    /// The time that counted when the clock of this host showed `shown`, not long ago. For a file that is `shown` itself.
    pub(crate) fn when(&self, shown: i64) -> i64 {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((now, at)) = seen else { return shown };
        let elapsed = i64::try_from(at.elapsed().as_millis()).unwrap_or(i64::MAX);
        now.saturating_add(elapsed).saturating_sub(system_time().saturating_sub(shown))
    }

    /// As [`Clock::now`], by a clock that shows `system`.
    fn at(&self, system: i64, latest: i64) -> i64 {
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

/// What the clock of the store was when it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// The latest time that was recorded.
    pub(crate) latest: i64,
    /// What the database's own clock shows, where it has one.
    pub(crate) shown: Option<i64>,
}

fn system_time() -> i64 {
    // A clock before 1970 counts as 1970, which is behind whatever the store has recorded.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_host_are_those_of_the_database() {
        let clock = Clock::default();
        let shown = system_time();
        assert_eq!(clock.when(shown), shown, "a file has the clock of its host");
        let hour = 3_600_000;
        for ahead in [hour, -hour] {
            assert_eq!(clock.of_database(shown + ahead, 0), shown + ahead);
            let off = clock.when(shown) - (shown + ahead);
            assert!((-1_000..1_000).contains(&off), "{off}");
        }
        // The clock of the database was set back.
        assert!(clock.of_database(shown - hour, shown) >= shown);
        assert!(clock.when(shown) >= shown - 1_000);
    }
}
