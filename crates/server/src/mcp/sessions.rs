//! Sessions of the Model Context Protocol over HTTP, which belong to the keys that began them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::calls::Calls;
use super::server::Server;
use crate::keys::Caller;
use crate::peer_address::PeerAddress;
use crate::problem::Problem;
use crate::services::Services;
use crate::share::{Limits, SessionShare};
use crate::stop::Stops;

/// How long a session may be silent: longer than any verification takes.
const MAX_SILENCE: Duration = Duration::from_secs(15 * 60);

/// All sessions, and what answers them.
pub(crate) struct Sessions {
    pub(super) server: Arc<Server>,
    all: Mutex<HashMap<String, Arc<Session>>>,
}

/// A session. When this is dropped, work on its calls and the streams that follow it end.
pub(super) struct Session {
    owner: Caller,
    pub(super) calls: Arc<Calls>,
    /// When its client said something last.
    heard: Mutex<Instant>,
    over: watch::Sender<()>,
    _share: SessionShare,
}

impl Sessions {
    /// Requests are admitted before they come here: neither keys nor hosts are checked.
    pub(crate) fn new(services: &Arc<Services>, limits: &Arc<Limits>, stops: &Arc<Stops>) -> Sessions {
        Sessions { server: Server::new(services, limits, stops), all: Mutex::default() }
    }

    /// Begins a session, and returns its id.
    ///
    /// # Errors
    /// If the caller's tenant, or its peer, has its share of sessions.
    pub(super) fn begin(&self, owner: Caller, from: Option<&PeerAddress>) -> Result<String, Problem> {
        let share = self.server.limits.session(&owner, from)?;
        // The id is random, because it is all that a client of the same key has to know to use the session.
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| Problem::internal().cause(error))?;
        let id = format!("{:032x}", u128::from_be_bytes(bytes));
        let session = Arc::new(Session {
            owner,
            calls: Arc::default(),
            heard: Mutex::new(Instant::now()),
            over: watch::Sender::default(),
            _share: share,
        });
        self.all().insert(id.clone(), session);
        Ok(id)
    }

    /// The session of this id that the caller began. For any other caller it does not exist.
    pub(super) fn find(&self, id: &str, caller: &Caller) -> Result<Arc<Session>, Problem> {
        let session = self.all().get(id).filter(|session| session.owner.is(caller)).cloned();
        let session = session.ok_or_else(|| Problem::not_found("session").help("begin one with `initialize`"))?;
        *session.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(session)
    }

    /// Ends a session that the caller began, if there is one of this id.
    ///
    /// # Errors
    /// If another caller began it.
    pub(super) fn end(&self, id: &str, caller: &Caller) -> Result<(), Problem> {
        let mut all = self.all();
        if all.get(id).is_some_and(|session| !session.owner.is(caller)) {
            return Err(Problem::not_found("session").help("begin one with `initialize`"));
        }
        let ended = all.remove(id);
        // Outside of the lock, as in `end_where`.
        drop(all);
        drop(ended);
        Ok(())
    }

    /// Ends the sessions of callers who are not to keep them, with the calls that are open in them.
    pub(crate) fn keep(&self, keeps: impl Fn(&Caller) -> bool) {
        self.end_where(|session| !keeps(&session.owner));
    }

    /// Ends the sessions whose clients have been silent for long.
    pub(crate) fn end_silent(&self) {
        self.end_where(|session| session.is_silent());
    }

    fn end_where(&self, ends: impl Fn(&Session) -> bool) {
        let ended: Vec<_> = self.all().extract_if(|_, session| ends(session)).collect();
        // Outside of the lock: what ends with them may take a while.
        drop(ended);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Its `changed` fails when the session is over.
    pub(super) fn over(&self) -> watch::Receiver<()> {
        self.over.subscribe()
    }

    fn is_silent(&self) -> bool {
        let heard = *self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        // While a call runs its client waits, and has nothing to say.
        self.calls.is_empty() && heard.elapsed() > MAX_SILENCE
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.calls.cancel_all();
    }
}
