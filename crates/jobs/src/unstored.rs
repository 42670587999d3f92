//! Jobs that this process ran and could not end in the store: when each of them runs again.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use proofmark_receipt::ReceiptId;
use proofmark_verifier::sync::lock;

/// How long after the first failure a job runs again, and at most after a later one: each time twice as long as before.
const FIRST_DELAY: Duration = Duration::from_secs(3);
const MAX_DELAY: Duration = Duration::from_secs(300);

#[derive(Default)]
pub(super) struct Unstored(Mutex<HashMap<ReceiptId, Failed>>);

struct Failed {
    delay: Duration,
    until: Instant,
}

impl Unstored {
    /// Notes that a job could not be ended at this time; how long it waits.
    pub(super) fn note(&self, id: ReceiptId, now: Instant) -> Duration {
        let mut all = lock(&self.0);
        let delay = all.get(&id).map_or(FIRST_DELAY, |failed| failed.delay.saturating_mul(2).min(MAX_DELAY));
        all.insert(id, Failed { delay, until: now + delay });
        delay
    }

    /// Whether a job waits at this time.
    pub(super) fn waits(&self, id: &ReceiptId, now: Instant) -> bool {
        lock(&self.0).get(id).is_some_and(|failed| failed.until > now)
    }

    /// Forgets all jobs but these, which this process still has.
    pub(super) fn keep(&self, ids: &HashSet<ReceiptId>) {
        lock(&self.0).retain(|id, _| ids.contains(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_waits_twice_as_long_each_time() {
        let (unstored, now) = (Unstored::default(), Instant::now());
        let [id, other] = [1, 2].map(|seed| ReceiptId::from_random_bytes([seed; 16]));
        for seconds in [3, 6, 12, 24, 48, 96, 192, 300, 300] {
            let delay = Duration::from_secs(seconds);
            assert_eq!(unstored.note(id, now), delay);
            assert!(unstored.waits(&id, now + delay / 2) && !unstored.waits(&id, now + delay), "{seconds}");
        }
        assert!(!unstored.waits(&other, now), "others do not wait for it");
        unstored.keep(&HashSet::from([id]));
        assert!(unstored.waits(&id, now));
        unstored.keep(&HashSet::from([other]));
        assert_eq!(unstored.note(id, now), FIRST_DELAY, "what ended is forgotten");
    }
}
