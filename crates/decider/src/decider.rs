//! Decides on actions and issues the decisions: for a server, where many decide at once, and for the command line.
//!
//! **States.** [`Asked`] is the request; an [`Attempt`] waits for its turn; [`Deciding`] is made and handed to the store, or found
//! there; [`Decided`] is on disk.
//!
//! **Order.** Decisions on one action are made one after another, because how often it was denied counts. Within a process a
//! lock for each action does that. It is held until the decision is handed to the store: the next one is made on what the action's
//! history will be, names the decision that it counts on, and shares its commit ([`crate::ahead`]). A decision that spends receipts
//! holds the lock until it is on disk, since the next one would try to spend the same. Between processes
//! [`proofmark_store::NewDecision::nth`] keeps the order: of two decisions that saw the same history of an action, the store refuses
//! the second, which is then made again. The same happens when a receipt that the decision spends was spent or superseded meanwhile,
//! and to decisions that count on one that was refused. Decisions on different actions never wait for each other, and share the
//! store's commits; the store links all of them into one chain.
//!
//! **Locks.** A thread takes names in this order, and holds at most one of each kind: the client's key or the page of a passkey,
//! then the action, the report's decision, or the review's subject.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use proofmark_boundary::{ActionPolicy, Admission, Asker, DecisionReceipt, Request, SignedDecision, limit_keys};
use proofmark_evidence::{Capabilities, Capability, DatedKey, Signers};
use proofmark_keys::{Checked, TrustedSigners, verify_decision};
use proofmark_receipt::{
    ChainEnd, Json, Profile, ReceiptId, Sha256Digest, SignatureStatus, SigningKey, Timestamp, Trust, Verification,
};
use proofmark_store::{Answer, Decision as StoredDecision, NewDecision, Store, Tenant, Write};
use proofmark_verifier::presented::Presented;
use proofmark_verifier::sync::{KeyGuard, KeyedLock, Waiting};
use proofmark_verifier::{ChangedDecision, Issuer, clock, policy_of_step, signed_action, signed_decision};

use crate::ahead::{Ahead, Last};
use crate::counted::Limits;
use crate::decide::{self, DecideError, Made, Question};
use crate::deciding::{Attempt, Begun, Decided, Deciding, Issuing};
use crate::policies::{Policies, PolicyAsked, PolicyPlace};

/// Policies, a key and a store, and the decisions that are being made with them.
pub struct Decider {
    policies: RwLock<Arc<Policies>>,
    pub(crate) key: Arc<SigningKey>,
    pub(crate) store: Arc<Store>,
    trusted: RwLock<Arc<TrustedSigners>>,
    locks: KeyedLock,
    ahead: Ahead,
    record_facts: bool,
    vouches: AtomicBool,
}

/// What is stored together with a decision, made of its id and of whether it allows.
pub type StoredWith<'a> = &'a dyn Fn(&str, bool) -> Result<Vec<Write>, DecideError>;

/// A request for a decision: [`Asked::new`] with what is particular about it.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The action and the facts.
    pub request: &'a Request,
    pub tenant: &'a Tenant,
    /// Evidence beside that of the store.
    pub presented: Presented<'a>,
    /// What a report of the execution will name the action by, where one is expected.
    pub candidate: Option<&'a str>,
    /// How a repetition of the request is recognised.
    pub replayable: Option<Replayable<'a>>,
    /// What is stored together with the decision, or not at all.
    pub with: Option<StoredWith<'a>>,
    /// Set when the caller no longer waits for the decision: it is not stored then.
    pub stop: &'a AtomicBool,
}

impl<'a> Asked<'a> {
    /// A request with nothing beside it.
    #[must_use]
    pub fn new(request: &'a Request, tenant: &'a Tenant, stop: &'a AtomicBool) -> Self {
        Self { request, tenant, presented: Presented::default(), candidate: None, replayable: None, with: None, stop }
    }
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
    /// Receipts count when they are signed with `key`, or by one of `trusted` who may vouch for their kind.
    #[must_use]
    pub fn new(policy: Option<ActionPolicy>, key: SigningKey, store: Arc<Store>, trusted: TrustedSigners) -> Self {
        let trusted = RwLock::new(Arc::new(trusted.and(key.signer())));
        let policies = RwLock::new(Arc::new(Policies::only(policy)));
        let (key, locks, ahead) = (Arc::new(key), KeyedLock::default(), Ahead::default());
        Self { policies, key, store, trusted, locks, ahead, record_facts: false, vouches: AtomicBool::new(false) }
    }

    /// Vouches for the reviewers that its key names, and the other keys of its installation: for a server, which knows its callers by
    /// their API keys. Without this an approval is its signer's, whomever it names.
    pub fn vouch_for_reviewers(&self) {
        self.vouches.store(true, Ordering::Relaxed);
    }

