//! Guards a connection: what passes is read strictly, decided by the policy, and recorded as a session.
//!
//! An action is forwarded only after its decision is on disk, together with the entry of the session that it is about.
//! Results are recorded without making the client wait: with the next decision, or by [`Guard::flush`].

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proofmark_guard::{Connection, Event, Output, Pending, Pinning, Pins, Ruling, Settings, Step};
use proofmark_receipt::{ChainTip, Json, Object, SigningKey, object, sign_document};
use proofmark_store::{NewEntries, NewEntry, StoredPin, Tenant};

use crate::clock;
use crate::decide::DecideError;
use crate::decider::{Asked, Decider};
use crate::pins::{pinned, waiting_pin};
use crate::session::SESSION_ENTRY;

/// A guarded connection.
pub struct Guard {
    connection: Mutex<Connection>,
    decider: Decider,
    session: String,
    /// Entries that are not on disk yet.
    waiting: Mutex<Vec<Entry>>,
    stop: AtomicBool,
}

/// What is to be moved, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passage {
    ToClient(String),
    ToServer(String),
    /// For the operator.
    Log(String),
}

/// An event and when it was.
#[derive(Clone)]
struct Entry {
    at: String,
    event: Event,
}

impl Guard {
    /// Begins a session.
    ///
    /// # Errors
    /// When the session cannot be recorded: then nothing may be guarded.
    pub fn open(decider: Decider, settings: Settings, pinning: Pinning) -> Result<Self, DecideError> {
        let policy = decider.policy().ok_or(DecideError::NoPolicy)?;
        let pins = pinned(decider.store())?;
        let opened = object! {
            "server": settings.server.as_str(),
            "agent"?: settings.agent.clone(),
            "environment"?: settings.environment.clone(),
            "policy_hash": policy.hash().to_string(),
        };
        let guard = Self {
            session: settings.session.clone(),
            connection: Mutex::new(Connection::new(settings, Pins::new(pinning, pins))),
            decider,
            waiting: Mutex::default(),
            stop: AtomicBool::new(false),
        };
        let opened = Entry { at: clock::now().to_string(), event: Event { kind: "opened", members: opened } };
        let entries = guard.entries(vec![opened], None)?;
        guard.decider.store().of(&Tenant::LOCAL).submit(entries).wait()?;
        Ok(guard)
    }

    /// Takes in a line of the client; what is to be moved, in this order.
    pub fn from_client(&self, line: &[u8]) -> Vec<Passage> {
        let Some(policy) = self.decider.policy() else { return Vec::new() };
        if self.connection().any_quarantined() {
            // Somebody may have approved it. If the store cannot be read, it stays quarantined.
            if let Ok(pins) = pinned(self.decider.store()) {
                self.connection().renew_pins(pins);
            }
        }
        let step = self.connection().from_client(line, &policy);
        self.follow(step)
    }

    /// Takes in a line of the server; what is to be moved, in this order.
    pub fn from_server(&self, line: &[u8]) -> Vec<Passage> {
        let Some(policy) = self.decider.policy() else { return Vec::new() };
        let now = clock::now();
        let step = self.connection().from_server(line, &policy, now.as_str());
        self.follow(step)
    }

    /// Answers what is open, for a server that has ended.
    pub fn server_ended(&self) -> Vec<Passage> {
        let outputs = self.connection().server_ended();
        self.carry_out(outputs)
    }

    /// Records what waits.
    ///
    /// # Errors
    /// When it cannot be stored; it waits on then.
    pub fn flush(&self) -> Result<(), DecideError> {
        let waiting = std::mem::take(&mut *self.waiting());
        if waiting.is_empty() {
            return Ok(());
        }
        let stored = self
            .entries(waiting.clone(), None)
            .and_then(|entries| Ok(self.decider.store().of(&Tenant::LOCAL).submit(entries).wait().map(drop)?));
        if stored.is_err() {
            self.waiting().splice(0..0, waiting);
        }
        stored
    }

    /// Ends the session and records what waits.
    ///
    /// # Errors
    /// As [`Guard::flush`].
    pub fn close(&self) -> Result<(), DecideError> {
        let outputs = self.connection().close();
        self.carry_out(outputs);
        self.flush()
    }

