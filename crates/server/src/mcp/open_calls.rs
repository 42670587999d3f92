//! Which calls are worked on, by the ids that clients give them.
//!
//! The protocol's library sends answers by these ids alone. Of two calls with one id it would answer one, and the client that sent
//! the other would wait without end: the second is refused.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proofmark_receipt::Json;

use super::message;

/// JSON-RPC 2.0, section 5.1.
pub(super) const INVALID_REQUEST: i64 = -32_600;

/// The calls that are worked on, of all sessions.
#[derive(Default)]
pub(super) struct OpenCalls {
    open: Mutex<HashSet<Name>>,
}

/// The session, and the id as its client wrote it.
type Name = (String, String);

/// A call that is worked on. When this is dropped its id may be used again.
pub(super) struct OpenCall {
    calls: Arc<OpenCalls>,
    name: Name,
}

impl OpenCalls {
    /// Begins the call that a message is; none where it is something else.
    ///
    /// # Errors
    /// The answer to a call that has the id of another of this session that is still worked on.
    pub(super) fn begin(self: &Arc<Self>, session: &str, message: &Json) -> Result<Option<OpenCall>, String> {
        // Without a method it is an answer of the client, whose id is one that this server chose.
        let Some(call) = message.as_object().filter(|message| message.contains("method")) else { return Ok(None) };
        let Some(id) = call.get("id").filter(|id| !id.is_null()) else { return Ok(None) };
        // As JSON, so that `1` and `"1"` are two ids.
        let name = (session.to_owned(), id.to_text());
        if !self.open().insert(name.clone()) {
            let why = "a call with this id is open; give each call of a session its own id";
            return Err(message::refusal(INVALID_REQUEST, why, Some(id)));
        }
        Ok(Some(OpenCall { calls: Arc::clone(self), name }))
    }

    fn open(&self) -> MutexGuard<'_, HashSet<Name>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.calls.open().remove(&self.name);
    }
}
