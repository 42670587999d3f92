//! Tells work that nobody waits for it any more: its client is gone, it took too long, or the server stops.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;

/// How long an answer may take before the client is told to come back.
pub(crate) const MAX_ANSWER_TIME: Duration = Duration::from_secs(30);

/// The flags of everything that is worked on, and whether the server stops.
pub(crate) struct Stops {
    flags: Mutex<Flags>,
    stopping: watch::Sender<bool>,
}

#[derive(Default)]
struct Flags {
    /// Whether all were set: what begins after that is not wanted either.
    all_set: bool,
    all: Vec<Weak<AtomicBool>>,
}

/// Sets its flag when it is dropped: it belongs to the one who waits for the work.
pub(crate) struct Stop {
    flag: Arc<AtomicBool>,
}

impl Stops {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { flags: Mutex::default(), stopping: watch::Sender::new(false) })
    }

    /// A flag for one piece of work.
    pub(crate) fn flag(&self) -> Stop {
        let mut flags = self.flags.lock().unwrap_or_else(PoisonError::into_inner);
        let flag = Arc::new(AtomicBool::new(flags.all_set));
        flags.all.retain(|one| one.strong_count() > 0);
        flags.all.push(Arc::downgrade(&flag));
        Stop { flag }
    }

    /// Says that the server stops: streams of events end.
    pub(crate) fn begin(&self) {
        self.stopping.send_replace(true);
    }

    /// Sets the flags of everything that is still worked on, or begins after this.
    pub(crate) fn stop_all(&self) {
        let mut flags = self.flags.lock().unwrap_or_else(PoisonError::into_inner);
        flags.all_set = true;
        flags.all.iter().filter_map(Weak::upgrade).for_each(|flag| flag.store(true, Ordering::Relaxed));
    }

    /// Whether the server stops, to be waited for.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }
}

impl Stop {
    /// The flag, for the one who works.
    pub(crate) fn shared(&self) -> Arc<AtomicBool> {
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
