//! Signals between threads.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use proofmark_store::Hint;

use proofmark_verifier::sync::lock;

/// Something that happens once.
#[derive(Default)]
pub(super) struct Signal {
    happened: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    pub(super) fn set(&self) {
        *lock(&self.happened) = true;
        self.changed.notify_all();
    }

    /// Waits until it happens, at most this long; whether it has happened.
    pub(super) fn wait(&self, patience: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(lock(&self.happened), patience, |happened| !*happened);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// What one thread is to look at, again and again.
#[derive(Default)]
pub(super) struct Wake {
    woken: Mutex<Woken>,
    changed: Condvar,
}

/// What a thread is to look at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Woken {
    pub(super) hint: Hint,
    /// Whether something has happened in this process.
    pub(super) own: bool,
}

impl Wake {
    /// Something has happened in this process.
    pub(super) fn set(&self, hint: Hint) {
        self.note(Woken { hint, own: true });
    }

    /// Something may have happened in another process.
    pub(super) fn hear(&self, hint: Hint) {
        self.note(Woken { hint, own: false });
    }

    /// Waits until there is something to look at, at most this long.
    pub(super) fn take(&self, patience: Duration) -> Woken {
        let waited = self.changed.wait_timeout_while(lock(&self.woken), patience, |woken| woken.hint == Hint::NONE);
        std::mem::take(&mut *waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    fn note(&self, more: Woken) {
        let mut woken = lock(&self.woken);
        *woken = Woken { hint: woken.hint | more.hint, own: woken.own || more.own };
        drop(woken);
        self.changed.notify_one();
    }
}
