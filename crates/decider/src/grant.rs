//! Grants: approvals that reach beyond one action, and how they end before their time.
//!
//! A grant ends when a reviewer revokes it, and when a reviewer denies an action of the same tool by the same agent. Either is a signed
//! receipt, stored in one write with what spends the grant: so it ends as well for those who present another receipt around the
//! assertion of the same passkey.

use proofmark_boundary::{DecisionReceipt, Request};
use proofmark_evidence::{ApprovalFact, HUMAN_TIER, Occasion, Reviewer, Scope, ScopeError, WantedScope};
use proofmark_receipt::document::shown;
use proofmark_receipt::{
    Detail, Draft, Hashes, Json, Receipt, ReceiptId, Results, Sha256Digest, SigningKey, Status, Task, Timestamp,
    Verdict, object,
};
use proofmark_store::{Decision, NewReceipt, Spends, StoreError, Tenant, TenantStore, Write};
use proofmark_verifier::presented::spend_of_stored;
use proofmark_verifier::{clock, signed_action, signed_facts};

use crate::decide::DecideError;
use crate::decider::Decider;

/// The longest note of a reviewer, in bytes.
pub(crate) const MAX_NOTE: usize = 4_096;

/// Whether a note says something, and a store takes it. It is asked before a passkey signs the note.
pub(crate) fn is_note(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= MAX_NOTE && !text.contains('\0')
}

/// What the receipt of a revocation is about. It never counts as evidence.
const KIND: &str = "revocation";

/// The end of a grant that a reviewer wants.
#[derive(Clone, Copy, Debug)]
pub struct Revocation<'a> {
    /// Whose grant it is.
    pub tenant: &'a Tenant,
    /// The id of the receipt of the approval.
    pub approval: &'a str,
    /// Who ends it.
    pub reviewer: &'a Reviewer,
    /// Why.
    pub note: &'a str,
}

/// Why a grant is not ended.
#[derive(Debug, thiserror::Error)]
pub enum RevokeError {
    /// The tenant has no such receipt.
    #[error("revoke the approval `{}`: there is none with this id", shown(.0))]
    Unknown(String),
    /// The receipt is something else.
    #[error("revoke the receipt `{0}`: it is not an approval for more than one action")]
    NotAGrant(ReceiptId),
    /// It ended before.
    #[error("revoke the approval `{0}`: it was revoked before")]
    Ended(ReceiptId),
    /// The note is empty or too long.
    #[error("revoke: the note is empty, has more than {MAX_NOTE} bytes, or has the character U+0000")]
    Note,
    /// The decision on what it approved cannot be read, or an id for the receipt cannot be drawn.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// The store refused, or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why it is not known what an approval would reach.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// The facts of the decision are not stored.
    #[error("approve the decision `{0}`: the facts it was made on are not stored")]
    NoFacts(String),
    /// It cannot reach so far.
    #[error("approve: {0}")]
    Scope(#[from] ScopeError),
    /// The decision cannot be read, or an id for a receipt cannot be drawn.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl GrantError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::NoFacts(_) => Some("let the agent ask again, and review that decision".to_owned()),
            Self::Scope(error) => Some(error.help().to_owned()),
            Self::Decide(error) => error.help(),
            Self::Store(error) => error.help(),
        }
    }
}

impl RevokeError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let text = match self {
            Self::Decide(error) => return error.help(),
            Self::Store(error) => return error.help(),
            Self::Unknown(_) => "name the id of a stored approval",
            Self::NotAGrant(_) => {
                "an approval of one action ends with the decision that it allows; deny the action to stop it"
            }
            Self::Note => "say why",
            Self::Ended(_) => return None,
        };
        Some(text.to_owned())
    }
}

impl Decider {
    /// Ends a grant: it counts for nothing from here on. The receipt says who ended it, and why.
    ///
    /// # Errors
    /// [`RevokeError`]; the grant counts as before then.
    pub fn revoke(&self, new: &Revocation<'_>) -> Result<Receipt, RevokeError> {
        if !is_note(new.note) {
            return Err(RevokeError::Note);
        }
        let store = self.store.of(new.tenant);
        let unknown = || RevokeError::Unknown(new.approval.to_owned());
        let id: ReceiptId = new.approval.parse().map_err(|_| unknown())?;
        let approval = store.receipt(&id)?.ok_or_else(unknown)?.receipt;
        let grant = Grant::of(&approval).ok_or(RevokeError::NotAGrant(id))?;
        let now = clock::now_in(&self.store)?;
        let (receipt, writes) = grant.end(new.reviewer, new.note, now, &self.key)?;
        match store.submit_all(writes).wait() {
            Ok(_) => Ok(receipt),
            Err(StoreError::Spent(_)) => Err(RevokeError::Ended(id)),
            Err(error) => Err(error.into()),
        }
    }
}

impl Decider {
    /// Whose approval it is: that of the tenant whose decision it approves.
    ///
    /// # Errors
    /// [`RevokeError::Unknown`] where it is not stored, or approves no stored decision.
    pub fn tenant_of_approval(&self, id: &str) -> Result<Tenant, RevokeError> {
        let unknown = || RevokeError::Unknown(id.to_owned());
        let id: ReceiptId = id.parse().map_err(|_| unknown())?;
        let approval = self.store.all_tenants_receipt(&id)?.ok_or_else(unknown)?.receipt;
        let grant = Grant::of(&approval).ok_or(RevokeError::NotAGrant(id))?;
        let decision = grant.decision_id.map(|id| self.store.all_tenants_decision(id)).transpose()?.flatten();
        decision.map(|(tenant, _)| tenant).ok_or_else(unknown)
    }

