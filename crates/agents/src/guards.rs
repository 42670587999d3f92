//! The guards that live in this server, for connections that are beside agents.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use proofmark_decider::Guard;
use proofmark_receipt::hex;
use proofmark_server::Caller;
use proofmark_server::problem::Problem;
use tracing::error;

/// The most guards at once.
const MAX_GUARDS: usize = 1_024;
/// The most of them that one account or API key has.
const MAX_OF_CALLER: usize = MAX_GUARDS / 4;
/// How long a guard is kept of which nothing is heard. One that lives is told of the time several times a second.
const MAX_SILENCE: Duration = Duration::from_secs(60);
/// How often silent ones are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// The guards of all who ask.
#[derive(Default)]
pub(crate) struct Guards {
    known: Mutex<HashMap<String, Arc<Kept>>>,
}

/// A guard, and who it is for.
pub(crate) struct Kept {
    pub(crate) guard: Guard,
    /// Whether the guarded server is one over HTTP.
    pub(crate) over_http: bool,
    caller: Caller,
    heard: Mutex<Instant>,
}

impl Guards {
    /// None yet. Those that fall silent are closed.
    pub(crate) fn start() -> Arc<Self> {
        let guards = Arc::new(Self::default());
        let watched: Weak<Self> = Arc::downgrade(&guards);
        // Without this thread they are closed when the server ends.
        drop(thread::Builder::new().name("guards".to_owned()).spawn(move || {
            while let Some(guards) = watched.upgrade() {
                guards.close_all(|kept| kept.heard().elapsed() > MAX_SILENCE);
                drop(guards);
                thread::sleep(SWEEP_EVERY);
            }
        }));
        guards
    }

    /// Refuses one more guard of this caller where there are too many.
    pub(crate) fn has_place_for(&self, caller: &Caller) -> Result<(), Problem> {
        let known = self.known();
        let own = known.values().filter(|kept| kept.caller.is(caller)).count();
        if known.len() < MAX_GUARDS && own < MAX_OF_CALLER { Ok(()) } else { Err(Problem::busy()) }
    }

    /// Keeps a guard; its id, which nobody guesses.
    pub(crate) fn keep(&self, guard: Guard, over_http: bool, caller: Caller) -> Result<String, Problem> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| Problem::internal().cause(error))?;
        let id = hex::encode(&bytes);
        let kept = Kept { guard, over_http, caller, heard: Mutex::new(Instant::now()) };
        self.known().insert(id.clone(), Arc::new(kept));
        Ok(id)
    }

    /// The guard with this id, if it is one of this caller.
    pub(crate) fn of(&self, caller: &Caller, id: &str) -> Result<Arc<Kept>, Problem> {
        let kept = self.known().get(id).filter(|kept| kept.caller.is(caller)).cloned();
        let kept = kept.ok_or_else(|| Problem::not_found("guard"))?;
        *kept.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(kept)
    }

    /// Closes the guard with this id, if it is one of this caller.
    pub(crate) fn close(&self, caller: &Caller, id: &str) -> Result<(), Problem> {
        let kept = self.of(caller, id)?;
        self.known().remove(id);
        kept.guard.close().map_err(Problem::from)
    }

    fn close_all(&self, of: impl Fn(&Kept) -> bool) {
        let closed: Vec<Arc<Kept>> = self.known().extract_if(|_, kept| of(kept)).map(|(_, kept)| kept).collect();
        for kept in closed {
            if let Err(cause) = kept.guard.close() {
                error!(cause = cause.to_string(), "the end of a session cannot be recorded");
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Arc<Kept>>> {
        // Nothing panics while it is locked, so its content is whole.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Guards {
    fn drop(&mut self) {
        // What has not been recorded yet is, when the server ends.
        self.close_all(|_| true);
    }
}

impl Kept {
    fn heard(&self) -> Instant {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
