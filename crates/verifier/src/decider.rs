//! The decider of a server: many decide at once, on one chain, and share the store's commits.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use proofmark_boundary::{ActionPolicy, DecisionReceipt, Request};
use proofmark_receipt::{ChainTip, Sha256Digest, SignerId, SigningKey};
use proofmark_store::{Answer, Bundle, Pending, Store, StoreError, Tenant};

use crate::clock;
use crate::decide::{self, DecideError, Question};

/// How often a decision is made again because another was kept first.
const MAX_RACES: u32 = 100;

/// How often who waits for a turn looks whether anybody still waits for the answer.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A policy, a key and a store, and the decisions that are being made with them.
pub struct Decider {
    policy: Option<ActionPolicy>,
    pub(crate) key: SigningKey,
    pub(crate) store: Arc<Store>,
    pub(crate) trusted: Vec<SignerId>,
    chain: Mutex<Chain>,
    turns: Turns,
}

/// What a client asks, and for whom.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The action and the facts.
    pub request: &'a Request,
    /// Whose it is.
    pub tenant: &'a Tenant,
    /// What a report of the execution will name the action by, where one is expected.
    pub candidate: Option<&'a str>,
    /// How a repetition of the request is known.
    pub replayable: Option<Replayable<'a>>,
    /// Set when nobody waits for the decision any more: it is not kept then.
    pub stop: &'a AtomicBool,
}

/// A request that gets the same answer when it is sent again.
#[derive(Clone, Copy, Debug)]
pub struct Replayable<'a> {
    /// The client's key.
    pub key: &'a str,
    /// SHA-256 of what is asked, path and body.
    pub request: Sha256Digest,
}

/// Where the chain ends, decisions that are not on disk yet among them.
struct Chain {
    /// Counts how often what was not on disk yet had to be forgotten.
    epoch: u64,
    /// `None` when the store has to be asked.
    tip: Option<Option<ChainTip>>,
}

/// Lets one thread at a time do what has the same name.
#[derive(Default)]
pub(crate) struct Turns {
    taken: Mutex<HashSet<String>>,
    changed: Condvar,
}

pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    name: String,
}

impl Decider {
    /// A decider that decides by `policy` (none: it decides nothing), signs with `key` and keeps decisions in `store`.
    /// Receipts count as trusted when they are signed with `key` or by one of `trusted`.
    #[must_use]
    pub fn new(policy: Option<ActionPolicy>, key: SigningKey, store: Arc<Store>, mut trusted: Vec<SignerId>) -> Self {
        trusted.push(key.signer());
        let chain = Mutex::new(Chain { epoch: 0, tip: None });
        Self { policy, key, store, trusted, chain, turns: Turns::default() }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What the decisions are signed with.
    #[must_use]
    pub fn key(&self) -> &SigningKey {
        &self.key
    }

    /// Whose receipts count as trusted.
    #[must_use]
    pub fn trusted(&self) -> &[SignerId] {
        &self.trusted
    }

    /// The policy it decides by.
    #[must_use]
    pub fn policy(&self) -> Option<&ActionPolicy> {
        self.policy.as_ref()
    }

    /// Decides; the receipt, and what it spends, are on disk when it returns. A request that was answered before gets
    /// the decision it got then.
    ///
    /// # Errors
    /// [`DecideError`]; nothing is allowed then, and nothing spent.
    pub fn decide(&self, asked: &Asked<'_>) -> Result<DecisionReceipt, DecideError> {
        let policy = self.policy.as_ref().ok_or(DecideError::NoPolicy)?;
        let _same_key = asked.replayable.map(|one| self.take_turn("key", asked.tenant, one.key));
        let fingerprint = policy.fingerprint(asked.request).to_string();
        // How often an action was denied depends on the decision before: those on one action go one after the other.
        let turn = format!("action\0{}\0{fingerprint}", asked.tenant);
        let _same_action = self.turns.take_unless(turn, asked.stop).ok_or(DecideError::Stopped)?;
        for _ in 0..MAX_RACES {
            if let Some(document) = self.answered(asked.tenant, asked.replayable)? {
                return self.again(asked.tenant, &document);
            }
            let (receipt, epoch, pending) = self.submit(policy, asked)?;
            match pending.wait() {
                Ok(()) => return Ok(receipt),
                Err(error) => self.forget(epoch, error)?,
            }
        }
        Err(DecideError::Raced)
    }

    /// What was answered to this request before.
    pub(crate) fn answered(
        &self,
        tenant: &Tenant,
        replayable: Option<Replayable<'_>>,
    ) -> Result<Option<String>, DecideError> {
        let Some(one) = replayable else { return Ok(None) };
        match self.store.of(tenant).answer(one.key)? {
            Some(answer) if answer.request == one.request => Ok(Some(answer.document)),
            Some(_) => Err(DecideError::KeyReused(one.key.chars().take(80).collect())),
            None => Ok(None),
        }
    }

    pub(crate) fn take_turn(&self, kind: &str, tenant: &Tenant, name: &str) -> Turn<'_> {
        self.turns.take(format!("{kind}\0{tenant}\0{name}"))
    }

