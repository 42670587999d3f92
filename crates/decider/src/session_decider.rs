//! Decides on the calls of a session, as one process knows it, and records what happens in it.
//!
//! Several processes may write one session: hooks of one host, or guards of several servers. Each decides on the entries that
//! it has seen, and the store refuses what it appends if there are others: then it reads these and decides anew. So no two
//! decisions are made on facts that lack each other.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proofmark_boundary::{DecisionReceipt, Request};
use proofmark_receipt::document::shown;
use proofmark_receipt::{ChainTip, Json};
use proofmark_session::{Entry, Kind, sign_entry};
use proofmark_store::{NewEntries, NewEntry, StoreError, Tenant};
use proofmark_verifier::clock;

use crate::decide::DecideError;
use crate::decider::{Asked, Decider, settled};

/// What is known of a session by its entries.
pub(crate) trait Known {
    /// The kinds of entries that it is made of.
    const KINDS: &'static [Kind];

    /// Takes in an entry of the session's record, in its order.
    fn take_in(&mut self, entry: &Entry);
}

/// A session that this process decides on.
pub(crate) struct SessionDecider<K> {
    decider: Arc<Decider>,
    /// Its name.
    session: String,
    /// How many entries it had when it was last looked at.
    count: u64,
    pub(crate) known: K,
    stop: Arc<AtomicBool>,
}

impl<K: Known> SessionDecider<K> {
    /// The session of this name, as its entries tell; nothing is decided once `stop` is set.
    ///
    /// # Errors
    /// When the entries cannot be read.
    pub(crate) fn open(
        decider: Arc<Decider>,
        session: String,
        known: K,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, DecideError> {
        let mut opened = Self { decider, session, count: 0, known, stop };
        opened.catch_up()?;
        Ok(opened)
    }

    /// Whether the session has no entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Takes in the entries that were not seen yet.
    ///
    /// # Errors
    /// When the store cannot be read, and for an entry that cannot be: the facts would lack it.
    pub(crate) fn catch_up(&mut self) -> Result<(), DecideError> {
        let Self { decider, session, count, known, .. } = self;
        let kinds: Vec<_> = K::KINDS.iter().map(|kind| kind.as_str()).collect();
        let (mut unreadable, store) = (false, decider.store().of(&Tenant::LOCAL));
        *count = store.session_since(session, *count, &kinds, &mut |document| {
            match Json::parse(document.as_bytes()) {
                // They are of these kinds, so each is known here.
                Ok(Json::Object(entry)) => Entry::read(&entry).iter().for_each(|entry| known.take_in(entry)),
                Ok(_) | Err(_) => unreadable = true,
            }
        })?;
        if unreadable {
            return Err(DecideError::Facts(format!("an entry of the session `{}` is damaged", shown(session))));
        }
        Ok(())
    }

    /// Tries until no other process has appended to the session meanwhile: what it has appended is taken in before the next
    /// attempt.
    ///
    /// # Errors
    /// Those of the attempt, and of [`SessionDecider::catch_up`].
    pub(crate) fn settled<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Self) -> Result<T, DecideError>,
    ) -> Result<T, DecideError> {
        settled(|| match attempt(self) {
            Err(DecideError::Store(StoreError::SessionMoved(_))) => self.catch_up().map(|()| None),
            attempted => attempted.map(Some),
        })
    }

    /// Decides on a request that was made of what is known, and stores the entries that `entries` makes of the decision's id and
    /// of whether it allows; the last of them is about the decision. To be called by [`SessionDecider::settled`].
    ///
    /// # Errors
    /// [`DecideError`]; nothing is allowed then.
    pub(crate) fn decide(
        &mut self,
        request: &Request,
        entries: &dyn Fn(&str, bool) -> Vec<Entry>,
    ) -> Result<DecisionReceipt, DecideError> {
        let count = Cell::new(0);
        let with = |decision: &str, allowed: bool| {
            let entries = entries(decision, allowed);
            count.set(entries.len() as u64);
            Ok(vec![self.after_seen(&entries, Some(decision))?.into()])
        };
        let asked = Asked { with: Some(&with), ..Asked::new(request, &Tenant::LOCAL, &self.stop) };
        let receipt = self.decider.decide(&asked)?.receipt;
        self.count += count.get();
        Ok(receipt)
    }

    /// Stores entries after those that were seen. To be called by [`SessionDecider::settled`].
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn submit(&mut self, entries: &[Entry]) -> Result<(), DecideError> {
        self.decider.store().of(&Tenant::LOCAL).submit(self.after_seen(entries, None)?).wait()?;
        self.count += entries.len() as u64;
        Ok(())
    }

    /// Stores entries after all others.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub(crate) fn append(&mut self, entries: &[Entry]) -> Result<(), DecideError> {
        self.settled(|session| session.submit(entries))
    }

    /// Entries to store after those that were seen. The last of them is about `decision`.
    fn after_seen(&self, entries: &[Entry], decision: Option<&str>) -> Result<NewEntries, DecideError> {
        let mut new = Vec::new();
        for (index, entry) in (1..).zip(entries) {
            let id = clock::receipt_id()?;
            let (document, key) = (entry.to_document(id, &self.session), self.decider.shared_key());
            new.push(NewEntry {
                id,
                kind: entry.event.kind().as_str(),
                decision_id: decision.filter(|_| index == entries.len()).map(str::to_owned),
                sign: Box::new(move |tip: Option<&ChainTip>| sign_entry(document.clone(), tip, &key)),
            });
        }
        Ok(NewEntries { session: self.session.clone(), after: Some(self.count), entries: new })
    }
}
