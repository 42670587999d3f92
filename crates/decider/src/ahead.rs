//! Decisions that are made and not on disk yet. The next decision on the action counts on them: the store refuses it if they are
//! refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use proofmark_receipt::ReceiptId;
use proofmark_store::ActionHistory;
use proofmark_verifier::sync::lock;

/// By action: the last decision that was made on it.
#[derive(Default)]
pub(crate) struct Ahead(Arc<Mutex<HashMap<String, Last>>>);

/// A decision that is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Last {
    pub(crate) id: ReceiptId,
    /// The history of the action, this decision included.
    pub(crate) history: ActionHistory,
}

/// What is made, until it is on disk, or refused.
pub(crate) struct Entry {
    of: Arc<Mutex<HashMap<String, Last>>>,
    action: String,
    id: ReceiptId,
}

impl Ahead {
    /// The last decision that was made on the action, if it may not be on disk yet.
    pub(crate) fn last(&self, action: &str) -> Option<Last> {
        lock(&self.0).get(action).copied()
    }

    /// Has the next decision on the action count on this one.
    pub(crate) fn put(&self, action: String, last: Last) -> Entry {
        lock(&self.0).insert(action.clone(), last);
        Entry { of: Arc::clone(&self.0), action, id: last.id }
    }
}

impl Entry {
    /// It was refused, and so will be those that count on it: the next one is made on what is stored.
    pub(crate) fn refused(self) {
        lock(&self.of).remove(&self.action);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut made = lock(&self.of);
        if made.get(&self.action).is_some_and(|last| last.id == self.id) {
            made.remove(&self.action);
        }
    }
}
