//! Guards a connection: what passes is read strictly, decided by the policy, and recorded as a session.
//!
//! An action is forwarded only after its decision is on disk, together with the entry of the session that it is about.
//! Results are recorded without making the client wait: with the next decision, or by [`Guard::flush`].

mod http;
mod judge;
mod spans;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub use http::{FailedRequest, PostedMessage};
pub use judge::{Judge, Judges, LocalJudges, NoJudge, read_message};
use proofmark_boundary::{ActionPolicy, DecisionReceipt};
use proofmark_guard::{
    Connection, Message, MessageId, Moving, Output, Pending, Pin, Pinning, Pins, Released, Ruling, Sender, Settings,
    Step,
};
use proofmark_receipt::Sha256Digest;
use proofmark_session::{Decided, Entry, Event, FACT_KINDS, Kind, Lost, NewPolicy};
use proofmark_store::{ReviewVerdict, StoreError, StoredPin, TenantStore};

use crate::decide::DecideError;
use crate::decider::Decider;
use crate::pins::{MAX_WAITING, names_that_wait, pinned_for, pins, waiting_pin};
use crate::session_decider::{Known, Owner, SessionDecider};
use crate::telemetry::{self, Ruled};
use proofmark_keys::TrustedSigners;
use spans::Spans;

/// The most entries that wait to be stored. While the store cannot be written, calls are blocked, so these are few.
const MAX_ENTRIES: usize = 10_000;

/// A guarded connection.
pub struct Guard {
    connection: Arc<Mutex<Connection>>,
    decider: Arc<Decider>,
    owner: Owner,
    /// Locked before `connection` and `waiting`.
    session: Mutex<SessionDecider<Arc<Mutex<Connection>>>>,
    /// Whether what the policy blocks is forwarded all the same.
    shadow: bool,
    waiting: Mutex<Waiting>,
    /// What the operator is told next.
    notes: Mutex<Vec<Passage>>,
    /// Whether the session has entries of this guard on disk.
    recorded: AtomicBool,
    /// The policy that was recorded last.
    policy: Mutex<Sha256Digest>,
    begun: Instant,
    /// The spans of requests, if they are exported.
    spans: Option<Spans>,
}

impl Known for Arc<Mutex<Connection>> {
    const KINDS: &'static [Kind] = &FACT_KINDS;

    fn take_in(&mut self, entry: &Entry) {
        locked(self).take_in(entry);
    }

    fn appended(&mut self, _: &Entry) {
        // It has seen what it has recorded.
    }
}

/// Entries that are not on disk yet.
#[derive(Default)]
struct Waiting {
    entries: Vec<Entry>,
    /// How many more there were than can wait.
    lost: u64,
}

/// What is to be moved, and where.
///
/// Not [`Output`]: that also has what is recorded, which no transport gets, and knows only by its variants what is said to a request
/// that waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passage {
    ToClient(String),
    ToServer(String),
    /// To the client: a notification that a request waits. Its answer follows later.
    Progress(String),
    /// To the server: a request of the guard itself, with its id. Its answer is given to the guard as any other is.
    Ask(MessageId, String),
    /// The same of a request that waited, and not of what was taken in.
    Of(MessageId, Box<Passage>),
    /// Nothing: to be given to [`Guard::moved`] when everything before it has been moved. Until then, later requests of the
    /// client wait.
    Moved(Moving),
    /// For the operator.
    Log(String),
}

impl Guard {
    /// Begins a session, or continues the one of this name, on the facts of its record.
    ///
    /// # Errors
    /// When the session cannot be read or recorded: then nothing may be guarded.
    pub fn open(
        decider: Arc<Decider>,
        owner: Owner,
        settings: Settings,
        pinning: Pinning,
    ) -> Result<Self, DecideError> {
        let guard = Self::begin(decider, owner, settings, pinning)?;
        guard.record_all()?;
        Ok(guard)
    }

