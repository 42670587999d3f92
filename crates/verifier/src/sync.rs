//! Locks: one that survives a panic of its holder, and one lock a name.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a thread that waits for a name looks whether its caller still waits.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Locks a mutex whose content is whole at every moment, so that a panic of a holder spoils nothing.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A lock for each name: one thread at a time holds a name. Names that are not held take no memory.
#[derive(Default)]
pub struct KeyedLock(Arc<Names>);

#[derive(Default)]
struct Names {
    held: Mutex<Held>,
    released: Condvar,
}

#[derive(Default)]
struct Held {
    names: HashSet<String>,
    /// How many threads wait for a name.
    waiting: usize,
}

/// A name that is held until this is dropped.
#[must_use = "the name is released when this is dropped"]
pub struct KeyGuard {
    of: Arc<Names>,
    name: String,
}

impl KeyedLock {
    /// Waits until the name is free, and holds it.
    pub fn lock(&self, name: String) -> KeyGuard {
        let mut held = lock(&self.0.held);
        held.waiting += 1;
        let held = self.0.released.wait_while(held, |held| held.names.contains(&name));
        let mut held = held.unwrap_or_else(PoisonError::into_inner);
        held.waiting -= 1;
        self.hold(held, name)
    }

    /// Holds the name if it is free.
    pub fn try_lock(&self, name: String) -> Option<KeyGuard> {
        let held = lock(&self.0.held);
        (!held.names.contains(&name)).then(|| self.hold(held, name))
    }

    /// As [`KeyedLock::lock`]; none if `stop` is set while another thread holds the name.
    pub fn lock_unless(&self, name: String, stop: &AtomicBool) -> Option<KeyGuard> {
        let mut held = lock(&self.0.held);
        held.waiting += 1;
        // Nobody notifies when `stop` is set, so it is looked at again and again.
        while held.names.contains(&name) && !stop.load(Ordering::Relaxed) {
            held = self.0.released.wait_timeout(held, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        held.waiting -= 1;
        (!held.names.contains(&name)).then(|| self.hold(held, name))
    }

    fn hold(&self, mut held: MutexGuard<'_, Held>, name: String) -> KeyGuard {
        held.names.insert(name.clone());
        KeyGuard { of: Arc::clone(&self.0), name }
    }
}

impl Drop for KeyGuard {
    fn drop(&mut self) {
        let mut held = lock(&self.of.held);
        held.names.remove(&self.name);
        // To notify costs a system call, also where nobody waits.
        let waiting = held.waiting > 0;
        drop(held);
        if waiting {
            // All names share one condition, so any of those that wait may be the next.
            self.of.released.notify_all();
        }
    }
}
