//! Decides on actions and issues the decisions: for a server, where many decide at once, and for the command line.
//!
//! **Order.** Decisions on one action are made one after another, because how often it was denied counts. Within a process a
//! lock for each action does that. Between processes [`proofmark_store::NewDecision::nth`] does: of two decisions that saw
//! the same history of an action, the store refuses the second, which is then made again. The same happens when a receipt
//! that the decision spends was spent or superseded meanwhile. Decisions on different actions never wait for each other, and
//! share the store's commits; the store links all of them into one chain.
//!
//! **Locks.** A thread takes names in this order, and holds at most one of each kind: the client's key, then the action, the
//! report's decision, or the review's subject.

use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};

use proofmark_boundary::{ActionPolicy, Decision, DecisionReceipt, Request};
use proofmark_receipt::{Profile, Sha256Digest, SigningKey, Timestamp};
use proofmark_store::{Answer, Store, StoreError, Tenant, Write};

use crate::decide::{self, DecideError, Decided, Question};
use proofmark_keys::{Checked, TrustedSigners};
use proofmark_verifier::clock;
use proofmark_verifier::presented::Presented;
use proofmark_verifier::sync::{KeyGuard, KeyedLock};
use proofmark_verifier::{Issuer, IssuingDecision, issue_decision};

/// How often a decision is made again because another on the same action was stored first.
pub const MAX_RACES: u32 = 100;

/// A policy, a key and a store, and the decisions that are being made with them.
pub struct Decider {
    policy: RwLock<Option<Arc<ActionPolicy>>>,
    pub(crate) key: Arc<SigningKey>,
    pub(crate) store: Arc<Store>,
    trusted: RwLock<Arc<TrustedSigners>>,
    locks: KeyedLock,
    record_facts: bool,
}

/// What is stored together with a decision, made of its id and of whether it allows.
pub(crate) type With<'a> = &'a dyn Fn(String, bool) -> Result<Vec<Write>, DecideError>;

/// A client's request for a decision.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The action and the facts.
    pub request: &'a Request,
    pub tenant: &'a Tenant,
    /// What a report of the execution will name the action by, where one is expected.
    pub candidate: Option<&'a str>,
    /// How a repetition of the request is recognised.
    pub replayable: Option<Replayable<'a>>,
    /// Set when the caller no longer waits for the decision: it is not stored then.
    pub stop: &'a AtomicBool,
}

/// A request that gets the same answer when it is sent again.
#[derive(Clone, Copy, Debug)]
pub struct Replayable<'a> {
    /// The client's key.
    pub key: &'a str,
    /// SHA-256 of the request, path and body.
    pub request: Sha256Digest,
}

impl Decider {
    /// A decider that decides by `policy` (none: it decides nothing), signs with `key` and stores decisions in `store`.
    /// Receipts count as trusted when they are signed with `key` or by one of `trusted`.
    #[must_use]
    pub fn new(
        policy: Option<ActionPolicy>,
        key: SigningKey,
        store: Arc<Store>,
        trusted: impl Into<TrustedSigners>,
    ) -> Self {
        let trusted = RwLock::new(Arc::new(trusted.into().and(key.signer())));
        let policy = RwLock::new(policy.map(Arc::new));
        Self { policy, key: Arc::new(key), store, trusted, locks: KeyedLock::default(), record_facts: false }
    }

    /// A decider for one caller, the command line, to whom only the signers that are named are trusted.
    #[must_use]
    pub fn for_command_line(
        policy: Option<ActionPolicy>,
        key: SigningKey,
        store: Store,
        trusted: TrustedSigners,
    ) -> Self {
        let trusted = RwLock::new(Arc::new(trusted));
        Self { trusted, ..Self::new(policy, key, Arc::new(store), Vec::new()) }
    }

