//! Stops work that no client waits for any more: the client is gone, the work took too long, or the server stops.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;

/// How long an answer may take before the client is told to come back.
pub const MAX_ANSWER_TIME: Duration = Duration::from_secs(30);

/// The flags of all work in progress, and whether the server stops.
pub struct Stops {
    flags: Mutex<Flags>,
    stopping: watch::Sender<bool>,
}

#[derive(Default)]
struct Flags {
    /// Whether all were set: work that begins after that is stopped, too.
    all_set: bool,
    all: Vec<Weak<AtomicBool>>,
}

/// Sets its flag when it is dropped. The one who waits for the work owns it.
pub struct Stop {
    flag: Arc<AtomicBool>,
}

impl Stops {
    /// Nothing is stopped yet.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self { flags: Mutex::default(), stopping: watch::Sender::new(false) })
    }

    /// A flag for one piece of work.
    pub fn flag(&self) -> Stop {
        let mut flags = self.flags.lock().unwrap_or_else(PoisonError::into_inner);
        // This is under the lock of `stop_all`: work is either in the list that it goes through, or begins with its flag set.
        let flag = Arc::new(AtomicBool::new(flags.all_set));
        // Work that is over leaves the list here; otherwise it would grow with every request.
        flags.all.retain(|one| one.strong_count() > 0);
        flags.all.push(Arc::downgrade(&flag));
        Stop { flag }
    }

    /// Ends streams of events: the server stops.
    pub fn begin(&self) {
        // `send` would not change the value while nobody subscribes.
        self.stopping.send_replace(true);
    }

    /// Sets the flags of all work, also of work that begins after this.
    pub(crate) fn stop_all(&self) {
        let mut flags = self.flags.lock().unwrap_or_else(PoisonError::into_inner);
        flags.all_set = true;
        // Relaxed is enough everywhere: the flag guards no other data, and work polls it.
        flags.all.iter().filter_map(Weak::upgrade).for_each(|flag| flag.store(true, Ordering::Relaxed));
    }

    /// Becomes true when the server stops.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }
}

impl Stop {
    /// The flag, for the work.
    pub fn shared(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_told_when_nobody_waits_or_all_stops() {
        let stops = Stops::new();
        let [left, waited] = [stops.flag(), stops.flag()];
        let flags = [left.shared(), waited.shared()];
        let told = || flags.iter().map(|flag| flag.load(Ordering::Relaxed)).collect::<Vec<_>>();
        drop(left);
        assert_eq!(told(), [true, false]);
        stops.stop_all();
        assert_eq!(told(), [true, true]);
        drop((flags, waited));
        assert!(stops.flag().shared().load(Ordering::Relaxed), "it begins though all has stopped");
        let _one = stops.flag();
        assert_eq!(stops.flags.lock().unwrap().all.len(), 1, "what is over is remembered");
    }
}
