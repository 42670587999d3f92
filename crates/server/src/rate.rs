//! How often one caller may send requests.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many callers are remembered; with more, those that have their whole allowance are forgotten.
const MAX_CALLERS: usize = 10_000;

/// A token bucket for each caller, which holds a second's worth of requests.
pub(crate) struct Rate<K> {
    each_second: NonZeroU32,
    callers: Mutex<HashMap<K, Allowance>>,
}

#[derive(Clone, Copy)]
struct Allowance {
    left: f64,
    at: Instant,
}

impl<K: Clone + Eq + Hash> Rate<K> {
    pub(crate) fn new(each_second: NonZeroU32) -> Self {
        Self { each_second, callers: Mutex::new(HashMap::new()) }
    }

    /// Takes one call off the caller's allowance, or answers how long it takes until there is one.
    pub(crate) fn take(&self, caller: &K, now: Instant) -> Result<(), Duration> {
        let most = f64::from(self.each_second.get());
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= MAX_CALLERS && !callers.contains_key(caller) {
            // After a second without a call a caller can be forgotten, so what is called in a second bounds the table.
            callers.retain(|_, allowance| allowance.at(now, most).left < most);
        }
        let found = callers.get(caller).map_or(Allowance { left: most, at: now }, |kept| kept.at(now, most));
        let wait = (1.0 - found.left).max(0.0) / most;
        // A refused call costs nothing: a client that polls too fast still gets its allowance.
        let left = if wait > 0.0 { found.left } else { found.left - 1.0 };
        callers.insert(caller.clone(), Allowance { left, at: now });
        if wait > 0.0 { Err(Duration::from_secs_f64(wait)) } else { Ok(()) }
    }
}

impl Allowance {
    fn at(self, now: Instant, most: f64) -> Self {
        // `now` is taken before the lock, so it can be earlier than that of the call before.
        let grown = now.saturating_duration_since(self.at).as_secs_f64() * most;
        Self { left: (self.left + grown).min(most), at: now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_gets_its_allowance_and_no_more_and_takes_none_of_anothers() {
        let rate = Rate::new(NonZeroU32::new(2).unwrap_or(NonZeroU32::MIN));
        let now = Instant::now();
        assert_eq!(rate.take(&"a", now), Ok(()));
        assert_eq!(rate.take(&"a", now), Ok(()));
        assert_eq!(rate.take(&"a", now), Err(Duration::from_millis(500)));
        assert_eq!(rate.take(&"b", now), Ok(()));
        let later = now + Duration::from_millis(500);
        assert_eq!(rate.take(&"a", later), Ok(()));
        assert!(rate.take(&"a", later).is_err());
    }
}
