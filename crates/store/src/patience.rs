//! Reads that end when nobody waits for their answer any more.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// Set when nobody waits for what this thread does.
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Puts back what was there before, also when the work panics.
struct Before(Option<Arc<AtomicBool>>);

impl Drop for Before {
    fn drop(&mut self) {
        STOP.set(self.0.take());
    }
}

/// Does `work`, whose reads of any store fail with [`crate::StoreError::Left`] once `stop` is set: what the database does for them ends, too.
/// What was handed over to be written is written all the same.
pub fn while_wanted<T>(stop: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let _before = Before(STOP.replace(Some(Arc::clone(stop))));
    work()
}

/// The flag of this thread, if it has one.
pub(crate) fn stop() -> Option<Arc<AtomicBool>> {
    STOP.with_borrow(Clone::clone)
}

/// Whether nobody waits any more.
pub(crate) fn is_over() -> bool {
    STOP.with_borrow(|stop| stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)))
}
