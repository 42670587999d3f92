//! Locks: one that survives a panic of its holder, and one lock a name.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a thread that waits for a name looks whether its caller still waits.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Locks a mutex whose content is whole at every moment, so that a panic of a holder spoils nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A lock for each name: one thread at a time holds a name. Names that are not held take no memory.
#[derive(Default)]
pub(crate) struct KeyedLock {
    held: Mutex<HashSet<String>>,
    released: Condvar,
}

/// A name that is held until this is dropped.
#[must_use = "the name is released when this is dropped"]
pub(crate) struct KeyGuard<'a> {
    lock: &'a KeyedLock,
    name: String,
}

impl KeyedLock {
    /// Waits until the name is free, and holds it.
    pub(crate) fn lock(&self, name: String) -> KeyGuard<'_> {
        let held = self.released.wait_while(lock(&self.held), |held| held.contains(&name));
        held.unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        KeyGuard { lock: self, name }
    }

    /// As [`KeyedLock::lock`]; none if `stop` is set while another thread holds the name.
    pub(crate) fn lock_unless(&self, name: String, stop: &AtomicBool) -> Option<KeyGuard<'_>> {
        let mut held = lock(&self.held);
        while held.contains(&name) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            // Nobody notifies when `stop` is set, so it is looked at again and again.
            held = self.released.wait_timeout(held, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        held.insert(name.clone());
        Some(KeyGuard { lock: self, name })
    }
}

impl Drop for KeyGuard<'_> {
    fn drop(&mut self) {
        lock(&self.lock.held).remove(&self.name);
        // All names share one condition, so any of those that wait may be the next.
        self.lock.released.notify_all();
    }
}
