//! Decides on actions: gathers the evidence, decides, seals the decision and what it spends, all in one write.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use proofmark_boundary::{
    ActionPolicy, Admission, Decision, DecisionReceipt, Denial, Disposition, History, Moment, ParseDecisionError,
    Replay, Request, admits, outputs_wanted,
};
use proofmark_evidence::{Evidence, ReceiptFact, Subject};
use proofmark_receipt::{ChainTip, Json, Object, Sha256Digest, SignError, SignerId, SigningKey, Timestamp};
use proofmark_store::{Bundle, Decision as Kept, DecisionIndex, Spend, Store, StoreError, Tenant, TenantStore};

use crate::clock;
use crate::presented::{self, PresentedError};

/// How often a decision is made again because another was kept first.
const MAX_RACES: u32 = 100;

/// What is asked, and what is presented with it.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The policy.
    pub policy: &'a ActionPolicy,
    /// The action and the facts.
    pub request: &'a Request,
    /// Folders of receipts and approvals, beside those the store holds.
    pub folders: &'a [&'a Path],
    /// Whose receipts count as trusted.
    pub trusted: &'a [SignerId],
    /// Set when nobody waits for the decision any more: it is not kept then.
    pub stop: &'a AtomicBool,
    /// The key decisions are signed with here: its word on who approved counts.
    pub own: Option<SignerId>,
}

/// A decision and its receipt.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The decision.
    pub decision: Decision,
    /// Its receipt, signed and on disk.
    pub receipt: DecisionReceipt,
}

