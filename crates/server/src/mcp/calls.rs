//! Which requests of a session are worked on, by the ids that its client gives them.
//!
//! Of two requests with one id the client could not tell the answers apart, and could not say which one it cancels: the second is
//! refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proofmark_guard::MessageId;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tracing::Instrument;

use super::answer::answer;
use super::request::{INVALID_REQUEST, Refusal, Request};
use super::said::{self, Hears, Said};
use super::server::Server;

/// The most requests of one session that are worked on at once.
const MAX_OPEN: usize = 1_024;

/// The requests of one session that are worked on.
#[derive(Default)]
pub(super) struct Calls {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    begun: u64,
    calls: HashMap<MessageId, Call>,
}

struct Call {
    number: u64,
    work: Work,
    said: watch::Receiver<Said>,
}

/// Work on one request, which ends when this is dropped.
pub(super) struct Work(AbortHandle);

/// A request that is worked on, or whose answer its client has not got. When this is dropped its id may be used again.
pub(super) struct OpenCall {
    calls: Arc<Calls>,
    id: MessageId,
}

/// Begins to work on a request of no session.
pub(super) fn begin(server: &Arc<Server>, id: MessageId, request: Request) -> (Work, Hears) {
    let (work, said) = work(server, id, request, None);
    (work, Hears::after(0, said, None))
}

fn work(
    server: &Arc<Server>,
    id: MessageId,
    request: Request,
    open: Option<Arc<OpenCall>>,
) -> (Work, watch::Receiver<Said>) {
    let (says, said) = said::channel();
    let server = Arc::clone(server);
    let work = async move {
        let answer = match answer(&server, request, &says).await {
            Ok(result) => id.result(&result),
            Err(refusal) => refusal.answer(&id),
        };
        // This comes first: the client may use the id again as soon as it has the answer. Until then, what hears it keeps the request open.
        drop(open);
        says.answer(answer);
    };
    // What is logged there has the id of the request over HTTP.
    (Work(tokio::spawn(work.in_current_span()).abort_handle()), said)
}

impl Calls {
    /// Begins to work on a request, and returns its number within the session.
    ///
    /// # Errors
    /// If a request of this id is open, or too many are.
    pub(super) fn begin(
        self: &Arc<Self>,
        server: &Arc<Server>,
        id: MessageId,
        request: Request,
    ) -> Result<(u64, Hears), Refusal> {
        // The lock is held until the call is among the others: it may be over by then, and is removed after that.
        let mut open = self.open();
        if open.calls.contains_key(&id) {
            let message = "a call with this id is open; give each call of a session its own id";
            return Err(Refusal::new(INVALID_REQUEST, message));
        }
        if open.calls.len() >= MAX_OPEN {
            let message = format!("{MAX_OPEN} calls of this session are open; wait for their answers");
            return Err(Refusal::new(INVALID_REQUEST, message));
        }
        open.begun += 1;
        let number = open.begun;
        let call = Arc::new(OpenCall { calls: Arc::clone(self), id: id.clone() });
        let (work, said) = work(server, id.clone(), request, Some(Arc::clone(&call)));
        open.calls.insert(id, Call { number, work, said: said.clone() });
        Ok((number, Hears::after(0, said, Some(call))))
    }

    /// Ends the work on a request. It is not answered.
    pub(super) fn cancel(&self, id: &MessageId) {
        // Its id stays taken until the work has ended.
        let work = self.open().calls.get(id).map(|call| call.work.0.clone());
        // Not under the lock, which the end of the work takes.
        work.iter().for_each(AbortHandle::abort);
    }

    /// Ends the work on all requests.
    pub(super) fn cancel_all(&self) {
        let all: Vec<AbortHandle> = self.open().calls.values().map(|call| call.work.0.clone()).collect();
        all.iter().for_each(AbortHandle::abort);
    }

    /// Hears again what is said about a request of which a client has heard so many reports, if it is open.
    pub(super) fn hear_again(&self, number: u64, reports: u64) -> Option<Hears> {
        let open = self.open();
        let call = open.calls.values().find(|call| call.number == number)?;
        Some(Hears::after(reports, call.said.clone(), None))
    }

    /// Whether nothing is worked on.
    pub(super) fn is_empty(&self) -> bool {
        self.open().calls.is_empty()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let ended = self.calls.open().calls.remove(&self.id);
        drop(ended);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.abort();
    }
}
