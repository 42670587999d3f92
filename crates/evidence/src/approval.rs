//! Approvals: a human's attestation over the hash of one action, as a VRF receipt of tier 3, and whether one counts.

use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::{
    Detail, Draft, Hashes, Json, Object, ReceiptId, Results, Sha256Digest, SignerId, Status, Task, Timestamp, Trust,
    Verdict,
};

use crate::receipt::{Evidence, ReceiptFact, ReceiptKind};
use crate::refusal::{Refusal, nearest, refuse};

/// The tier of a human's attestation (VRF 1.0, "Tier 3").
pub const HUMAN_TIER: u8 = 3;
/// The most approvals one rule may ask for.
const MAX_APPROVALS: u64 = 16;
/// The longest role, in bytes.
const MAX_ROLE_BYTES: usize = 1_024;

/// The longest note of an approval, in bytes.
const MAX_NOTE_BYTES: usize = 4_096;

/// What a reviewer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// In which role.
    pub role: String,
    /// Why.
    pub note: String,
    /// Until when it counts.
    pub expires_at: Timestamp,
}

/// Why nothing can be approved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// The document is not a decision receipt, or binds no action.
    #[error("the document has no `{0}`; give the decision receipt of the action to approve")]
    NotADecision(&'static str),
    /// The note is empty or too long.
    #[error("the note has to have 1 to {MAX_NOTE_BYTES} bytes; say why you approve")]
    Note,
    /// The role is empty.
    #[error("the role is empty; say in which role you approve")]
    Role,
    /// It would never count.
    #[error("it would expire before it is given; give a later time")]
    Expired,
}

/// What a receipt says as an approval (`metadata.approval`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalFact {
    /// In which role it was given.
    pub role: String,
    /// The action it is of.
    pub action_hash: Sha256Digest,
    /// Until when it counts.
    pub expires_at: Timestamp,
}

/// Signed approvals of exactly one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalDemand {
    /// In which role they have to be given.
    pub role: String,
    /// How many it takes.
    pub count: usize,
    /// Whether they have to be of as many people.
    pub distinct: bool,
}

/// What was found for a demand.
pub struct Approvals<'e> {
    /// Those that count, as many as were asked for or fewer.
    pub counted: Vec<&'e ReceiptFact>,
    /// The refused ones, the nearest first.
    pub refused: Vec<(&'e ReceiptFact, Refusal)>,
}

impl ApprovalFact {
    /// Reads `metadata.approval`; `None` when a part of it is missing.
    #[must_use]
    pub fn read(json: &Json) -> Option<Self> {
        let text = |name: &str| json.as_object()?.get(name)?.as_str();
        Some(Self {
            role: text("role")?.to_owned(),
            action_hash: text("action_hash")?.parse().ok()?,
            expires_at: text("expires_at")?.parse().ok()?,
        })
    }
}

impl ApprovalDemand {
    /// Reads a demand: `{role, count, distinct}`.
    ///
    /// # Errors
    /// [`DocumentError`] names the field and what to write.
    pub fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(&["role", "count", "distinct"])?;
        Ok(Self {
            role: read_role(&fields.need("role", "say whose approval it takes")?)?,
            count: fields.get("count").map_or(Ok(1), |field| read_count(&field))?,
            distinct: fields.get("distinct").map_or(Ok(true), |field| field.boolean())?,
        })
    }

    /// The approvals of this action that count, the oldest first. `keys` are those that may speak for the role; without
    /// them any trusted signer may.
    #[must_use]
    pub fn approvals<'e>(
        &self,
        keys: Option<&[SignerId]>,
        action: Sha256Digest,
        evidence: &'e Evidence,
        now: &Timestamp,
    ) -> Approvals<'e> {
        let of_role = |fact: &&ReceiptFact| fact.approval.as_ref().is_some_and(|approval| approval.role == self.role);
        let documents = evidence.documents().iter().filter(of_role);
        let judged: Vec<_> = documents.map(|fact| (fact, counts(keys, action, fact, now).err())).collect();
        let mut good: Vec<_> = judged.iter().filter(|(_, refusal)| refusal.is_none()).map(|(fact, _)| *fact).collect();
        good.sort_by_key(|fact| (fact.verified_at.unix_millis(), fact.content));
        let mut counted: Vec<&ReceiptFact> = Vec::new();
        for fact in good {
            let again = self.distinct && counted.iter().any(|other| other.signer == fact.signer);
            if counted.len() < self.count && !again {
                counted.push(fact);
            }
        }
        Approvals { counted, refused: nearest(judged) }
    }
}

