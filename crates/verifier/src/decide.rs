//! Decides on actions: gathers the evidence, decides, seals the decision and what it spends, all in one write.

use std::path::Path;

use proofmark_boundary::{
    Admission, Approval, ApprovalError, Decision, DecisionReceipt, Evidence, History, Moment, NotADecision, Policy,
    Replay, Request, Ruling, admits, outputs_wanted,
};
use proofmark_receipt::{ChainTip, Json, Receipt, SignError, SignerId, SigningKey, Timestamp};
use proofmark_store::{
    About, Bundle, Decision as Kept, NewReceipt, Review, Spend, Store, StoreError, Tenant, TenantStore,
};

use crate::clock;
use crate::presented::{self, PresentedError};

/// How often a decision is made again because another was kept first.
const MAX_RACES: u32 = 100;

/// What is asked, and what is presented with it.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The action and the facts.
    pub request: &'a Request,
    /// Folders of receipts and approvals, beside those the store holds.
    pub folders: &'a [&'a Path],
    /// Whose receipts count as trusted.
    pub trusted: &'a [SignerId],
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
    /// Presented documents can not be read.
    #[error(transparent)]
    Presented(#[from] PresentedError),
    /// The receipt can not be signed.
    #[error("sign the decision: {0}")]
    Sign(#[from] SignError),
    /// Nothing can be approved.
    #[error("approve: {0}")]
    Approval(#[from] ApprovalError),
    /// What the store holds is no decision.
    #[error("read the decision `{id}` in the store: {error}")]
    Kept {
        /// The decision's id.
        id: String,
        /// What is wrong.
        error: NotADecision,
    },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The key was used for another request.
    #[error("answer the request `{0}`: its key was used for another request; choose a new key for each request")]
    KeyReused(String),
    /// Others decide faster than we can.
    #[error("keep the decision: other processes keep deciding; try again")]
    Raced,
    /// The system gave no randomness.
    #[error("draw an id ({0})")]
    Randomness(#[from] getrandom::Error),
}

/// Decides. The decision and what it spends are on disk together when it returns, so that one receipt can not allow two
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
            Err(StoreError::DecisionMoved { .. } | StoreError::Spent(_)) => {}
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
    let history = history(question, &ours)?;
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
    Ok(proofmark_boundary::replay(receipt, question.request, question.policy, &presented, question.trusted))
}

/// Signs a reviewer's approval of the action a decision receipt is about, and keeps it.
///
/// # Errors
/// [`DecideError`] when there is nothing to approve or it can not be kept.
pub fn approve(
    approval: Approval,
    decision: &DecisionReceipt,
    key: &SigningKey,
    store: Option<&Store>,
) -> Result<Receipt, DecideError> {
    let note = approval.note.clone();
    let now = store.map_or_else(|| Ok(clock::now()), clock::now_in)?;
    let receipt = approval.draft(decision.document(), clock::receipt_id()?, now)?.sign(key)?;
    let Some(store) = store else { return Ok(receipt) };
    // It counts for the tenant whose decision it is.
    let kept = store.all_tenants_decision(&decision.decision_id().to_string())?;
    let of = store.of(&kept.as_ref().map_or(Tenant::LOCAL, |(tenant, _)| tenant.clone()));
    let reviewed = kept.filter(|(_, kept)| kept.about.review);
    let review = reviewed.map(|(_, kept)| Review {
        decision_id: kept.decision_id,
        verdict: "approved".to_owned(),
        reviewer: key.signer().to_string(),
        note,
        receipt_id: Some(receipt.receipt_id().to_string()),
        reviewed_at: receipt.verified_at().unix_millis(),
    });
    let bundle = |review| Bundle {
        receipt: Some(NewReceipt::of(receipt.clone())),
        review,
        at: receipt.verified_at().unix_millis(),
        ..Bundle::default()
    };
    // Where the decision is kept it waits for no more words.
    match of.submit_bundle(bundle(review)).wait() {
        Err(StoreError::Reviewed(_)) => of.submit_bundle(bundle(None)).wait()?,
        answer => answer?,
    }
    Ok(receipt)
}

pub(crate) fn ask(question: &Question<'_>, store: &TenantStore<'_>, now: &Timestamp) -> Result<Decision, DecideError> {
    let evidence = evidence(question, store, now)?;
    let history = history(question, store)?;
    Ok(proofmark_boundary::decide(question.policy, question.request, &evidence, &Moment { now: now.clone(), history }))
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
    let asked = !Approval::roles_asked(receipt.document()).is_empty() || decision.ruling() == Ruling::HumanReview;
    let about = About {
        agent: agent.map(str::to_owned),
        class: request.action_class().map(str::to_owned),
        mode: decision.ruling().mode().to_owned(),
        expires_at: decision.expires_at().unix_millis(),
        candidate: None,
        action: request.facts().get("action").map(Json::to_text),
        review: asked && !decision.allows(),
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
fn evidence(question: &Question<'_>, store: &TenantStore<'_>, now: &Timestamp) -> Result<Evidence, DecideError> {
    let mut facts = Vec::new();
    for folder in question.folders {
        facts.extend(presented::facts(&presented::receipts(folder)?, question.trusted, Some(store))?);
    }
    let outputs = outputs_wanted(question.policy, question.request, now);
    facts.extend(presented::kept(store, &outputs, question.trusted)?);
    Ok(Evidence::new(facts))
}

/// How often the action was denied since it was allowed last.
fn history(question: &Question<'_>, store: &TenantStore<'_>) -> Result<History, StoreError> {
    let fingerprint = question.request.fingerprint(question.policy).to_string();
    Ok(History { denied: store.denied(&fingerprint)? })
}

pub(crate) fn read(kept: &Kept) -> Result<DecisionReceipt, DecideError> {
    let receipt = DecisionReceipt::parse(kept.document.as_bytes());
    receipt.map_err(|error| DecideError::Kept { id: kept.decision_id.clone(), error })
}
