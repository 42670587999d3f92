//! Stored decisions, compared with what was signed: anyone who can write the database can change a row.

use proofmark_boundary::{CountedAction, DecisionReceipt, Request};
use proofmark_evidence::Subject;
use proofmark_receipt::document::shown;
use proofmark_receipt::json::{JsonError, Limits, MAX_DEPTH};
use proofmark_receipt::{Json, Object, Sha256Digest, Timestamp};
use proofmark_store::{Decision, StoredCount};

/// A stored decision that is not what was signed, or is not signed by somebody who counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read the decision `{}` in the store: {why}", shown(id))]
pub struct ChangedDecision {
    pub id: String,
    pub why: String,
}

impl ChangedDecision {
    /// What is wrong with this decision.
    #[must_use]
    pub fn of(stored: &Decision, why: impl ToString) -> Self {
        Self { id: stored.decision_id.clone(), why: why.to_string() }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> String {
        "find what was changed with `proofmark store check`".to_owned()
    }
}

/// The receipt of a stored decision, once its signature holds and every column that it determines says the same. The action, which
/// may be long, is compared by [`signed_action`].
///
/// # Errors
/// [`ChangedDecision`] where it cannot be read, or the row is not what was signed.
pub fn signed_decision(stored: &Decision) -> Result<DecisionReceipt, ChangedDecision> {
    let changed = |why: String| ChangedDecision::of(stored, why);
    let receipt = DecisionReceipt::parse(stored.document.as_bytes()).map_err(|error| changed(error.to_string()))?;
    let verification = receipt.verify(&[]);
    if let Some(cause) = verification.answer.cause() {
        return Err(changed(format!("its signature does not hold: {cause}")));
    }
    match differing_column(&receipt, stored) {
        Some(column) => Err(changed(format!("the column {column} has another value than what was signed"))),
        None => Ok(receipt),
    }
}

/// The action of a stored decision, which is the one that was decided on; none where none is stored.
///
/// # Errors
/// [`ChangedDecision`] where it is another one.
pub fn signed_action(stored: &Decision, receipt: &DecisionReceipt) -> Result<Option<Json>, ChangedDecision> {
    let Some(text) = &stored.about.action else { return Ok(None) };
    let changed =
        || ChangedDecision::of(stored, "the column action has another action than the one that was decided on");
    let action = whole(text).map_err(|_| changed())?;
    if is_bound(&action, receipt) { Ok(Some(action)) } else { Err(changed()) }
}

/// The facts of a stored decision, as they are stored, which are those that it was decided on.
///
/// # Errors
/// [`ChangedDecision`] where they are others.
pub fn signed_facts(stored: &Decision, receipt: &DecisionReceipt, facts: String) -> Result<String, ChangedDecision> {
    let request = match whole(&facts) {
        Ok(Json::Object(facts)) => Request::from_facts(facts).ok(),
        Ok(_) | Err(_) => None,
    };
    let hash = request.map(|request| request.facts_hash().to_string());
    if hash.is_some() && hash.as_deref() == receipt.bound("facts_hash") {
        return Ok(facts);
    }
    Err(ChangedDecision::of(stored, "its facts in the table asked are not those that it was decided on"))
}

/// A stored text, whatever its length: what a reader would refuse to read is compared all the same.
pub(crate) fn whole(text: &str) -> Result<Json, JsonError> {
    Json::parse_with(text.as_bytes(), Limits { max_bytes: text.len(), max_depth: MAX_DEPTH, max_nodes: usize::MAX })
}

/// Whether a decision is on this action.
pub(crate) fn is_bound(action: &Json, receipt: &DecisionReceipt) -> bool {
    receipt.bound("action_hash") == Some(Sha256Digest::of(&action.canonical_vrf()).to_string().as_str())
}

/// An action that was counted, once its decision says the same of it.
///
/// # Errors
/// [`ChangedDecision`] where it says something else.
pub fn signed_count(stored: &StoredCount, receipt: &DecisionReceipt) -> Result<CountedAction, ChangedDecision> {
    count_in(stored, receipt.document()).ok_or_else(|| ChangedDecision {
        id: stored.by.clone(),
        why: "what the table counted says of it is not what was signed".to_owned(),
    })
}

/// An action that was counted, by the document of its decision; none where that says something else than the row.
pub(crate) fn count_in(stored: &StoredCount, decision: &Object) -> Option<CountedAction> {
    let at = decision.get("binding").and_then(|binding| binding.as_object()?.get("decided_at")?.as_str());
    let at = at.and_then(|at| at.parse::<Timestamp>().ok()).map(|at| at.unix_millis());
    let counted = CountedAction::of_document(decision);
    let action = counted.into_iter().find(|action| action.key == stored.count.key && action.nth == stored.count.nth)?;
    let is_same = action.total.to_string() == stored.count.total && at == Some(stored.at);
    is_same.then_some(action)
}

/// What a review of a decision is found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewed {
    /// Denials count for it.
    pub fingerprint: String,
    /// Approvals count for it ([`subject_key`]).
    pub subject: String,
}

