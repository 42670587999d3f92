//! The record of a session, as one process knows it.
//!
//! Several processes may write one session: hooks of one host, or guards of several servers. Each decides on the entries that
//! it has seen, and the store refuses what it appends if there are others: then it reads these and decides anew. So no two
//! decisions are made on facts that lack each other.

use std::sync::Arc;

use proofmark_guard::{Event, FACT_KINDS};
use proofmark_receipt::document::shown;
use proofmark_receipt::{ChainTip, Json, Object, SignError, SigningKey, Timestamp, object, sign_document};
use proofmark_store::{NewEntries, NewEntry, Store, StoreError, Tenant};

use crate::decide::DecideError;
use crate::decider::{Decider, MAX_RACES};
use proofmark_session::SESSION_ENTRY;
use proofmark_verifier::clock;

/// An event and when it was.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    at: String,
    event: Event,
}

/// A session's entries, as far as this process has seen them.
#[derive(Debug)]
pub(crate) struct SessionLog {
    session: String,
    /// How many entries it had when it was last looked at.
    count: u64,
}

impl Entry {
    /// The entry as far as facts are made of it.
    pub(crate) fn to_object(&self) -> Object {
        let mut object = self.event.members.clone();
        object.insert("kind", self.event.kind);
        object.insert("at", self.at.as_str());
        object
    }

    pub(crate) fn new(event: Event, at: &Timestamp) -> Self {
        Self { at: at.to_string(), event }
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.event.kind
    }
}

impl SessionLog {
    /// The record of the session with this name, of which nothing was seen yet.
    pub(crate) fn new(session: String) -> Self {
        Self { session, count: 0 }
    }

    /// Whether the session has no entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Hands over the entries of these kinds that were not seen yet.
    ///
    /// # Errors
    /// When the store cannot be read, and for an entry that cannot be: the facts would lack it.
    pub(crate) fn catch_up(
        &mut self,
        store: &Store,
        kinds: &[&str],
        take: &mut dyn FnMut(&Object),
    ) -> Result<(), DecideError> {
        let mut unreadable = false;
        let place = (self.session.as_str(), self.count);
        self.count = store.of(&Tenant::LOCAL).session_since(place, kinds, &mut |document| match Json::parse(
            document.as_bytes(),
        ) {
            Ok(Json::Object(entry)) => take(&entry),
            Ok(_) | Err(_) => unreadable = true,
        })?;
        match unreadable {
            true => Err(DecideError::Facts(format!("an entry of the session `{}` is damaged", shown(&self.session)))),
            false => Ok(()),
        }
    }

    /// The entries to store after those that were seen. The last of them is about `decision`.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub(crate) fn entries(
        &self,
        decider: &Decider,
        entries: &[Entry],
        decision: Option<String>,
    ) -> Result<NewEntries, DecideError> {
        let last = entries.len().saturating_sub(1);
        let mut new = Vec::new();
        for (index, Entry { at, event }) in entries.iter().enumerate() {
            let id = clock::receipt_id()?;
            let mut document = object! {
                "record_type": SESSION_ENTRY,
                "entry_id": id.to_string(),
                "session": self.session.as_str(),
                "kind": event.kind,
                "at": at.as_str(),
            };
            for (name, value) in event.members.iter() {
                document.insert(name, value.clone());
            }
            document.insert("metadata", Object::new());
            let key = decider.shared_key();
            let decision_id = decision.clone().filter(|_| index == last);
            let sign = Box::new(move |tip: Option<&ChainTip>| sign_entry(document.clone(), tip, &key));
            new.push(NewEntry { id, kind: event.kind, decision_id, sign });
        }
        Ok(NewEntries { session: self.session.clone(), after: Some(self.count), entries: new })
    }

    /// Counts entries that were stored.
    pub(crate) fn stored(&mut self, count: usize) {
        self.count = self.count.saturating_add(count as u64);
    }

    /// Stores entries after all others, which are handed over where they were not seen yet.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub(crate) fn append(
        &mut self,
        decider: &Decider,
        entries: &[Entry],
        take: &mut dyn FnMut(&Object),
    ) -> Result<(), DecideError> {
        for _ in 0..MAX_RACES {
            let new = self.entries(decider, entries, None)?;
            match decider.store().of(&Tenant::LOCAL).submit(new).wait().map_err(DecideError::from) {
                Ok(_) => {
                    self.stored(entries.len());
                    return Ok(());
                }
                Err(error) if has_moved(&error) => self.catch_up(decider.store(), &FACT_KINDS, take)?,
                Err(error) => return Err(error),
            }
        }
        Err(DecideError::Raced)
    }
}

/// Whether another process has appended to the session.
pub(crate) fn has_moved(error: &DecideError) -> bool {
    matches!(error, DecideError::Store(StoreError::SessionMoved(_)))
}

fn sign_entry(mut document: Object, tip: Option<&ChainTip>, key: &Arc<SigningKey>) -> Result<Object, SignError> {
    if let Some(Json::Object(metadata)) = document.get_mut("metadata") {
        ChainTip::write_link(tip, metadata);
    }
    sign_document(&mut document, key)?;
    Ok(document)
}