    fn again(&self, tenant: &Tenant, decision_id: &str) -> Result<DecisionReceipt, DecideError> {
        let kept = self.store.of(tenant).decision(decision_id)?.ok_or(DecideError::Raced)?;
        decide::read(&kept)
    }

    /// Decides, and hands the decision to the writer behind the one it is linked to.
    fn submit(&self, policy: &ActionPolicy, asked: &Asked<'_>) -> Result<(DecisionReceipt, u64, Pending), DecideError> {
        let question = Question {
            policy,
            request: asked.request,
            folders: &[],
            trusted: &self.trusted,
            own: Some(self.key.signer()),
            stop: asked.stop,
        };
        let (now, ours) = (clock::now_in(&self.store)?, self.store.of(asked.tenant));
        let decision = decide::ask(&question, &ours, &now)?;
        let id = clock::receipt_id()?;
        let mut chain = self.chain();
        let tip = match chain.tip.take() {
            Some(tip) => tip,
            None => self.store.all_tenants_last_decision()?,
        };
        let receipt = DecisionReceipt::draft(&decision, asked.request, id, tip.as_ref()).sign(&self.key)?;
        let mut bundle = decide::bundle(&decision, asked.request, &receipt, tip.as_ref(), &now);
        if let Some(kept) = &mut bundle.decision {
            kept.about.candidate = asked.candidate.map(str::to_owned);
        }
        bundle.answer = asked.replayable.map(|one| answer(one, id.to_string()));
        let pending = ours.submit_bundle(bundle);
        chain.tip = Some(receipt.tip());
        Ok((receipt, chain.epoch, pending))
    }

    /// What was linked to a decision that is not kept is not kept either: the store knows where the chain ends.
    fn forget(&self, epoch: u64, error: StoreError) -> Result<(), DecideError> {
        let mut chain = self.chain();
        if chain.epoch == epoch {
            chain.epoch = chain.epoch.wrapping_add(1);
            chain.tip = None;
        }
        match error {
            // Somebody decided or spent meanwhile: what is so now is asked anew.
            StoreError::DecisionMoved { .. }
            | StoreError::Spent(_)
            | StoreError::Superseded(_)
            | StoreError::Answered(_) => Ok(()),
            error => Err(error.into()),
        }
    }

    fn chain(&self) -> MutexGuard<'_, Chain> {
        self.chain.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer to keep.
pub(crate) fn answer(replayable: Replayable<'_>, document: String) -> Answer {
    Answer { key: replayable.key.to_owned(), request: replayable.request, document }
}

impl Decider {
    /// Keeps a bundle that holds no decision.
    pub(crate) fn keep(&self, tenant: &Tenant, bundle: Bundle) -> Result<(), StoreError> {
        self.store.of(tenant).submit_bundle(bundle).wait()
    }
}

impl Turns {
    fn take(&self, name: String) -> Turn<'_> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_while(taken, |taken| taken.contains(&name));
        waited.unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        Turn { turns: self, name }
    }

    /// None once `stop` is set while another has its turn.
    fn take_unless(&self, name: String, stop: &AtomicBool) -> Option<Turn<'_>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while taken.contains(&name) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            taken = self.changed.wait_timeout(taken, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        taken.insert(name.clone());
        Some(Turn { turns: self, name })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
        self.turns.changed.notify_all();
    }
}
