//! The guarded sessions: one for each session of the protocol, and one for each caller without.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use proofmark_decider::{Judge, Judges, Passage};
use proofmark_guard::{HungUp, MessageId};
use proofmark_receipt::Sha256Digest;
use proofmark_server::problem::Problem;
use proofmark_server::share::{Limits, SessionShare};
use proofmark_server::{Caller, PeerAddress};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tracing::{error, warn};

use super::{Client, reply};

/// How long a session may be without a request and without a stream.
const MAX_SILENCE: Duration = Duration::from_secs(30 * 60);
/// How often it is logged that sessions cannot be recorded.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);

/// All sessions.
pub(super) struct Sessions {
    judges: Arc<dyn Judges>,
    /// The name of the first.
    name: String,
    /// Whether everything that a caller does is one session.
    is_one: bool,
    limits: Arc<Limits>,
    known: Mutex<Known>,
    complained: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Known {
    /// Those of the protocol, by the id that the server gave them.
    by_id: HashMap<String, Arc<Session>>,
    /// Those of clients without, by who they are.
    by_caller: HashMap<Sha256Digest, Arc<Session>>,
    /// They are recorded until nobody uses them.
    ended: Vec<Arc<Session>>,
    /// How many names were given.
    named: u64,
}

/// A guarded session.
pub(super) struct Session {
    pub(super) guard: Arc<dyn Judge>,
    caller: Caller,
    /// Whether requests of several clients may come in it, so that each is an exchange of its own.
    is_shared: AtomicBool,
    exchanges: AtomicU64,
    used: Mutex<Used>,
    /// The exchanges that are worked on, by their requests: each is told what follows for it.
    waiting: Mutex<HashMap<MessageId, UnboundedSender<Passage>>>,
    _share: SessionShare,
}

struct Used {
    by: usize,
    last: Instant,
}

/// A session that is used. While it is, it does not end for its silence.
pub(super) struct InUse(Arc<Session>);

impl Sessions {
    pub(super) fn new(judges: Arc<dyn Judges>, name: String, is_one: bool, limits: Arc<Limits>) -> Self {
        Self { judges, name, is_one, limits, known: Mutex::default(), complained: Mutex::default() }
    }

    /// The session with this id, if this caller began it.
    pub(super) fn with_id(&self, id: &str, caller: &Caller) -> Option<InUse> {
        let known = self.known();
        let session = known.by_id.get(id).filter(|session| session.caller.is(caller));
        session.map(|session| session.in_use())
    }

    /// The session of a client that has no session of the protocol, if it has begun.
    pub(super) fn of_caller(&self, who: &Sha256Digest) -> Option<InUse> {
        self.known().by_caller.get(who).map(|session| session.in_use())
    }

    /// The same, which begins if it has not. It may wait for the store.
    pub(super) fn of_caller_or_new(&self, client: &Client) -> Result<InUse, Problem> {
        match self.of_caller(&client.who) {
            Some(session) => Ok(session),
            None => {
                let session = self.begin(&client.caller, client.from.as_ref())?;
                Ok(self.share(&client.who, session))
            }
        }
    }

    /// The session of a client that begins one of the protocol. It may wait for the store.
    pub(super) fn begin_for(&self, client: &Client) -> Result<InUse, Problem> {
        // Clients probe before they begin. What nothing happened in is theirs.
        let mut known = self.known();
        if let Some(probed) = known.by_caller.get(&client.who).filter(|session| session.is_unused()) {
            let session = probed.in_use();
            known.by_caller.remove(&client.who);
            session.is_shared.store(false, Ordering::Relaxed);
            return Ok(session);
        }
        drop(known);
        self.begin(&client.caller, client.from.as_ref())
    }

    fn begin(&self, caller: &Caller, from: Option<&PeerAddress>) -> Result<InUse, Problem> {
        let share = self.limits.session(caller, from);
        // What nothing happened in gives way to the next; not before the round in which it is closed.
        let share = share.inspect_err(|_| self.known().end_unused())?;
        let agent = (*caller != Caller::local()).then(|| caller.id.clone());
        let guard = self.judges.begin(self.name(caller), agent).map_err(reply::no_judge)?;
        let session = Session {
            guard,
            caller: caller.clone(),
            is_shared: AtomicBool::new(false),
            exchanges: AtomicU64::new(0),
            used: Mutex::new(Used { by: 0, last: Instant::now() }),
            waiting: Mutex::default(),
            _share: share,
        };
        Ok(Arc::new(session).in_use())
    }

    /// Takes in the id that the server gave to a session that has begun; `false` if it gave this id before.
    pub(super) fn identify(&self, id: &str, session: &InUse) -> bool {
        let mut known = self.known();
        let is_new = !known.by_id.contains_key(id);
        if is_new {
            known.by_id.insert(id.to_owned(), Arc::clone(&session.0));
        }
        is_new
    }

    /// Takes in that the server gave no id to a session that has begun: it is the one of its caller, unless there is another.
    pub(super) fn share(&self, who: &Sha256Digest, session: InUse) -> InUse {
        session.0.is_shared.store(true, Ordering::Relaxed);
        let mut known = self.known();
        let shared = Arc::clone(known.by_caller.entry(*who).or_insert_with(|| Arc::clone(&session.0)));
        if !Arc::ptr_eq(&shared, &session.0) {
            known.ended.push(Arc::clone(&session.0));
        }
        shared.in_use()
    }

    /// Ends the session with this id: the client or the server said so.
    pub(super) fn end(&self, id: &str) {
        let mut known = self.known();
        let ended = known.by_id.remove(id);
        known.ended.extend(ended);
    }

