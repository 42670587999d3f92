//! Makes decisions: gathers the evidence and the history of the action, and asks the policy.
//!
//! What is made here is issued by [`crate::Decider`], the one place that does.

use std::sync::atomic::{AtomicBool, Ordering};

use proofmark_boundary::{
    ActionPolicy, Admission, Counted, Decision, DecisionReceipt, Denial, Disposition, History, LimitUse, Moment,
    Replay, Request, admits, effects_text, outputs_wanted, sought,
};
use proofmark_evidence::{DatedKey, Evidence, ReceiptFact, Signers};
use proofmark_keys::decision_signers;
use proofmark_receipt::document::shown;
use proofmark_receipt::{Json, ReceiptId, SignError, Timestamp};
use proofmark_session::SessionError;
use proofmark_store::{
    ActionHistory, ActionState, Count, Counts, Decision as StoredDecision, DecisionIndex, JudgedRules, Spends,
    StoreError, TenantStore,
};

use proofmark_verifier::presented::{self, Presented, PresentedError, Proofs};
use proofmark_verifier::{ChangedDecision, clock, signed_decision, subject_key};

use crate::ahead::Last;

/// A request for a decision, and what is presented with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) policy: &'a ActionPolicy,
    /// The action and the facts.
    pub(crate) request: &'a Request,
    pub(crate) presented: Presented<'a>,
    /// Whose receipts count, each key for what.
    pub(crate) trusted: &'a Signers,
    /// Set when the caller no longer waits for the decision: it is not stored then.
    pub(crate) stop: &'a AtomicBool,
    /// The keys that vouch for the reviewers they name, where decisions are made by a server that knows who calls.
    pub(crate) vouching: &'a [DatedKey],
}

/// Why there is no decision. Nothing is allowed then.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// There is no policy to decide by.
    #[error("decide: there is no policy here")]
    NoPolicy,
    /// The tenant has no policy of this name, or none that is asked where none is named.
    #[error("decide: there is {}", missing(.name.as_deref()))]
    OtherPolicy {
        name: Option<String>,
        /// The names of those that it has.
        known: Vec<String>,
    },
    /// Presented documents cannot be read.
    #[error(transparent)]
    Presented(#[from] PresentedError),
    /// The receipt cannot be signed.
    #[error("sign the decision: {0}")]
    Sign(#[from] SignError),
    /// A stored decision is not what was signed.
    #[error(transparent)]
    Changed(#[from] ChangedDecision),
    /// The store refused, or failed.
    #[error(transparent)]
    Store(StoreError),
    /// The key was used for another request.
    #[error("answer the request `{}`: its key was used for another request", shown(.0))]
    KeyReused(String),
    /// The stored answer to the request is a decision on another action.
    #[error("answer the request: the decision `{}`, which the store has as its answer, is on another action", shown(.0))]
    OtherAnswer(String),
    /// The caller no longer waits for it.
    #[error("decide: the caller no longer waited for it, so nothing was stored")]
    Stopped,
    /// The facts of the session cannot be used.
    #[error("gather the facts: {0}")]
    Facts(String),
    /// The session's record is not what trusted signers have recorded.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Another process than a session's host sends an event of it.
    #[error("take the event: it does not come from the host of this session, which still runs")]
    NotFromHost,
    /// Other processes decide on the action faster than we can.
    #[error("store the decision: other processes keep deciding on the same action or in the same session")]
    Raced,
    /// The system gave no randomness.
    #[error("draw an id ({0})")]
    Randomness(#[from] getrandom::Error),
}

impl DecideError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Presented(error) => error.help(),
            Self::Store(error) => error.help(),
            Self::NoPolicy => Some("start the server with `--policy`".to_owned()),
            Self::OtherPolicy { known, .. } if known.is_empty() => {
                Some("give the server a policy for this tenant, with `--policy TENANT=FILE`".to_owned())
            }
            Self::OtherPolicy { known, .. } => Some(format!("name one of: {}", known.join(", "))),
            Self::KeyReused(_) => Some("choose a new key for each request".to_owned()),
            Self::Stopped => Some("send it again".to_owned()),
            Self::Raced => Some("try again".to_owned()),
            Self::Sign(error) => error.help(),
            Self::Session(error) => error.help(),
            Self::NotFromHost => {
                Some("let the host start its hooks, and give each host a session of its own".to_owned())
            }
            Self::Changed(error) => Some(error.help()),
            Self::OtherAnswer(_) => Some("find what was changed with `proofmark store check`".to_owned()),
            Self::Facts(_) | Self::Randomness(_) => None,
        }
    }
}