    /// The keys whose word on who approved counts: none, or those of the installation.
    pub(crate) fn vouching(&self) -> Vec<DatedKey> {
        if self.vouches.load(Ordering::Relaxed) { self.installation() } else { Vec::new() }
    }

    /// The keys of the servers of this installation: this one's, those before it, and those of servers that share the store.
    #[must_use]
    pub fn installation(&self) -> Vec<DatedKey> {
        let own = self.key.signer();
        let trusted = self.trusted();
        let others = trusted.servers().iter().filter(|key| key.signer != own).cloned();
        std::iter::once(DatedKey::endless(own)).chain(others).collect()
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
        Self { trusted, ..Self::new(policy, key, Arc::new(store), TrustedSigners::default()) }
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

    /// Whose decisions and entries of sessions count: the key that decides here, and those of others that are trusted.
    #[must_use]
    pub fn deciders(&self) -> Signers {
        // Only for decisions: without this a key that is left out with `--trust` would count for receipts again.
        let own = Capabilities::only(Capability::Decision);
        self.trusted().signers().clone().with(DatedKey::endless(self.key.signer()), own)
    }

    /// The receipt of a stored decision, once it is compared with its row, and with the action beside it, and a signer who counts
    /// here has signed it.
    ///
    /// # Errors
    /// [`ChangedDecision`].
    pub fn signed(&self, stored: &StoredDecision) -> Result<DecisionReceipt, ChangedDecision> {
        let receipt = signed_decision(stored)?;
        signed_action(stored, &receipt)?;
        match verify_decision(&receipt, &self.deciders()) {
            Verification { trust: Trust::Trusted, .. } => Ok(receipt),
            Verification { signer, .. } => {
                let signer = signer.map(|signer| signer.to_string()).unwrap_or_default();
                Err(ChangedDecision::of(stored, format!("its signer `{signer}` is not trusted to decide here")))
            }
        }
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

    fn policies(&self) -> Arc<Policies> {
        // They are replaced as a whole, so a thread that panicked left whole ones.
        self.policies.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The policy of every tenant that names none and has none: of the command line, the only one.
    #[must_use]
    pub fn policy(&self) -> Option<Arc<ActionPolicy>> {
        self.policies().at(&PolicyPlace::default_of_all()).cloned()
    }

    /// Whether there is a policy for anybody.
    #[must_use]
    pub fn has_policy(&self) -> bool {
        !self.policies().are_none()
    }

    /// The policy that a tenant asks by this name, or where it names none; and the name that it has.
    ///
    /// # Errors
    /// [`DecideError`] where it has none.
    pub fn policy_of(&self, tenant: &Tenant, name: Option<&str>) -> Result<(String, Arc<ActionPolicy>), DecideError> {
        self.policies().of(tenant, name)
    }

    /// The policy that is asked.
    pub(crate) fn policy_for(&self, tenant: &Tenant, asker: &Asker) -> Result<Arc<ActionPolicy>, DecideError> {
        self.policy_of(tenant, asker.policy.as_deref()).map(|(_, policy)| policy)
    }

    /// All policies that a tenant can ask, by their names.
    #[must_use]
    pub fn policies_of(&self, tenant: &Tenant) -> Vec<(String, Arc<ActionPolicy>)> {
        self.policies().all_of(tenant)
    }

    /// What became of the policy by which this decision of a tenant was made: an approval of it is judged by that one.
    #[must_use]
    pub fn policy_asked(&self, tenant: &Tenant, receipt: &DecisionReceipt) -> PolicyAsked {
        match self.policies().asked(tenant, receipt) {
            PolicyAsked::NotHere => {
                let of_step = self.policy_of_step(tenant, receipt);
                of_step.map_or(PolicyAsked::NotHere, |policy| PolicyAsked::OfStep(Arc::new(policy)))
            }
            asked => asked,
        }
    }

    /// The policy of a decision on a workflow step, which the stored action has and the decision binds.
    fn policy_of_step(&self, tenant: &Tenant, receipt: &DecisionReceipt) -> Option<ActionPolicy> {
        // Nothing is judged by a policy that cannot be read.
        let stored = self.store.of(tenant).decision(&receipt.decision_id().to_string()).ok()??;
        let action = Json::parse(stored.about.action.as_deref()?.as_bytes()).ok()?;
        let policy = policy_of_step(action.as_object()?)?;
        let bound = |name, digest: Sha256Digest| receipt.bound(name) == Some(digest.to_string().as_str());
        let is_genuine = || {
            let verified = verify_decision(receipt, &self.deciders());
            verified.answer == SignatureStatus::Valid && verified.trust == Trust::Trusted
        };
        let is_bound = bound("policy_hash", policy.hash())
            && bound("action_hash", Sha256Digest::of(&action.canonical_vrf()))
            && is_genuine();
        is_bound.then_some(policy)
    }

    /// Decides by this policy for all from here on. A decision or a review that has begun is made by the policy it began with.
    pub fn set_policy(&self, policy: ActionPolicy) {
        drop(self.put_policy(PolicyPlace::default_of_all(), policy));
    }

    /// As [`Decider::set_policy`], of the policy in this place; the one that was there.
    pub fn put_policy(&self, place: PolicyPlace, policy: ActionPolicy) -> Option<Arc<ActionPolicy>> {
        let mut policies = self.policies.write().unwrap_or_else(PoisonError::into_inner);
        let before = policies.at(&place).cloned();
        *policies = Arc::new(policies.with(place, policy));
        before
    }

    /// An issuer with the same key and store.
    #[must_use]
    pub fn issuer(&self) -> Issuer {
        Issuer::with(Arc::clone(&self.key), Arc::clone(&self.store))
    }

    /// Decides; the receipt, and what it spends, are on disk together when it returns, so that one receipt cannot allow two
    /// actions. A request that was answered before gets the decision it got then.
    ///
    /// # Errors
    /// [`DecideError`]; nothing is allowed then, and nothing spent.
    pub fn decide(&self, asked: &Asked<'_>) -> Result<Decided, DecideError> {
        let mut attempt = Attempt::default();
        loop {
            match self.begin(asked, &mut attempt)? {
                Begun::Waits(waiting) => attempt.hold(waiting.wait_unless(asked.stop).ok_or(DecideError::Stopped)?),
                Begun::Made(deciding) => {
                    if let Some(decided) = deciding.wait()? {
                        return Ok(decided);
                    }
                }
            }
        }
    }

    /// Begins to decide as [`Decider::decide`] does, and takes the thread only until the decision is made. Where it is not its
    /// turn yet, it is begun again once `attempt` holds what it waits for; where it was overtaken, it is begun again at once.
    ///
    /// # Errors
    /// [`DecideError`]; nothing is allowed then, and nothing spent.
    pub fn begin(&self, asked: &Asked<'_>, attempt: &mut Attempt) -> Result<Begun, DecideError> {
        let same_key = asked.replayable.map(|one| lock_name("key", asked.tenant, one.key));
        // Held until the decision is on disk: a repetition that comes meanwhile finds it instead of deciding again.
        if let Some(waiting) = same_key.and_then(|name| self.take(name, attempt)) {
            return Ok(Begun::Waits(waiting));
        }
        if let Some(decision_id) = self.answer(asked.tenant, asked.replayable)? {
            let receipt = self.stored(asked.tenant, &decision_id)?;
            // Who can write to the store can have any decision answer any request.
            if receipt.subject() != Some(asked.request.subject()) {
                return Err(DecideError::OtherAnswer(decision_id));
            }
            let answered = Decided { text: receipt.to_text(), receipt, decision: None };
            return Ok(Begun::Made(Deciding::answered(answered)));
        }
        // One for the whole decision, also where it is made again and the policy is replaced meanwhile.
        let policy = match &attempt.policy {
            Some(policy) => Arc::clone(policy),
            None => self.policy_for(asked.tenant, asked.request.asker())?,
        };
        attempt.policy = Some(Arc::clone(&policy));
        let action = lock_name("action", asked.tenant, &policy.fingerprint(asked.request).to_string());
        if let Some(waiting) = self.take(action.clone(), attempt) {
            return Ok(Begun::Waits(waiting));
        }
        // Actions that one limit counts are decided on one after the other. Each waits for them in one order, so that none waits for another
        // that waits for it.
        let mut limits: Vec<_> = limit_keys(&policy, asked.request).iter().map(|key| key.key.to_string()).collect();
        limits.sort();
        for limit in limits {
            if let Some(waiting) = self.take(lock_name("limit", asked.tenant, &limit), attempt) {
                return Ok(Begun::Waits(waiting));
            }
        }
        attempt.count()?;
        let issuing = self.issue(&policy, asked, &action)?;
        // That something is spent is only seen once it is on disk: the next decision would try to spend the same.
        if issuing.decision.spends().is_empty() {
            attempt.release(&action);
        }
        Ok(Begun::Made(Deciding::issuing(issuing, attempt)))
    }

    /// Whether an action would be allowed at this moment. Nothing is stored, and nothing spent.
    ///
    /// # Errors
    /// [`DecideError`].
    pub fn would_allow(&self, asked: &Asked<'_>) -> Result<bool, DecideError> {
        let policy = self.policy_for(asked.tenant, asked.request.asker())?;
        Ok(self.make(&policy, asked, None)?.decision.allows())
    }

    /// Whether a retry that resumes from a decision may be asked for. The resumed receipt's signature is the caller's to check.
    ///
    /// # Errors
    /// When evidence cannot be read.
    pub fn admits(&self, asked: &Asked<'_>, resumed: &DecisionReceipt) -> Result<Admission, DecideError> {
        let policy = self.policy_for(asked.tenant, asked.request.asker())?;
        let (trusted, vouching) = (self.trusted(), self.vouching());
        let (store, signed) = (self.store.of(asked.tenant), |row: &StoredDecision| self.signed(row));
        let limits = Limits::of(&store, &signed, &policy, asked.request)?;
        decide::resume(&question(&policy, asked, &trusted, &vouching), resumed, &store, &|now| limits.at(now))
    }

    /// Holds a name, or waits for it.
    fn take(&self, name: String, attempt: &mut Attempt) -> Option<Waiting> {
        if attempt.holds(&name) {
            return None;
        }
        self.locks.take(name).map(|guard| attempt.hold(guard)).err()
    }

    /// `last` is the decision before it on its action, where that may not be on disk yet.
    fn make(&self, policy: &ActionPolicy, asked: &Asked<'_>, last: Option<Last>) -> Result<Made, DecideError> {
        let (trusted, vouching) = (self.trusted(), self.vouching());
        let (store, signed) = (self.store.of(asked.tenant), |row: &StoredDecision| self.signed(row));
        let limits = Limits::of(&store, &signed, policy, asked.request)?;
        decide::make(&question(policy, asked, &trusted, &vouching), &store, last, &|now| limits.at(now))
    }

    /// Decides on an action whose name is held, and hands the decision over to the store.
    fn issue(&self, policy: &ActionPolicy, asked: &Asked<'_>, action: &str) -> Result<Issuing, DecideError> {
        // Asked for before the store is: what is gone by then is stored.
        let made = self.make(policy, asked, self.ahead.last(action))?;
        let (id, signed, new) = self.prepare(&made, asked.request, asked.candidate)?;
        // In one write with the decision: what was spent meanwhile refuses the decision, which is then made again.
        let mut writes: Vec<Write> = vec![new.into(), made.spends(id).into()];
        writes.extend(made.counts(id).map(Write::from));
        writes.extend(asked.replayable.map(|one| answer(one, id.to_string()).into()));
        if let Some(with) = asked.with {
            writes.extend(with(&id.to_string(), made.decision.allows())?);
        }
        let entry = self.ahead.put(action.to_owned(), Last { id, history: made.history() });
        let pending = self.store.of(asked.tenant).submit_all(writes);
        Ok(Issuing { pending, signed, decision: made.decision, entry })
    }

    /// A decision as the store takes it, with its id. It is linked when it is stored.
    pub(crate) fn prepare(
        &self,
        made: &Made,
        request: &Request,
        candidate: Option<&str>,
    ) -> Result<(ReceiptId, SignedDecision, NewDecision), DecideError> {
        let id = clock::receipt_id()?;
        // On this thread, since the writer does one thing at a time: it links, and signs what depends on that.
        let (prepared, signed) = DecisionReceipt::unchained(&made.decision, request, id).prepare(&self.key)?;
        let key = Arc::clone(&self.key);
        let sign = Box::new(move |end: ChainEnd<'_>| prepared.sign(end, &key));
        let new = NewDecision {
            decision_id: id,
            decided_at: made.now.unix_millis(),
            outcome: made.decision.outcome().to_string(),
            allowed: made.decision.allows(),
            fingerprint: made.decision.fingerprint().to_string(),
            nth: made.nth(),
            after: made.after,
            about: made.index(request, candidate, self.record_facts),
            sign,
        };
        Ok((id, signed, new))
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
        Ok(self.signed(&decision)?)
    }
}

fn lock_name(kind: &str, tenant: &Tenant, name: &str) -> String {
    // Neither kinds nor tenants contain NUL, so no two triples have one name.
    format!("{kind}\0{tenant}\0{name}")
}

/// An answer to store.
pub(crate) fn answer(replayable: Replayable<'_>, document: String) -> Answer {
    Answer { key: replayable.key.to_owned(), request: replayable.request, document }
}

fn question<'a>(
    policy: &'a ActionPolicy,
    asked: &Asked<'a>,
    trusted: &'a TrustedSigners,
    vouching: &'a [DatedKey],
) -> Question<'a> {
    let Asked { request, presented, stop, .. } = *asked;
    Question { policy, request, presented, trusted: trusted.signers(), vouching, stop }
}