impl Reviewed {
    /// Of a stored decision: what was signed, also where the row beside it says something else; what the row says where nothing signed
    /// can be read.
    #[must_use]
    pub fn of(stored: &Decision) -> Self {
        let receipt = DecisionReceipt::parse(stored.document.as_bytes()).ok();
        let receipt = receipt.filter(|receipt| receipt.verify(&[]).answer.cause().is_none());
        let signed = receipt.and_then(|receipt| Self::signed(&receipt));
        signed
            .unwrap_or_else(|| Self { fingerprint: stored.fingerprint.clone(), subject: stored.about.subject.clone() })
    }

    /// Of a decision receipt.
    fn signed(receipt: &DecisionReceipt) -> Option<Self> {
        let fingerprint = receipt.bound("fingerprint")?.parse().ok()?;
        let subject = subject_key(&fingerprint, &receipt.subject()?);
        Some(Self { fingerprint: fingerprint.to_string(), subject })
    }
}

/// What decisions on the same action, for the same agent in the same environment, have in common.
#[must_use]
pub fn subject_key(fingerprint: &Sha256Digest, subject: &Subject) -> String {
    let mut key = Object::new();
    Subject { action: *fingerprint, ..subject.clone() }.write(&mut key);
    Sha256Digest::of(&Json::Object(key).canonical_vrf()).to_string()
}

/// A column that the receipt determines and that has another value.
pub(crate) fn differing_column(receipt: &DecisionReceipt, stored: &Decision) -> Option<&'static str> {
    let (disposition, about) = (receipt.disposition(), &stored.about);
    let time =
        |name| receipt.bound(name).and_then(|time| time.parse::<Timestamp>().ok()).map(|time| time.unix_millis());
    let fingerprint = receipt.bound("fingerprint");
    let class = receipt.document().get("action_class").and_then(Json::as_str);
    let tip = receipt.tip();
    let columns = [
        ("decision_id", receipt.decision_id().to_string() == stored.decision_id),
        ("decided_at", time("decided_at") == Some(stored.decided_at)),
        ("outcome", disposition.outcome().as_str() == stored.outcome),
        ("allowed", disposition.allows() == stored.allowed),
        ("mode", disposition.mode() == about.mode),
        ("fingerprint", fingerprint == Some(stored.fingerprint.as_str())),
        ("position", tip.as_ref().is_some_and(|tip| tip.position == stored.position)),
        ("hash", tip.is_some_and(|tip| tip.hash == stored.hash)),
        ("subject", Reviewed::signed(receipt).is_some_and(|signed| signed.subject == about.subject)),
        ("agent", receipt.bound("agent") == about.agent.as_deref()),
        ("class", class == about.class.as_deref()),
        ("expires_at", time("expires_at") == Some(about.expires_at)),
        // What waits has a role to be approved in, or a person to review it; what is allowed or denied waits for nobody.
        ("review", !about.review || !disposition.allows() && receipt.member("binding", "denial").is_none()),
    ];
    columns.iter().find(|(_, is_same)| !is_same).map(|(column, _)| *column)
}
