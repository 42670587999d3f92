//! The one thread that kills what this process runs when its lease was not renewed: before another process may run it.
//!
//! It asks the store nothing: a lease is not renewed where the store does not answer, and a thread that waits for it notices too late.

use std::time::{Duration, Instant};

use proofmark_store::LEASE_MS;
use proofmark_verifier::sync::lock;

use crate::scheduler::Scheduler;

/// How long after it last renewed its lease a process kills what it runs.
const GIVE_UP_AFTER: Duration = Duration::from_secs(8);
const _: () = assert!(GIVE_UP_AFTER.as_millis() as i64 + 1_000 < LEASE_MS, "killing takes time");

/// How often it looks for what has begun without a lease.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl Scheduler {
    /// Runs until everything has stopped.
    pub(super) fn run_lost_lease(&self) {
        while !self.stopped.wait(self.lease_left().max(LOOK_AGAIN)) {
            if self.is_renewed() {
                continue;
            }
            let stored: Vec<_> = self.all_live().into_iter().filter(|job| job.is_stored()).collect();
            for job in &stored {
                job.cancel();
                // Who holds its row waits for the store, and ends the job or leaves it.
                if let Ok(mut row) = job.row.try_lock()
                    && !row.over
                {
                    self.hand_over(job, &mut row);
                }
            }
        }
    }

    /// Whether the lease lasts.
    pub(super) fn is_renewed(&self) -> bool {
        !self.lease_left().is_zero()
    }

    /// Notes that the lease was asked for at this moment, and granted.
    pub(super) fn set_renewed(&self, asked: Instant) {
        *lock(&self.renewed) = asked;
    }

    fn lease_left(&self) -> Duration {
        GIVE_UP_AFTER.saturating_sub(lock(&self.renewed).elapsed())
    }
}