    /// Ends the sessions of callers who are not to keep them.
    pub(super) fn keep(&self, keeps: impl Fn(&Caller) -> bool) {
        self.known().end(|session| !keeps(&session.caller));
    }

    /// Ends the sessions that have been silent for long.
    pub(super) fn end_silent(&self) {
        self.known().end(|session| {
            let used = session.used();
            used.by == 0 && used.last.elapsed() > MAX_SILENCE
        });
    }

    /// Records what waits, goes on with requests that waited, and closes what has ended. It waits for the store.
    pub(super) fn round(&self) {
        let sessions: Vec<_> = {
            let known = self.known();
            known.by_id.values().chain(known.by_caller.values()).chain(&known.ended).cloned().collect()
        };
        for session in &sessions {
            for passage in session.guard.round() {
                match passage {
                    Passage::Of(id, passage) => session.route(&id, *passage),
                    Passage::Log(text) => warn!(cause = text.as_str(), "guard"),
                    // Nothing else follows from time alone.
                    Passage::ToClient(_)
                    | Passage::ToServer(_)
                    | Passage::Progress(_)
                    | Passage::Ask(..)
                    | Passage::Moved(_) => {}
                }
            }
            if let Err(error) = session.guard.flush() {
                self.complain(&error);
            }
            if let Some(why) = session.guard.is_lost() {
                self.lose(session, &why);
            }
        }
        let ended: Vec<_> = self.known().ended.extract_if(.., |session| session.used().by == 0).collect();
        ended.iter().for_each(|session| self.close(session));
    }

    /// Ends a session in which nothing is decided any more. What waits is answered; its client begins another.
    fn lose(&self, lost: &Arc<Session>, why: &str) {
        self.known().end(|session| std::ptr::eq(session, &**lost));
        let waiting: Vec<_> = lost.waiting().drain().collect();
        for (request, exchange) in waiting {
            drop(exchange.send(Passage::ToClient(request.failed(&format!("not executed: {why}")))));
        }
    }

    /// Closes all sessions. It waits for the store.
    pub(super) fn close_all(&self) {
        self.known().end(|_| true);
        let ended = std::mem::take(&mut self.known().ended);
        ended.iter().for_each(|session| self.close(session));
    }

    fn close(&self, session: &Session) {
        if let Err(error) = session.guard.close() {
            self.complain(&error);
        }
    }

    fn complain(&self, cause: &str) {
        let mut complained = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        if complained.is_none_or(|last| last.elapsed() > COMPLAIN_EVERY) {
            *complained = Some(Instant::now());
            error!(cause, "a session cannot be recorded; calls are blocked until it can");
        }
    }

    /// The name of the next session.
    fn name(&self, caller: &Caller) -> String {
        let mut name = self.name.clone();
        if *caller != Caller::local() {
            name.extend([" ", &caller.id]);
        }
        let mut known = self.known();
        known.named += 1;
        match known.named {
            number @ 2.. if !self.is_one => format!("{name} {number}"),
            _ => name,
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn end_unused(&mut self) {
        let unused = self.by_caller.extract_if(|_, session| session.is_unused()).map(|(_, session)| session);
        self.ended.extend(unused);
    }

    fn end(&mut self, ends: impl Fn(&Session) -> bool) {
        let by_id = self.by_id.extract_if(|_, session| ends(session)).map(|(_, session)| session);
        self.ended.extend(by_id);
        let by_caller = self.by_caller.extract_if(|_, session| ends(session)).map(|(_, session)| session);
        self.ended.extend(by_caller);
    }
}

impl Session {
    /// The exchange that a request belongs to.
    pub(super) fn exchange(&self) -> u64 {
        if self.is_shared() { self.exchanges.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 }
    }

    /// Whether it is of a client without a session of the protocol: what is lost then does not come again.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared.load(Ordering::Relaxed)
    }

    /// What follows for a request from here on; `None` if one with its id is worked on.
    pub(super) fn expect(&self, request: &MessageId) -> Option<UnboundedReceiver<Passage>> {
        let mut waiting = self.waiting();
        if waiting.contains_key(request) {
            return None;
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        waiting.insert(request.clone(), sender);
        Some(receiver)
    }

    /// The id of a request may be used again.
    pub(super) fn forget(&self, request: &MessageId) {
        self.waiting().remove(request);
    }

    /// Tells the exchange of a request what follows for it.
    pub(super) fn route(&self, request: &MessageId, passage: Passage) {
        let goes_on = matches!(passage, Passage::ToServer(_));
        let told = {
            let waiting = self.waiting();
            waiting.get(request).is_some_and(|sender| sender.send(passage).is_ok())
        };
        if !told && goes_on {
            self.hung_up(request.clone(), HungUp::BeforeSending);
        }
    }

    /// Tells the guard, without waiting for it, that a side hung up.
    pub(super) fn hung_up(&self, request: MessageId, when: HungUp) {
        let guard = Arc::clone(&self.guard);
        let work = move || guard.hung_up(&request, when);
        match Handle::try_current() {
            // A message that is being read holds the lock.
            Ok(handle) => drop(handle.spawn_blocking(work)),
            Err(_) => work(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<MessageId, UnboundedSender<Passage>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_unused(&self) -> bool {
        self.used().by == 0 && !self.guard.is_recorded()
    }

    fn in_use(self: &Arc<Self>) -> InUse {
        self.used().by += 1;
        InUse(Arc::clone(self))
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::ops::Deref for InUse {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl Clone for InUse {
    fn clone(&self) -> Self {
        self.0.in_use()
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut used = self.0.used();
        used.by -= 1;
        used.last = Instant::now();
    }
}