fn missing(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("no policy `{}` here for this tenant", shown(name)),
        None => "no policy here that this tenant asks where none is named".to_owned(),
    }
}

impl From<StoreError> for DecideError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Sign(error) => Self::Sign(error),
            error => Self::Store(error),
        }
    }
}

/// What the limits of the policy had counted at a time.
pub(crate) type CountedAt<'a> = &'a dyn Fn(&Timestamp) -> Result<Vec<Counted>, DecideError>;

/// Whether a retry that resumes from a decision may be asked for.
pub(crate) fn resume(
    question: &Question<'_>,
    resumed: &DecisionReceipt,
    store: &TenantStore<'_>,
    counted: CountedAt<'_>,
) -> Result<Admission, DecideError> {
    let Known { now, history, denial, .. } = Known::of(question, store, None)?;
    let evidence = evidence(question, store, &now)?;
    let counted = counted(&now)?;
    let moment = Moment { now, history: History { denied: history.denied, denial, counted } };
    Ok(admits(resumed, question.policy, question.request, &evidence, &moment))
}

/// Decides the request of a decision receipt again, on the evidence that is presented: whether the same policy gives the same
/// decision, and whether one of `trusted` has signed it.
///
/// # Errors
/// When evidence cannot be read.
pub fn replay(
    receipt: &DecisionReceipt,
    request: &Request,
    policy: &ActionPolicy,
    presented: Presented<'_>,
    trusted: &Signers,
) -> Result<Replay, DecideError> {
    let documents = presented.read()?;
    let proofs = Proofs::new(policy.log_policy(), &documents.proofs);
    let presented = presented::facts(&documents.receipts, trusted, None, &proofs)?;
    proofs.check_all_met().map_err(PresentedError::from)?;
    Ok(proofmark_boundary::replay(receipt, request, policy, &presented, &decision_signers(receipt, trusted)))
}

/// A decision, made but not issued yet, and what it depends on.
pub(crate) struct Made {
    pub(crate) decision: Decision,
    pub(crate) now: Timestamp,
    /// What was decided on its action before it.
    history: ActionHistory,
    /// The decision before it, where that may not be on disk yet.
    pub(crate) after: Option<ReceiptId>,
    /// What decisions on its subject are looked up by.
    subject: String,
}

/// Makes a decision. `last` is the decision before it on its action, where that may not be on disk yet.
pub(crate) fn make(
    question: &Question<'_>,
    store: &TenantStore<'_>,
    last: Option<Last>,
    counted: CountedAt<'_>,
) -> Result<Made, DecideError> {
    // First, so that a decision on the same action that is stored meanwhile makes this one fail, whatever evidence was
    // seen.
    let Known { now, history, after, denial, subject } = Known::of(question, store, last)?;
    let evidence = evidence(question, store, &now)?;
    let counted = counted(&now)?;
    let moment = Moment { now: now.clone(), history: History { denied: history.denied, denial, counted } };
    let stopped = || question.stop.load(Ordering::Relaxed);
    let decision = proofmark_boundary::decide_until(question.policy, question.request, &evidence, &moment, &stopped);
    // What takes few steps is decided before it is asked whether to stop.
    let decision = decision.ok().filter(|_| !stopped()).ok_or(DecideError::Stopped)?;
    Ok(Made { decision, now, history, after, subject })
}

impl Made {
    /// Which decision on its action it is, counted from 1.
    pub(crate) fn nth(&self) -> u64 {
        self.history.decided.saturating_add(1)
    }

    /// What was decided on its action, this decision included.
    pub(crate) fn history(&self) -> ActionHistory {
        let denied = if self.decision.allows() { 0 } else { self.history.denied.saturating_add(1) };
        ActionHistory { decided: self.nth(), denied }
    }

    /// What decisions on its subject are looked up by.
    pub(crate) fn subject(&self) -> &str {
        &self.subject
    }

