//! Decides on the calls of a session, as one process knows it, and records what happens in it.
//!
//! Several processes may write one session: hooks of one host, or guards of several servers. Each decides on the entries that
//! it has seen, and the store refuses what it appends if there are others: then it reads these and decides anew. So no two
//! decisions are made on facts that lack each other. What it reads counts only if it is linked and signed; what it appends is
//! linked to the very entry that it has verified.

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use proofmark_boundary::{Asker, DecisionReceipt, Request};
use proofmark_keys::TrustedSigners;
use proofmark_receipt::{ChainEnd, ChainTip, Link};
use proofmark_session::{Entry, Kind, SessionChain, sign_entry};
use proofmark_store::{After, NewEntries, NewEntry, StoreError, Tenant};
use proofmark_verifier::clock;

use crate::decide::DecideError;
use crate::decider::{Asked, Decider};
use crate::deciding::settled;
use crate::entries::read_on;

/// What is known of a session by its entries.
pub(crate) trait Known {
    /// The kinds of entries that it is made of.
    const KINDS: &'static [Kind];

    /// Takes in an entry of the session's record, in its order.
    fn take_in(&mut self, entry: &Entry);

    /// Takes in an entry that was appended here, where it is not known before that.
    fn appended(&mut self, entry: &Entry);
}

/// What is known of a session, up to an entry that was verified.
pub(crate) struct Verified<K> {
    chain: SessionChain,
    known: K,
    /// How many bytes its entries have.
    pub(crate) bytes: usize,
    /// Who counted when it was verified.
    trusted: Arc<TrustedSigners>,
}

/// Whose session it is, and who asks in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub tenant: Tenant,
    pub asker: Asker,
}

impl Owner {
    /// The user of the command line, whose agent asks with the account that decides.
    #[must_use]
    pub fn local() -> Self {
        Self { tenant: Tenant::LOCAL, asker: Asker::default() }
    }
}

/// What is being stored.
type LastSigned = Arc<Mutex<Signed>>;

#[derive(Default)]
struct Signed {
    /// The entry that was signed last.
    tip: Option<ChainTip>,
    bytes: usize,
}

/// A session that this process decides on.
pub(crate) struct SessionDecider<K> {
    decider: Arc<Decider>,
    owner: Owner,
    /// Its name.
    session: String,
    /// Its entries when they were last looked at.
    chain: SessionChain,
    /// Whether there were entries that could not be verified: nothing is decided or appended then.
    is_behind: bool,
    pub(crate) known: K,
    /// How many bytes these entries have.
    bytes: usize,
    /// Who counted when they were verified.
    trusted: Arc<TrustedSigners>,
    stop: Arc<AtomicBool>,
}