    /// As [`Guard::open`], but what begins is recorded together with the first that happens: clients probe and leave.
    ///
    /// # Errors
    /// When the session cannot be read.
    pub fn begin(
        decider: Arc<Decider>,
        owner: Owner,
        settings: Settings,
        pinning: Pinning,
    ) -> Result<Self, DecideError> {
        let policy = decider.policy_for(&owner.tenant, &owner.asker)?;
        let pins = pinned_for(pins(&decider.store().of(&owner.tenant))?, account_of(&owner));
        let (session, shadow) = (settings.session.clone(), settings.shadow);
        let spans = telemetry::is_told();
        let spans = spans.then(|| Spans::new(session.clone(), settings.agent.clone(), owner.clone()));
        let mut connection = Connection::new(settings, Pins::new(pinning, pins));
        if spans.is_some() {
            connection = connection.noting_exchanges();
        }
        let opened = connection.open(&policy, decider.now().as_str());
        let connection = Arc::new(Mutex::new(connection));
        // Nothing stops a guard: its decisions are short, and their clients wait.
        let known = Arc::clone(&connection);
        let of = owner.clone();
        let session = SessionDecider::open(Arc::clone(&decider), of, session, known, Arc::default())?;
        let guard = Self {
            session: Mutex::new(session),
            shadow,
            connection,
            decider,
            owner,
            waiting: Mutex::default(),
            notes: Mutex::default(),
            recorded: AtomicBool::new(false),
            policy: Mutex::new(policy.hash()),
            begun: Instant::now(),
            spans,
        };
        let notes = guard.carry_out(opened);
        guard.notes().extend(notes);
        Ok(guard)
    }

    /// Takes in a line of the client; what is to be moved, in this order.
    ///
    /// What is to be moved to the server may also be a request of the guard itself. Its answer goes to
    /// [`Guard::from_server`] as any other does.
    pub fn from_client(&self, line: impl Into<Vec<u8>>) -> Vec<Passage> {
        let Some(policy) = self.in_force() else { return Vec::new() };
        self.note_policy(policy.hash());
        self.renew_pins();
        let step = self.connection().from_client(line, &policy);
        self.follow(step)
    }

    /// Takes in a line of the client that goes nowhere, because the server does not read what it was sent before. What is to be moved.
    pub fn not_forwarded(&self, line: impl Into<Vec<u8>>) -> Vec<Passage> {
        let refusal = Message::read(line, Sender::Client).map_or_else(|refusal| refusal, |message| message.unread());
        self.not_taken(&refusal).passages
    }

    /// Takes in a line of the server; what is to be moved, in this order.
    pub fn from_server(&self, line: impl Into<Vec<u8>>) -> Vec<Passage> {
        let Some(policy) = self.in_force() else { return Vec::new() };
        let now = self.decider.now();
        let step = self.connection().from_server(line, &policy, now.as_str());
        self.follow(step)
    }

    /// Takes in that time has passed: to be called a few times a second. What is to be moved, in this order.
    ///
    /// Calls that were approved meanwhile go on, and what has waited for too long is answered.
    pub fn tick(&self) -> Vec<Passage> {
        let mut passages = std::mem::take(&mut *self.notes());
        let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let step = self.connection().tick(millis);
        passages.extend(self.follow(step));
        let waiting = self.connection().waiting_decisions();
        for decision in waiting {
            // If the store cannot be read, the call waits on.
            if self.is_settled(&decision).unwrap_or(false) {
                let released = self.connection().reviewed(&decision);
                passages.extend(released.into_iter().flat_map(|released| self.go_on(released)));
            }
        }
        passages
    }

    /// Takes in that everything before [`Passage::Moved`] has been moved. What is to be moved next, in this order.
    pub fn moved(&self, moving: Moving) -> Vec<Passage> {
        let step = self.connection().moved(moving);
        self.follow(step)
    }

    /// Whether a request waits for a list that the guard has asked the server for, or is on its way after that: then the server
    /// must not be closed yet.
    #[must_use]
    pub fn waits_for_list(&self) -> bool {
        self.connection().waits_for_list()
    }