    /// Has the policy decide where that is needed.
    fn follow(&self, step: Step) -> Vec<Passage> {
        let mut passages = self.carry_out(step.outputs);
        if let Some(pending) = step.pending {
            let rulings = self.decide(&pending);
            let rulings: Vec<_> = rulings
                .iter()
                .map(|ruling| match ruling {
                    Ok(receipt) => Ruling::Decided(receipt),
                    Err(why) => Ruling::Failed(why),
                })
                .collect();
            let now = clock::now();
            let outputs = self.connection().ruled(pending, &rulings, now.as_str());
            passages.extend(self.carry_out(outputs));
        }
        passages
    }

    /// Decides the actions in order, until one is not allowed.
    fn decide(&self, pending: &Pending) -> Vec<Result<proofmark_boundary::DecisionReceipt, String>> {
        let mut rulings = Vec::new();
        for (index, request) in pending.requests.iter().enumerate() {
            let asked = Asked { request, tenant: &Tenant::LOCAL, candidate: None, replayable: None, stop: &self.stop };
            let waiting = std::mem::take(&mut *self.waiting());
            let decided = self.decider.decide_with(&asked, &|decision_id, allowed| {
                let event = pending.decided(index, Some(&decision_id), allowed);
                let entry = Entry { at: clock::now().to_string(), event };
                let entries = waiting.iter().cloned().chain([entry]).collect();
                Ok(vec![self.entries(entries, Some(decision_id))?.into()])
            });
            let ruling = decided.map_err(|error| {
                self.waiting().splice(0..0, waiting.clone());
                format!("The action could not be decided: failed to {error}.")
            });
            let allowed = ruling.as_ref().is_ok_and(|receipt| receipt.disposition().allows());
            rulings.push(ruling);
            if !allowed {
                break;
            }
        }
        rulings
    }

    /// Keeps events and pins, and returns what is to be moved.
    fn carry_out(&self, outputs: Vec<Output>) -> Vec<Passage> {
        let mut passages = Vec::new();
        for output in outputs {
            match output {
                Output::ToClient(text) => passages.push(Passage::ToClient(text)),
                Output::ToServer(text) => passages.push(Passage::ToServer(text)),
                Output::Log(text) => passages.push(Passage::Log(text)),
                Output::Event(event) => self.waiting().push(Entry { at: clock::now().to_string(), event }),
                Output::Pin(pin) => passages.extend(self.keep(waiting_pin(&pin, None))),
                Output::Waits(pin, why) => passages.extend(self.keep(waiting_pin(&pin, Some(why)))),
            }
        }
        passages
    }

    /// Stores a definition.
    fn keep(&self, pin: StoredPin) -> Option<Passage> {
        let tool = proofmark_receipt::shown(&pin.tool);
        let stored = self.decider.store().of(&Tenant::LOCAL).submit(pin).wait();
        stored.err().map(|error| Passage::Log(format!("failed to store the definition of `{tool}`: {error}")))
    }

    /// The entries to store. `decision` is what the last of them is about.
    fn entries(&self, entries: Vec<Entry>, decision: Option<String>) -> Result<NewEntries, DecideError> {
        let last = entries.len().saturating_sub(1);
        let mut new = Vec::new();
        for (index, Entry { at, event }) in entries.into_iter().enumerate() {
            let id = clock::receipt_id()?;
            let mut document = object! {
                "record_type": SESSION_ENTRY,
                "entry_id": id.to_string(),
                "session": self.session.as_str(),
                "kind": event.kind,
                "at": at,
            };
            for (name, value) in event.members.iter() {
                document.insert(name, value.clone());
            }
            document.insert("metadata", Object::new());
            let key = self.decider.shared_key();
            let decision_id = decision.clone().filter(|_| index == last);
            let sign = Box::new(move |tip: Option<&ChainTip>| sign_entry(document, tip, &key));
            new.push(NewEntry { id, kind: event.kind, decision_id, sign });
        }
        Ok(NewEntries { session: self.session.clone(), entries: new })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A thread that panicked has changed what it had judged, at most.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sign_entry(
    mut document: Object,
    tip: Option<&ChainTip>,
    key: &Arc<SigningKey>,
) -> Result<Object, proofmark_receipt::SignError> {
    if let Some(Json::Object(metadata)) = document.get_mut("metadata") {
        ChainTip::write_link(tip, metadata);
    }
    sign_document(&mut document, key)?;
    Ok(document)
}