    /// What an approval of a stored decision would reach beyond its action.
    ///
    /// # Errors
    /// [`GrantError`] where the facts of the decision are not stored, or do not say enough.
    pub fn scope(&self, decision: &DecisionReceipt, wanted: Option<&WantedScope>) -> Result<Option<Scope>, GrantError> {
        let stored = self.store.all_tenants_decision(&decision.decision_id().to_string())?;
        let tenant = stored.map_or(Tenant::LOCAL, |(tenant, _)| tenant);
        scope(&self.store.of(&tenant), decision, wanted)
    }
}

/// A stored approval that reaches beyond one action.
pub(crate) struct Grant<'a> {
    receipt: &'a Receipt,
    decision_id: Option<&'a str>,
}

impl<'a> Grant<'a> {
    fn of(receipt: &'a Receipt) -> Option<Self> {
        let approval = receipt.metadata().get("approval")?;
        ApprovalFact::read(approval)?.scope?;
        Some(Self { receipt, decision_id: approval.as_object()?.get("decision_id").and_then(Json::as_str) })
    }

    /// The receipt that ends it, and what is stored with it.
    fn end(
        &self,
        reviewer: &Reviewer,
        note: &str,
        now: Timestamp,
        key: &SigningKey,
    ) -> Result<(Receipt, Vec<Write>), DecideError> {
        let id = clock::receipt_id()?;
        let spend = spend_of_stored(self.receipt);
        let revocation = object! {
            "receipt_id": self.receipt.receipt_id().to_string(),
            "reviewer": reviewer.to_json(),
            "note": note,
        };
        let detail = Detail { message: Some(note.to_owned()), ..Detail::new("human review", Status::Fail) };
        let draft = Draft {
            receipt_id: id,
            verified_at: now,
            tier: HUMAN_TIER,
            verdict: Verdict::Fail,
            task: Some(Task {
                task_id: self.decision_id.map(str::to_owned),
                task_type: Some(KIND.to_owned()),
                description: None,
            }),
            results: Results::from_details(vec![detail]),
            hashes: Hashes {
                specification: Sha256Digest::of(&self.receipt.document().canonical_vrf()),
                output: spend.content,
                tests: None,
            },
            metadata: object! { "kind": KIND, "revocation": revocation },
        };
        let receipt = draft.sign(key)?;
        let spends = Spends { documents: vec![spend], by: format!("{KIND} {id}") };
        Ok((receipt.clone(), vec![NewReceipt::single(receipt).into(), spends.into()]))
    }
}

/// What ends the grants for actions like the one of a decision, which is denied.
pub(crate) fn ended_by_denial(
    store: &TenantStore<'_>,
    stored: &Decision,
    (reviewer, note): (&Reviewer, &str),
    now: &Timestamp,
    key: &SigningKey,
) -> Result<Vec<Write>, GrantError> {
    // What cannot be read, or is not what was signed, can be denied all the same: the denial itself blocks.
    let Ok(decision) = DecisionReceipt::parse(stored.document.as_bytes()) else { return Ok(Vec::new()) };
    let Some(action) = genuine_action(store, stored, &decision)? else { return Ok(Vec::new()) };
    let asker = decision.asker();
    let occasion = Occasion {
        action: &action,
        agent: decision.bound("agent"),
        environment: decision.bound("environment"),
        account: asker.account.as_deref(),
        project: None,
        run: None,
    };
    let Some(key_of_grants) = occasion.key() else { return Ok(Vec::new()) };
    let mut writes = Vec::new();
    for receipt in store.receipts_over(&key_of_grants.to_string(), &|receipt| {
        Grant::of(receipt).is_some().then(|| spend_of_stored(receipt))
    })? {
        let Some(grant) = Grant::of(&receipt) else { continue };
        // Receipts of the command line are found for every tenant; a tenant ends the grants of its own decisions.
        let is_own = grant.decision_id.map(|id| store.decision(id)).transpose()?.flatten().is_some();
        if is_own && !store.is_spent(&spend_of_stored(&receipt))? {
            writes.extend(grant.end(reviewer, note, now.clone(), key)?.1);
        }
    }
    Ok(writes)
}

/// The signed action of a decision, read from its row or, if the row was changed, from its facts.
fn genuine_action(
    store: &TenantStore<'_>,
    stored: &Decision,
    decision: &DecisionReceipt,
) -> Result<Option<Json>, StoreError> {
    if let Ok(action) = signed_action(stored, decision) {
        return Ok(action);
    }
    let facts = store.facts(&stored.decision_id)?.and_then(|facts| signed_facts(stored, decision, facts).ok());
    let facts = facts.and_then(|facts| Json::parse(facts.as_bytes()).ok());
    Ok(facts.and_then(|facts| facts.as_object()?.get("action").cloned()))
}

/// The scope of an approval of a decision, from the facts that the decision binds.
pub(crate) fn scope(
    store: &TenantStore<'_>,
    decision: &DecisionReceipt,
    wanted: Option<&WantedScope>,
) -> Result<Option<Scope>, GrantError> {
    let Some(wanted) = wanted else { return Ok(None) };
    let id = decision.decision_id().to_string();
    let facts = store.facts(&id)?.and_then(|text| Json::parse(text.as_bytes()).ok());
    let request = match facts {
        Some(Json::Object(facts)) => Request::from_facts(facts).ok(),
        _ => None,
    };
    // The store could have been changed: what is granted comes from what was signed.
    let is_bound = |request: &Request| decision.bound("facts_hash") == Some(request.facts_hash().to_string().as_str());
    let request = request.filter(is_bound).ok_or(GrantError::NoFacts(id))?.asked_by(&decision.asker());
    Ok(Some(Scope::of(wanted, &request.occasion())?))
}