/// Whether an approval counts for this action, whatever its role. `keys` are those that may speak for its role; without
/// them any trusted signer may.
///
/// # Errors
/// [`Refusal`], the first in its order.
pub fn counts(
    keys: Option<&[SignerId]>,
    action: Sha256Digest,
    fact: &ReceiptFact,
    now: &Timestamp,
) -> Result<(), Refusal> {
    let Some(approval) = &fact.approval else { return Err(Refusal::OtherKind) };
    let trusted = match keys {
        Some(keys) => fact.signer.is_some_and(|signer| keys.contains(&signer)),
        None => fact.trust == Trust::Trusted,
    };
    refuse(approval.action_hash != action || fact.output != action, Refusal::OtherOutput)?;
    refuse(!fact.valid, Refusal::NotValid)?;
    refuse(fact.kind != Some(ReceiptKind::Approval), Refusal::OtherKind)?;
    refuse(!trusted, Refusal::Signer)?;
    refuse(fact.verdict != Verdict::Pass, Refusal::Verdict)?;
    refuse(fact.tier != HUMAN_TIER, Refusal::Tier)?;
    refuse(fact.ahead_of(now), Refusal::InTheFuture)?;
    refuse(approval.expires_at.unix_millis() <= now.unix_millis(), Refusal::Expired)?;
    refuse(fact.spent, Refusal::Spent)
}

fn read_role(field: &Field<'_>) -> Result<String, DocumentError> {
    match field.text()? {
        role if role.trim().is_empty() => Err(field.error(Cause::Empty, "the text is empty; write something")),
        role if role.len() > MAX_ROLE_BYTES => {
            let message = format!("the text is longer than {MAX_ROLE_BYTES} bytes; shorten it");
            Err(field.error(Cause::TooLarge, message))
        }
        role => Ok(role.to_owned()),
    }
}

fn read_count(field: &Field<'_>) -> Result<usize, DocumentError> {
    match field.positive()? {
        count @ 1..=MAX_APPROVALS => Ok(count as usize),
        _ => Err(field.error(Cause::TooMany, format!("write a count from 1 to {MAX_APPROVALS}"))),
    }
}

impl Approval {
    /// The roles the decision asks approvals of, in its order.
    #[must_use]
    pub fn roles_asked(decision: &Object) -> Vec<String> {
        let evidence = decision.get("evidence").and_then(Json::as_array).unwrap_or_default();
        let mut roles: Vec<String> = Vec::new();
        for role in evidence.iter().filter_map(|item| item.as_object()?.get("role")?.as_str()) {
            if !roles.iter().any(|known| known == role) {
                roles.push(role.to_owned());
            }
        }
        roles
    }

    /// The receipt still to be signed by the reviewer, of the action a decision receipt is about.
    ///
    /// # Errors
    /// [`ApprovalError`] when there is no action to approve, or nothing is said about it.
    pub fn draft(self, decision: &Object, receipt_id: ReceiptId, now: Timestamp) -> Result<Draft, ApprovalError> {
        let text = |name: &'static str| decision.get(name).and_then(Json::as_str);
        let decision_id = text("decision_id").ok_or(ApprovalError::NotADecision("decision_id"))?;
        let action = action_hash(decision).ok_or(ApprovalError::NotADecision("binding.action_hash"))?;
        if self.note.trim().is_empty() || self.note.len() > MAX_NOTE_BYTES {
            return Err(ApprovalError::Note);
        }
        if self.role.trim().is_empty() {
            return Err(ApprovalError::Role);
        }
        if self.expires_at.unix_millis() <= now.unix_millis() {
            return Err(ApprovalError::Expired);
        }
        let mut approval = Object::new();
        approval.insert("role", self.role);
        approval.insert("action_hash", action.to_string());
        approval.insert("decision_id", decision_id);
        approval.insert("expires_at", self.expires_at.as_str());
        approval.insert("note", self.note.as_str());
        let mut metadata = Object::new();
        metadata.insert("approval", approval);
        let task =
            Task { task_id: Some(decision_id.to_owned()), task_type: Some("approval".to_owned()), description: None };
        Ok(Draft {
            receipt_id,
            verified_at: now,
            tier: HUMAN_TIER,
            verdict: Verdict::Pass,
            task: Some(task),
            results: Results::from_details(vec![reviewed(self.note)]),
            hashes: Hashes {
                specification: Sha256Digest::of(&Json::Object(decision.clone()).canonical_vrf()),
                output: action,
                tests: None,
            },
            metadata,
        })
    }
}

fn action_hash(decision: &Object) -> Option<Sha256Digest> {
    decision.get("binding")?.as_object()?.get("action_hash")?.as_str()?.parse().ok()
}

fn reviewed(note: String) -> Detail {
    Detail {
        name: "human review".to_owned(),
        status: Status::Pass,
        expected: None,
        actual: None,
        elapsed_ms: None,
        message: Some(note),
        constraint: None,
    }
}