/// Why there is no decision. Nothing is allowed then.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// There is nothing to decide by.
    #[error("decide: there is no policy here; start the server with `--policy`")]
    NoPolicy,
    /// Presented documents cannot be read.
    #[error(transparent)]
    Presented(#[from] PresentedError),
    /// The receipt cannot be signed.
    #[error("sign the decision: {0}")]
    Sign(#[from] SignError),
    /// What the store holds is no decision.
    #[error("read the decision `{id}` in the store: {error}")]
    Kept {
        /// The decision's id.
        id: String,
        /// What is wrong.
        error: ParseDecisionError,
    },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The key was used for another request.
    #[error("answer the request `{0}`: its key was used for another request; choose a new key for each request")]
    KeyReused(String),
    /// Nobody waits for it any more.
    #[error("decide: nobody waited for it any more, so nothing was kept; send it again")]
    Stopped,
    /// Others decide faster than we can.
    #[error("keep the decision: other processes keep deciding; try again")]
    Raced,
    /// The system gave no randomness.
    #[error("draw an id ({0})")]
    Randomness(#[from] getrandom::Error),
}

/// Decides. The decision and what it spends are on disk together when it returns, so that one receipt cannot allow two
/// actions.
///
/// # Errors
/// [`DecideError`]; nothing is allowed then, and nothing spent.
pub fn decide(question: &Question<'_>, key: &SigningKey, store: &Store) -> Result<Decided, DecideError> {
    let ours = store.of(&Tenant::LOCAL);
    for _ in 0..MAX_RACES {
        let now = clock::now_in(store)?;
        let decision = ask(question, &ours, &now)?;
        let tip = store.all_tenants_last_decision()?;
        let id = clock::receipt_id()?;
        let receipt = DecisionReceipt::draft(&decision, question.request, id, tip.as_ref()).sign(key)?;
        let bundle = bundle(&decision, question.request, &receipt, tip.as_ref(), &now);
        match ours.submit_bundle(bundle).wait() {
            Ok(()) => return Ok(Decided { decision, receipt }),
            // Somebody decided or spent meanwhile: what is so now is asked anew.
            Err(StoreError::DecisionMoved { .. } | StoreError::Spent(_) | StoreError::Superseded(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(DecideError::Raced)
}

/// Whether a retry that resumes from a decision may be asked for. The resumed receipt's signature is the caller's to check.
///
/// # Errors
/// As [`decide`].
pub fn resume(question: &Question<'_>, resumed: &DecisionReceipt, store: &Store) -> Result<Admission, DecideError> {
    let (now, ours) = (clock::now_in(store)?, store.of(&Tenant::LOCAL));
    let evidence = evidence(question, &ours, &now)?;
    let history = history(question, &ours, &now)?;
    Ok(admits(resumed, question.policy, question.request, &evidence, &Moment { now, history }))
}

/// Whether a decision receipt was issued by a signer the question trusts, and is what the same request and policy come to
/// again.
///
/// # Errors
/// As [`decide`].
pub fn replay(question: &Question<'_>, receipt: &DecisionReceipt) -> Result<Replay, DecideError> {
    let mut presented = Vec::new();
    for folder in question.folders {
        presented.extend(presented::facts(&presented::receipts(folder)?, question.trusted, None)?);
    }
    // Its issuer vouched for reviewers when it was decided.
    vouch(&mut presented, receipt.verify(question.trusted).signer);
    Ok(proofmark_boundary::replay(receipt, question.request, question.policy, &presented, question.trusted))
}

pub(crate) fn ask(question: &Question<'_>, store: &TenantStore<'_>, now: &Timestamp) -> Result<Decision, DecideError> {
    let evidence = evidence(question, store, now)?;
    let history = history(question, store, now)?;
    let (moment, stopped) = (Moment { now: now.clone(), history }, || question.stop.load(Ordering::Relaxed));
    let decision = proofmark_boundary::decide_until(question.policy, question.request, &evidence, &moment, &stopped);
    // What takes few steps is decided before it is asked whether to stop.
    decision.ok().filter(|_| !stopped()).ok_or(DecideError::Stopped)
}

/// What is kept of a decision that was made `now`, together with what it spends.
pub(crate) fn bundle(
    decision: &Decision,
    request: &Request,
    receipt: &DecisionReceipt,
    tip: Option<&ChainTip>,
    now: &Timestamp,
) -> Bundle {
    let now = now.unix_millis();
    let decision_id = receipt.decision_id().to_string();
    let agent = request.facts().get("agent").and_then(|agent| agent.as_object()?.get("id")?.as_str());
    let missing = decision.approvals_missing();
    let asked = missing > 0 || decision.disposition() == Disposition::HumanReview;
    // What was denied waits for nobody until the denial ends.
    let review = asked && !decision.allows() && decision.denial().is_none();
    let about = DecisionIndex {
        agent: agent.map(str::to_owned),
        class: request.action_class().map(str::to_owned),
        mode: decision.disposition().mode().to_owned(),
        expires_at: decision.expires_at().unix_millis(),
        candidate: None,
        action: request.facts().get("action").map(Json::to_text),
        review,
        wanted: missing.max(1),
        subject: subject_key(&decision.fingerprint(), decision.subject()),
        facts: review.then(|| Json::Object(request.facts().clone()).to_text()),
    };
    let kept = Kept {
        decision_id: decision_id.clone(),
        decided_at: now,
        outcome: decision.outcome().to_string(),
        allowed: decision.allows(),
        fingerprint: decision.fingerprint().to_string(),
        position: tip.map_or(0, |tip| tip.position.saturating_add(1)),
        document: receipt.to_text(),
        hash: Some(receipt.hash()),
        about,
    };
    Bundle {
        decision: Some(kept),
        follows: tip.map(|tip| tip.receipt_id),
        spends: decision.spends().iter().filter_map(spend).collect(),
        spent_by: decision_id,
        at: now,
        ..Bundle::default()
    }
}

/// What the store keeps of a document that is used up.
pub(crate) fn spend(spend: &proofmark_evidence::Spend) -> Option<Spend> {
    Some(Spend { receipt_id: spend.receipt_id.parse().ok()?, content: spend.content })
}

/// The receipts presented, and those of the store that may count; of approvals those of the tenant's decisions.
pub(crate) fn evidence(
    question: &Question<'_>,
    store: &TenantStore<'_>,
    now: &Timestamp,
) -> Result<Evidence, DecideError> {
    let mut facts = Vec::new();
    for folder in question.folders {
        facts.extend(presented::facts(&presented::receipts(folder)?, question.trusted, Some(store))?);
    }
    let outputs = outputs_wanted(question.policy, question.request, now);
    facts.extend(presented::kept(store, &outputs, question.trusted)?);
    vouch(&mut facts, question.own);
    Ok(Evidence::new(facts))
}

/// The word of this signer on who approved counts, because the decision is its own.
pub(crate) fn vouch(facts: &mut [ReceiptFact], signer: Option<SignerId>) {
    for fact in facts.iter_mut().filter(|fact| fact.approval.is_some()) {
        fact.vouched = fact.signer.is_some() && fact.signer == signer;
    }
}

/// How often the action was denied since it was allowed last, and whether a human has denied it.
fn history(question: &Question<'_>, store: &TenantStore<'_>, now: &Timestamp) -> Result<History, StoreError> {
    let fingerprint = question.policy.fingerprint(question.request);
    let denial = store.denial(&subject_key(&fingerprint, &question.request.subject()), now.unix_millis())?;
    let denial = denial.map(|review| Denial {
        decision_id: review.decision_id,
        reviewer: review.reviewer,
        note: review.note,
        until: Timestamp::from_unix_millis(review.until),
    });
    Ok(History { denied: store.denied(&fingerprint.to_string())?, denial })
}

/// What decisions on the same action, for the same agent in the same environment, have in common.
pub(crate) fn subject_key(fingerprint: &Sha256Digest, subject: &Subject) -> String {
    let mut key = Object::new();
    Subject { action: *fingerprint, ..subject.clone() }.write(&mut key);
    Sha256Digest::of(&Json::Object(key).canonical_vrf()).to_string()
}

pub(crate) fn read(kept: &Kept) -> Result<DecisionReceipt, DecideError> {
    let receipt = DecisionReceipt::parse(kept.document.as_bytes());
    receipt.map_err(|error| DecideError::Kept { id: kept.decision_id.clone(), error })
}