impl<K: Known> SessionDecider<K> {
    /// The session of this name, as its entries tell; nothing is decided once `stop` is set.
    ///
    /// # Errors
    /// When the entries cannot be read.
    pub(crate) fn open(
        decider: Arc<Decider>,
        owner: Owner,
        session: String,
        known: K,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, DecideError> {
        let (chain, trusted) = (SessionChain::new(&session), decider.trusted());
        let mut opened = Self { decider, owner, session, chain, is_behind: true, known, bytes: 0, trusted, stop };
        opened.catch_up()?;
        Ok(opened)
    }

    /// As [`SessionDecider::open`], going on from what was verified before, while the same signers are trusted.
    ///
    /// # Errors
    /// When the entries cannot be read, and when those that were verified are not there any more.
    pub(crate) fn reopen(
        decider: Arc<Decider>,
        owner: Owner,
        session: String,
        verified: Verified<K>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, DecideError>
    where
        K: Default,
    {
        let Verified { chain, known, bytes, trusted } = verified;
        if !Arc::ptr_eq(&trusted, &decider.trusted()) {
            return Self::open(decider, owner, session, K::default(), stop);
        }
        let mut opened = Self { decider, owner, session, chain, is_behind: true, known, bytes, trusted, stop };
        opened.catch_up()?;
        Ok(opened)
    }

    /// What is known of it; none where that may not be all that was appended here.
    pub(crate) fn into_verified(self) -> Option<Verified<K>> {
        let Self { chain, is_behind, known, bytes, trusted, .. } = self;
        (!is_behind).then_some(Verified { chain, known, bytes, trusted })
    }

    /// Whether the session has no entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.chain.count() == 0
    }

    /// Takes in the entries that were not seen yet.
    ///
    /// # Errors
    /// When the store cannot be read, and for entries that no trusted signer has recorded. Nothing can be decided then, since some of
    /// them may be among what is known.
    pub(crate) fn catch_up(&mut self) -> Result<(), DecideError> {
        self.is_behind = true;
        let Self { decider, owner, session, chain, known, bytes, .. } = self;
        let trusted = decider.deciders();
        read_on(&decider.store().of(&owner.tenant), session, chain, &trusted, &mut |text, document| {
            *bytes += text.len();
            // By the kind that is signed, and not by the column beside it.
            if let Some(entry) = document.entry().filter(|entry| K::KINDS.contains(&entry.event.kind())) {
                known.take_in(&entry);
            }
        })?;
        self.is_behind = false;
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
        if self.is_behind {
            self.catch_up()?;
        }
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
        let (end, stored) = (LastSigned::default(), RefCell::default());
        let with = |decision: &str, allowed: bool| {
            // Those of a decision that was overtaken are replaced.
            stored.replace(entries(decision, allowed));
            Ok(vec![self.after_seen(&stored.borrow(), Some(decision), &end)?.into()])
        };
        // The one place where it is said who asks, and on what of the session it is decided.
        let asker = Asker { session: Some(self.chain.head()), ..self.owner.asker.clone() };
        let request = request.asked_by(&asker);
        let asked = Asked { with: Some(&with), ..Asked::new(&request, &self.owner.tenant, &self.stop) };
        let receipt = self.decider.decide(&asked)?.receipt;
        self.appended(&end, &stored.take());
        Ok(receipt)
    }

    /// Stores entries after those that were seen. To be called by [`SessionDecider::settled`].
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn submit(&mut self, entries: &[Entry]) -> Result<(), DecideError> {
        let end = LastSigned::default();
        self.decider.store().of(&self.owner.tenant).submit(self.after_seen(entries, None, &end)?).wait()?;
        self.appended(&end, entries);
        Ok(())
    }

    fn appended(&mut self, end: &LastSigned, entries: &[Entry]) {
        let Signed { tip, bytes } = std::mem::take(&mut *end.lock().unwrap_or_else(PoisonError::into_inner));
        self.chain.appended(tip);
        self.bytes += bytes;
        for entry in entries.iter().filter(|entry| K::KINDS.contains(&entry.event.kind())) {
            self.known.appended(entry);
        }
    }

    /// Stores entries after all others.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub(crate) fn append(&mut self, entries: &[Entry]) -> Result<(), DecideError> {
        self.settled(|session| session.submit(entries))
    }

    /// Entries to store after those that were seen. The last of them is about `decision`; `end` gets it as it is signed.
    fn after_seen(
        &self,
        entries: &[Entry],
        decision: Option<&str>,
        end: &LastSigned,
    ) -> Result<NewEntries, DecideError> {
        let (mut new, mut bytes) = (Vec::new(), 0);
        for (index, entry) in (1..).zip(entries) {
            let id = clock::receipt_id()?;
            let (document, key, end) =
                (entry.to_document(id, &self.session), self.decider.shared_key(), Arc::clone(end));
            bytes += document.to_text().len();
            new.push(NewEntry {
                id,
                kind: entry.event.kind().as_str(),
                decision_id: decision.filter(|_| index == entries.len()).map(str::to_owned),
                sign: Box::new(move |chain: ChainEnd<'_>| {
                    let signed = sign_entry(document.clone(), chain, &key)?;
                    // What the store signs last is what it stores.
                    end.lock().unwrap_or_else(PoisonError::into_inner).tip = Link { id, document: &signed }.tip();
                    Ok(signed)
                }),
            });
        }
        end.lock().unwrap_or_else(PoisonError::into_inner).bytes = bytes;
        Ok(NewEntries { session: self.session.clone(), after: After::Entry(self.chain.tip().cloned()), entries: new })
    }
}