    /// Whether nothing waits, so that nothing follows from time alone and nothing is to be recorded.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.connection().is_idle() && self.waiting().entries.is_empty() && self.notes().is_empty()
    }

    /// Takes in that the client sends nothing more: what waits for a person is blocked. What is to be moved.
    pub fn client_ended(&self) -> Vec<Passage> {
        let outputs = self.connection().client_ended();
        self.told(outputs)
    }

    /// Decides by this policy from here on, and records that; whether it is another one than before.
    pub fn set_policy(&self, policy: ActionPolicy) -> bool {
        if self.in_force().is_some_and(|before| before.hash() == policy.hash()) {
            return false;
        }
        self.note_policy(policy.hash());
        self.decider.set_policy(policy);
        true
    }

    /// The policy that this guard asks.
    fn in_force(&self) -> Option<Arc<ActionPolicy>> {
        // One that was there when the guard began can be replaced, and not taken away.
        self.decider.policy_for(&self.owner.tenant, &self.owner.asker).ok()
    }

    /// Records that another policy is in force, if it is; whether that is so.
    fn note_policy(&self, after: Sha256Digest) -> bool {
        let before = std::mem::replace(&mut *self.policy.lock().unwrap_or_else(PoisonError::into_inner), after);
        if before != after {
            self.record(Event::Policy(NewPolicy { policy_hash: after.to_string(), before: before.to_string() }));
        }
        before != after
    }

    /// Trusts these signers from here on, and nobody else.
    pub fn set_trusted(&self, trusted: TrustedSigners) {
        self.decider.set_trusted(trusted);
    }

    /// Answers what is open, for a server that has ended.
    pub fn server_ended(&self) -> Vec<Passage> {
        let outputs = self.connection().server_ended();
        self.told(outputs)
    }

    /// Records what waits.
    ///
    /// # Errors
    /// When it cannot be stored; it waits on then.
    pub fn flush(&self) -> Result<(), DecideError> {
        let has_happened = self.waiting().entries.iter().any(|entry| {
            // A client that begins, asks what the server is, and leaves.
            !matches!(entry.event, Event::Opened(_) | Event::Server(_) | Event::Closed(_))
        });
        if self.is_recorded() || has_happened { self.record_all() } else { Ok(()) }
    }

    /// Whether the session has entries of this guard on disk.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.recorded.load(Ordering::Relaxed)
    }

    fn record_all(&self) -> Result<(), DecideError> {
        self.record_in(&mut self.session())
    }

    fn record_in(&self, session: &mut SessionDecider<Arc<Mutex<Connection>>>) -> Result<(), DecideError> {
        let waiting = self.take_waiting();
        if waiting.is_empty() {
            return Ok(());
        }
        let stored = session.append(&waiting);
        match stored {
            Ok(()) => self.recorded.store(true, Ordering::Relaxed),
            Err(_) => drop(self.waiting().entries.splice(0..0, waiting)),
        }
        stored
    }

    /// Ends the session and records what waits.
    ///
    /// # Errors
    /// As [`Guard::flush`].
    pub fn close(&self) -> Result<(), DecideError> {
        let outputs = self.connection().close();
        self.told(outputs);
        self.spans.iter().for_each(Spans::close);
        self.flush()
    }

    /// Has the policy decide where that is needed.
    fn follow(&self, step: Step) -> Vec<Passage> {
        let mut passages = self.told(step.outputs);
        if let Some(mut pending) = step.pending {
            // Until the call is among the facts of the next decision.
            let mut session = self.session();
            let rulings = self.decide(&mut session, &mut pending);
            let rulings: Vec<_> = rulings
                .iter()
                .map(|ruling| match ruling {
                    Ok(receipt) => Ruling::Decided(receipt),
                    Err(why) => Ruling::Failed(why),
                })
                .collect();
            let now = self.decider.now();
            let outputs = self.connection().ruled(pending, &rulings, now.as_str());
            passages.extend(self.told(outputs));
        }
        for released in step.released {
            passages.extend(self.go_on(released));
        }
        passages.extend(step.moving.into_iter().map(Passage::Moved));
        passages
    }

    /// Goes on with a request that waited.
    fn go_on(&self, released: Released) -> Vec<Passage> {
        let Some(policy) = self.in_force() else { return Vec::new() };
        self.renew_pins();
        let id = released.id().clone();
        let step = self.connection().go_on(released, &policy);
        self.follow(step)
            .into_iter()
            .map(|passage| match passage {
                Passage::ToClient(_) | Passage::ToServer(_) => Passage::Of(id.clone(), Box::new(passage)),
                Passage::Progress(_) | Passage::Ask(..) | Passage::Of(..) | Passage::Moved(_) | Passage::Log(_) => {
                    passage
                }
            })
            .collect()
    }

    /// Takes over what was approved, where something is quarantined.
    fn renew_pins(&self) {
        if self.connection().any_quarantined() {
            // If the store cannot be read, it stays quarantined.
            if let Ok(pins) = pins(&self.store()) {
                self.connection().renew_pins(pinned_for(pins, account_of(&self.owner)));
            }
        }
    }

    /// Whether the action of a decision was denied, or the decision has as many approvals as it waits for, or cannot be reviewed any more
    /// because the same action was allowed since: then it is decided anew.
    fn is_settled(&self, decision: &str) -> Result<bool, StoreError> {
        let store = self.store();
        let Some(stored) = store.decision(decision)? else { return Ok(false) };
        let reviews = store.reviews(decision)?;
        let approvals = reviews.iter().filter(|review| review.verdict == ReviewVerdict::Approved).count() as u64;
        Ok(approvals >= stored.about.wanted.max(1)
            || store.denial(&stored.fingerprint, self.decider.now().unix_millis())?.is_some()
            || store.allowed_since(decision)?.is_some())
    }

    /// Decides the actions in order, until one is blocked.
    fn decide(
        &self,
        session: &mut SessionDecider<Arc<Mutex<Connection>>>,
        pending: &mut Pending,
    ) -> Vec<Result<DecisionReceipt, String>> {
        let mut rulings = Vec::new();
        for index in 0..pending.requests.len() {
            let ruling = session.settled(|session| self.decide_one(session, pending, index));
            let ruling = ruling.map_err(|error| format!("The action could not be decided: failed to {error}."));
            let goes_on = ruling.as_ref().is_ok_and(|receipt| receipt.disposition().allows() || self.shadow);
            if let Some(spans) = &self.spans {
                spans.ruled(pending, ruling.as_ref().ok().map(Ruled::by), goes_on);
            }
            rulings.push(ruling);
            if !goes_on {
                break;
            }
        }
        rulings
    }

    fn decide_one(
        &self,
        session: &mut SessionDecider<Arc<Mutex<Connection>>>,
        pending: &mut Pending,
        index: usize,
    ) -> Result<DecisionReceipt, DecideError> {
        let renewed = self.connection().renew(pending);
        renewed.map_err(|error| DecideError::Facts(error.to_string()))?;
        let request = pending.requests.get(index).ok_or(DecideError::Raced)?;
        let waiting = self.take_waiting();
        let decided = session.decide(request, &|decision, allowed| {
            let shadowed = (self.shadow && !allowed).then_some(true);
            let event = Event::Decided(Decided { shadowed, ..pending.decided(index, decision, allowed) });
            waiting.iter().cloned().chain([self.entry(event)]).collect()
        });
        let receipt = match decided {
            Ok(receipt) => receipt,
            Err(error) => {
                drop(self.waiting().entries.splice(0..0, waiting));
                return Err(error);
            }
        };
        self.recorded.store(true, Ordering::Relaxed);
        let decided_by = receipt.bound("policy_hash").and_then(|hash| hash.parse().ok());
        // It was replaced since the message came. Where this cannot be stored now, it is recorded with the next entry.
        if decided_by.is_some_and(|policy| self.note_policy(policy)) {
            let _later = self.record_in(session);
        }
        Ok(receipt)
    }

    /// As [`Guard::carry_out`], and exports spans of the requests that begin and end with it.
    fn told(&self, outputs: Vec<Output>) -> Vec<Passage> {
        let passages = self.carry_out(outputs);
        self.spans.iter().for_each(|spans| spans.follow(&self.connection));
        passages
    }

    /// Keeps events and pins, and returns what is to be moved.
    fn carry_out(&self, outputs: Vec<Output>) -> Vec<Passage> {
        let (mut passages, mut pins) = (Vec::new(), Vec::new());
        for output in outputs {
            match output {
                Output::ToClient(text) => passages.push(Passage::ToClient(text)),
                Output::ToServer(text) => passages.push(Passage::ToServer(text)),
                Output::Ask(id, text) => passages.push(Passage::Ask(id, text)),
                Output::Tell(id, text) => passages.push(Passage::Of(id, Box::new(Passage::ToClient(text)))),
                Output::Progress(id, text) => passages.push(Passage::Of(id, Box::new(Passage::Progress(text)))),
                Output::Log(text) => passages.push(Passage::Log(text)),
                Output::Event(event) => {
                    if let (Event::Server(server), Some(spans)) = (&event, &self.spans) {
                        spans.agreed_on(server.protocol.as_deref());
                    }
                    self.record(event);
                }
                Output::Pin(pin) => pins.push((pin, None)),
                Output::Waits(pin, why) => pins.push((pin, Some(why))),
            }
        }
        passages.extend(self.keep(pins));
        passages
    }

    /// Stores definitions, all in one write. Hosts start servers at the same time: what others have pinned since this guard began is
    /// not pinned over, but compared with.
    fn keep(&self, mut found: Vec<(Pin, Option<String>)>) -> Vec<Passage> {
        let mut passages = Vec::new();
        if let Some((pin, _)) = found.first()
            && let Ok(known) = pins(&self.store())
        {
            let account = account_of(&self.owner);
            let mut waiting = names_that_wait(&known, &pin.server, account);
            found.retain(|(pin, waits)| {
                if waits.is_some() && waiting.len() < MAX_WAITING {
                    waiting.insert(pin.name.clone());
                }
                waits.is_none() || waiting.contains(&pin.name)
            });
            let mut pinned = pinned_for(known, account);
            // Another guard of this server has pinned it, and a person may have approved it since.
            found.retain(|(pin, waits)| waits.is_some() || !pin.is_one_of(&pinned));
            let again: Vec<Pin> = found
                .extract_if(.., |(pin, waits)| waits.is_none() && pin.is_unlike_one_of(&pinned))
                .map(|(pin, _)| pin)
                .collect();
            if !again.is_empty() {
                let new = found.iter().filter(|(_, waits)| waits.is_none());
                pinned.extend(new.map(|(pin, _)| pin.clone()));
                let outputs = self.connection().pinned_meanwhile(pinned, again);
                passages.extend(self.carry_out(outputs));
            }
        }
        if found.is_empty() {
            return passages;
        }
        let account = account_of(&self.owner);
        let stored: Vec<StoredPin> = found.into_iter().map(|(pin, waits)| waiting_pin(&pin, account, waits)).collect();
        let stored = self.store().submit_all(stored.into_iter().map(Into::into).collect());
        if let Err(error) = stored.wait() {
            passages.push(Passage::Log(format!("failed to store definitions of the server: {error}")));
        }
        passages
    }

    fn store(&self) -> TenantStore<'_> {
        self.decider.store().of(&self.owner.tenant)
    }

    fn session(&self) -> MutexGuard<'_, SessionDecider<Arc<Mutex<Connection>>>> {
        // A thread that panicked has stored entries that this does not count, at most: then they are read.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        locked(&self.connection)
    }

    fn record(&self, event: Event) {
        let mut waiting = self.waiting();
        if waiting.entries.len() < MAX_ENTRIES { waiting.entries.push(self.entry(event)) } else { waiting.lost += 1 }
    }

    /// The entries to store next. The last says how many were lost, if any were.
    fn take_waiting(&self) -> Vec<Entry> {
        let Waiting { mut entries, lost } = std::mem::take(&mut *self.waiting());
        if lost > 0 {
            entries.push(self.entry(Event::Lost(Lost { entries: lost })));
        }
        entries
    }

    fn entry(&self, event: Event) -> Entry {
        Entry { at: self.decider.now().to_string(), event }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notes(&self) -> MutexGuard<'_, Vec<Passage>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose servers are guarded; empty for a guard that decides itself.
fn account_of(owner: &Owner) -> &str {
    owner.asker.account.as_deref().unwrap_or_default()
}

fn locked(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    // A thread that panicked has changed what it had judged, at most.
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}