    /// Stores the facts of every decision, if `record` is set, so that it can be made again under another policy. Without it
    /// only those of decisions that wait for a review are stored.
    #[must_use]
    pub fn recording_facts(self, record: bool) -> Self {
        Self { record_facts: record, ..self }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The time of the store, without asking it.
    pub(crate) fn now(&self) -> Timestamp {
        clock::known_in(&self.store)
    }

    /// The key that decisions are signed with.
    #[must_use]
    pub fn key(&self) -> &SigningKey {
        &self.key
    }

    pub(crate) fn shared_key(&self) -> Arc<SigningKey> {
        Arc::clone(&self.key)
    }

    /// Signers whose receipts count as trusted.
    #[must_use]
    pub fn trusted(&self) -> Arc<TrustedSigners> {
        // They are replaced as a whole, as the policy is.
        self.trusted.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Trusts these signers from here on, and nobody else. A decision that has begun is made with those it began with.
    pub fn set_trusted(&self, trusted: TrustedSigners) {
        *self.trusted.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(trusted);
    }

    /// Verifies a receipt or a decision receipt, in form `vrf`, by the signers trusted here.
    #[must_use]
    pub fn check(&self, bytes: &[u8]) -> Checked {
        self.trusted().check(bytes, Profile::Vrf)
    }

    /// The policy it decides by.
    #[must_use]
    pub fn policy(&self) -> Option<Arc<ActionPolicy>> {
        // A policy is replaced as a whole, so a thread that panicked left a whole one.
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Decides by this policy from here on. A decision or a review that has begun is made by the policy it began with.
    pub fn set_policy(&self, policy: ActionPolicy) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(policy));
    }

    /// An issuer with the same key and store.
    #[must_use]
    pub fn issuer(&self) -> Issuer {
        Issuer::with(Arc::clone(&self.key), Arc::clone(&self.store))
    }

    /// Makes a decision, and hands it over to be stored; none, where another decision on the action, or another request with
    /// the client's key, is not stored yet. A request that was answered before gets the decision it got then.
    ///
    /// # Errors
    /// [`DecideError`]; nothing is allowed then, and nothing spent.
    pub fn try_begin(&self, asked: &Asked<'_>) -> Result<Option<Begun>, DecideError> {
        let same_key = asked.replayable.map(|one| self.locks.try_lock(lock_name("key", asked.tenant, one.key)));
        let Some(same_key) = same_key.map_or(Some(None), |held| held.map(Some)) else { return Ok(None) };
        let lock_action = |policy: &ActionPolicy| Ok(self.locks.try_lock(action_name(policy, asked)));
        self.begin_holding(asked, same_key, lock_action)
    }

    /// As [`Decider::try_begin`], which waits for the decisions before it.
    ///
    /// # Errors
    /// As [`Decider::try_begin`].
    pub fn begin(&self, asked: &Asked<'_>) -> Result<Begun, DecideError> {
        let same_key = asked.replayable.map(|one| self.lock("key", asked.tenant, one.key));
        let lock_action = |policy: &ActionPolicy| self.lock_action(policy, asked).map(Some);
        // It has waited, so there is one.
        self.begin_holding(asked, same_key, lock_action)?.ok_or(DecideError::Stopped)
    }

    fn begin_holding(
        &self,
        asked: &Asked<'_>,
        same_key: Option<KeyGuard>,
        lock_action: impl FnOnce(&ActionPolicy) -> Result<Option<KeyGuard>, DecideError>,
    ) -> Result<Option<Begun>, DecideError> {
        if let Some(decision_id) = self.answer(asked.tenant, asked.replayable)? {
            return Ok(Some(Begun::Answered(Box::new(self.stored(asked.tenant, &decision_id)?))));
        }
        let policy = self.policy().ok_or(DecideError::NoPolicy)?;
        let Some(same_action) = lock_action(&policy)? else { return Ok(None) };
        let (_, issuing) = self.issue(&policy, asked, Presented::default(), &|_, _| Ok(Vec::new()))?;
        Ok(Some(Begun::Made(Deciding { issuing, _names: (same_key, same_action) })))
    }

    /// Decides; the receipt, and what it spends, are on disk together when it returns, so that one receipt cannot allow two
    /// actions. A request that was answered before gets the decision it got then.
    ///
    /// # Errors
    /// [`DecideError`]; nothing is allowed then, and nothing spent.
    pub fn decide(&self, asked: &Asked<'_>) -> Result<DecisionReceipt, DecideError> {
        // Held until the decision is stored: a repetition that comes meanwhile finds it instead of deciding again.
        let _same_key = asked.replayable.map(|one| self.lock("key", asked.tenant, one.key));
        if let Some(decision_id) = self.answer(asked.tenant, asked.replayable)? {
            return self.stored(asked.tenant, &decision_id);
        }
        match self.decide_presented(asked, Presented::default()) {
            Ok(decided) => Ok(decided.receipt),
            // Another process has answered the request meanwhile.
            Err(DecideError::Store(StoreError::Answered(_))) => {
                let decision_id = self.answer(asked.tenant, asked.replayable)?.ok_or(DecideError::Raced)?;
                self.stored(asked.tenant, &decision_id)
            }
            Err(error) => Err(error),
        }
    }

    /// As [`Decider::decide`], for a request that has not been answered, with what is presented as evidence beside that of
    /// the store.
    ///
    /// # Errors
    /// [`DecideError`]; nothing is allowed then, and nothing spent.
    pub fn decide_presented(&self, asked: &Asked<'_>, presented: Presented<'_>) -> Result<Decided, DecideError> {
        self.decide_among(asked, presented, &|_, _| Ok(Vec::new()))
    }

    /// As [`Decider::decide`], for a request that has not been answered, together with what `with` makes of the decision's id
    /// and of whether it allows.
    ///
    /// # Errors
    /// [`DecideError`]; nothing is allowed then, and nothing spent.
    pub(crate) fn decide_with(&self, asked: &Asked<'_>, with: With<'_>) -> Result<DecisionReceipt, DecideError> {
        Ok(self.decide_among(asked, Presented::default(), with)?.receipt)
    }

    fn decide_among(
        &self,
        asked: &Asked<'_>,
        presented: Presented<'_>,
        with: With<'_>,
    ) -> Result<Decided, DecideError> {
        // Once for the whole decision: also where it is made again, and where the policy is replaced meanwhile.
        let policy = self.policy().ok_or(DecideError::NoPolicy)?;
        let _same_action = self.lock_action(&policy, asked)?;
        for _ in 0..MAX_RACES {
            let (decision, issuing) = self.issue(&policy, asked, presented, with)?;
            match issuing.wait() {
                Ok((receipt, _)) => return Ok(Decided { decision, receipt }),
                Err(error) if is_race(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(DecideError::Raced)
    }

    /// Whether an action would be allowed at this moment. Nothing is stored, and nothing spent.
    ///
    /// # Errors
    /// [`DecideError`].
    pub fn would_allow(&self, asked: &Asked<'_>, presented: Presented<'_>) -> Result<bool, DecideError> {
        let policy = self.policy().ok_or(DecideError::NoPolicy)?;
        let made = self.make(&policy, asked, presented)?;
        Ok(made.decision.allows())
    }

    fn make(
        &self,
        policy: &ActionPolicy,
        asked: &Asked<'_>,
        presented: Presented<'_>,
    ) -> Result<decide::Made, DecideError> {
        let trusted = self.trusted();
        let question = Question {
            policy,
            request: asked.request,
            presented,
            trusted: trusted.signers(),
            own: Some(self.key.signer()),
            stop: asked.stop,
        };
        decide::make(&question, &self.store.of(asked.tenant))
    }

    /// Decisions on one action are made one after another.
    fn lock_action(&self, policy: &ActionPolicy, asked: &Asked<'_>) -> Result<KeyGuard, DecideError> {
        self.locks.lock_unless(action_name(policy, asked), asked.stop).ok_or(DecideError::Stopped)
    }

    /// Decides, and hands the decision over to be issued.
    fn issue(
        &self,
        policy: &ActionPolicy,
        asked: &Asked<'_>,
        presented: Presented<'_>,
        also: With<'_>,
    ) -> Result<(Decision, IssuingDecision), DecideError> {
        let store = self.store.of(asked.tenant);
        let made = self.make(policy, asked, presented)?;
        let id = clock::receipt_id()?;
        let receipt = DecisionReceipt::unchained(&made.decision, asked.request, id);
        // In one write with the decision: what was spent meanwhile refuses the decision, which is then made again.
        let mut with: Vec<Write> = vec![made.spends(id).into()];
        with.extend(asked.replayable.map(|one| answer(one, id.to_string()).into()));
        with.extend(also(id.to_string(), made.decision.allows())?);
        let row = made.row(asked.request, asked.candidate, self.record_facts);
        let issuing = issue_decision(receipt, row, with, (&self.key, &store))?;
        Ok((made.decision, issuing))
    }

    /// The answer that this request got before.
    pub(crate) fn answer(
        &self,
        tenant: &Tenant,
        replayable: Option<Replayable<'_>>,
    ) -> Result<Option<String>, DecideError> {
        let Some(one) = replayable else { return Ok(None) };
        match self.store.of(tenant).answer(one.key)? {
            Some(answer) if answer.request == one.request => Ok(Some(answer.document)),
            Some(_) => Err(DecideError::KeyReused(one.key.to_owned())),
            None => Ok(None),
        }
    }

    /// Holds a name of this kind for the tenant.
    pub(crate) fn lock(&self, kind: &str, tenant: &Tenant, name: &str) -> KeyGuard {
        self.locks.lock(lock_name(kind, tenant, name))
    }

    pub(crate) fn stored(&self, tenant: &Tenant, decision_id: &str) -> Result<DecisionReceipt, DecideError> {
        let decision = self.store.of(tenant).decision(decision_id)?.ok_or(DecideError::Raced)?;
        decide::read(&decision)
    }
}

fn lock_name(kind: &str, tenant: &Tenant, name: &str) -> String {
    // Neither kinds nor tenants contain NUL, so no two triples have one name.
    format!("{kind}\0{tenant}\0{name}")
}

/// The name under which decisions on one action are made one after another.
fn action_name(policy: &ActionPolicy, asked: &Asked<'_>) -> String {
    lock_name("action", asked.tenant, &policy.fingerprint(asked.request).to_string())
}

/// Whether a decision is to be made again: another process decided on the action, or spent what this decision spends.
fn is_race(error: &StoreError) -> bool {
    matches!(error, StoreError::DecidedMeanwhile(_) | StoreError::Spent(_) | StoreError::Superseded(_))
}

/// A decision that was begun.
#[must_use = "a decision counts only once it is on disk"]
pub enum Begun {
    /// The one that the same request got before.
    Answered(Box<DecisionReceipt>),
    /// A new one.
    Made(Deciding),
}

/// A decision that was made, and may not be on disk yet. Until this is dropped, no other decision on its action is made here.
#[must_use = "a decision counts only once it is on disk"]
pub struct Deciding {
    issuing: IssuingDecision,
    _names: (Option<KeyGuard>, KeyGuard),
}

/// Ready once the decision is on disk, with its receipt and the text of that; or with none where it was overtaken, and has to
/// be begun again. A [`DecideError`] allows nothing.
impl Future for Deciding {
    type Output = Result<Option<(DecisionReceipt, String)>, DecideError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.issuing).poll(context).map(|issued| match issued {
            Ok(issued) => Ok(Some(issued)),
            // Of a request that another process has answered meanwhile, the answer is found when it is begun again.
            Err(error) if is_race(&error) || matches!(error, StoreError::Answered(_)) => Ok(None),
            Err(error) => Err(error.into()),
        })
    }
}

/// An answer to store.
pub(crate) fn answer(replayable: Replayable<'_>, document: String) -> Answer {
    Answer { key: replayable.key.to_owned(), request: replayable.request, document }
}
