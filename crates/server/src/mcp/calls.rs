//! Which calls are worked on, by the ids that clients give them.
//!
//! The protocol's library sends answers by these ids alone. Of two calls with one id it would answer one, and the client that sent
//! the other would wait without end: the second is refused.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proofmark_receipt::Json;

use super::raw;

/// JSON-RPC 2.0, section 5.1.
pub(super) const INVALID_REQUEST: i64 = -32_600;

/// The calls that are worked on, of all sessions.
#[derive(Default)]
pub(super) struct Calls {
    begun: Mutex<HashSet<Name>>,
}

/// The session, and the id as its client wrote it.
type Name = (String, String);

/// A call that is worked on. When this is dropped its id may be used again.
pub(super) struct Begun {
    calls: Arc<Calls>,
    name: Name,
}

impl Calls {
    /// Begins the call that a message is; none where it is something else.
    ///
    /// # Errors
    /// The answer to a call that has the id of another of this session that is still worked on.
    pub(super) fn begin(self: &Arc<Self>, session: &str, message: &Json) -> Result<Option<Begun>, String> {
        let Some(call) = message.as_object().filter(|message| message.contains("method")) else { return Ok(None) };
        let Some(id) = call.get("id").filter(|id| !id.is_null()) else { return Ok(None) };
        let name = (session.to_owned(), id.to_text());
        if !self.begun().insert(name.clone()) {
            let message = "a call with this id is still worked on; give each call of a session an id of its own";
            return Err(raw::refusal(INVALID_REQUEST, message, Some(id)));
        }
        Ok(Some(Begun { calls: Arc::clone(self), name }))
    }

    fn begun(&self) -> MutexGuard<'_, HashSet<Name>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.calls.begun().remove(&self.name);
    }
}