    /// What the store looks the decision up by. `candidate` is what a report of the execution names the action by;
    /// `record_facts` stores the facts of every decision.
    pub(crate) fn index(&self, request: &Request, candidate: Option<&str>, record_facts: bool) -> DecisionIndex {
        let decision = &self.decision;
        let agent = request.facts().get("agent").and_then(|agent| agent.as_object()?.get("id")?.as_str());
        let missing = decision.approvals_missing();
        let asks = missing > 0 || decision.disposition() == Disposition::HumanReview;
        // A denied action does not wait for a review until the denial expires.
        let review = asks && !decision.allows() && decision.denial().is_none();
        DecisionIndex {
            agent: agent.map(str::to_owned),
            class: request.action_class().map(str::to_owned),
            mode: decision.disposition().mode().to_owned(),
            expires_at: decision.expires_at().unix_millis(),
            candidate: candidate.map(str::to_owned),
            action: request.facts().get("action").map(Json::to_text),
            tool: request
                .facts()
                .get("action")
                .and_then(|action| action.as_object()?.get("tool")?.as_str())
                .map(str::to_owned),
            session: request.asker().session.as_ref().map(|head| head.session.clone()),
            review,
            // A review that no approval rule asks for waits for one approval.
            wanted: missing.max(1),
            roles: decision.roles_asked().into_iter().map(str::to_owned).collect(),
            subject: self.subject.clone(),
            // Reviewers see them, and an approval is judged on them before it is signed. Otherwise they are stored only on
            // request: they hold what the agent read.
            facts: (review || record_facts).then(|| request.facts().to_text()),
            judged: Some(JudgedRules { policy: decision.policy_hash(), rules: effects_text(decision) }),
        }
    }

    /// What the decision counts; none where no limit is about its action.
    pub(crate) fn counts(&self, decision_id: ReceiptId) -> Option<Counts> {
        let actions = self.decision.limits().iter().filter_map(LimitUse::action);
        let counts: Vec<_> =
            actions.map(|action| Count { key: action.key, nth: action.nth, total: action.total.to_string() }).collect();
        let at = self.now.unix_millis();
        (!counts.is_empty()).then(|| Counts { counts, at, by: decision_id.to_string() })
    }

    /// What the decision spends.
    pub(crate) fn spends(&self, decision_id: ReceiptId) -> Spends {
        let documents = self.decision.spends().iter().filter_map(presented::spend).collect();
        Spends { documents, by: decision_id.to_string() }
    }
}

/// The receipts presented, and those of the store that may count; approvals only of the tenant's own decisions.
pub(crate) fn evidence(
    question: &Question<'_>,
    store: &TenantStore<'_>,
    now: &Timestamp,
) -> Result<Evidence, DecideError> {
    let documents = question.presented.read()?;
    // The keys are those of the policy: who presents a proof does not choose its log.
    let proofs = Proofs::new(question.policy.log_policy(), &documents.proofs);
    let mut facts = presented::facts(&documents.receipts, question.trusted, Some(store), &proofs)?;
    let outputs = outputs_wanted(question.policy, question.request, now);
    let sought = sought(question.policy, question.request, now);
    facts.extend(presented::stored(store, &outputs, &sought, question.trusted, &proofs)?);
    proofs.check_all_met().map_err(PresentedError::from)?;
    vouch(&mut facts, question.vouching);
    Ok(Evidence::new(facts))
}

/// Marks the approvals whose reviewers one of these keys vouches for: those that it signed itself, before its end.
pub(crate) fn vouch(facts: &mut [ReceiptFact], vouching: &[DatedKey]) {
    for fact in facts.iter_mut().filter(|fact| fact.approval.is_some()) {
        let signs = |key: &DatedKey| fact.signer.is_some_and(|signer| key.signs(&signer, Some(&fact.verified_at)));
        fact.vouched = vouching.iter().any(signs);
    }
}

/// What is known before a decision.
struct Known {
    now: Timestamp,
    /// How often the action was decided on, and denied since it was last allowed.
    history: ActionHistory,
    /// The decision that this counts on and that may not be on disk yet.
    after: Option<ReceiptId>,
    /// A reviewer's denial.
    denial: Option<Denial>,
    subject: String,
}

impl Known {
    fn of(question: &Question<'_>, store: &TenantStore<'_>, last: Option<Last>) -> Result<Self, StoreError> {
        let fingerprint = question.policy.fingerprint(question.request);
        // How often it was denied, and a reviewer's denial, count for the action, no matter who asks: the agent and the environment
        // are names that a request gives.
        let subject = subject_key(&fingerprint, &question.request.subject());
        let ActionState { now, history: stored, denial } = store.action_state(&fingerprint.to_string())?;
        let denial = denial.map(|review| Denial {
            decision_id: review.decision_id,
            reviewer: review.reviewer,
            note: review.note,
            until: Timestamp::from_unix_millis(review.until),
        });
        let ahead = last.filter(|last| last.history.decided > stored.decided);
        let (history, after) = ahead.map_or((stored, None), |last| (last.history, Some(last.id)));
        Ok(Self { now: clock::of_store(now), history, after, denial, subject })
    }
}

/// The receipt of a stored decision, which is compared with its row.
pub(crate) fn read(decision: &StoredDecision) -> Result<DecisionReceipt, DecideError> {
    Ok(signed_decision(decision)?)
}
