//! Approvals: a human's attestation over the hash of one action, as a VRF receipt of tier 3.

use proofmark_receipt::{
    Detail, Draft, Hashes, Json, Object, ReceiptId, Results, Sha256Digest, Status, Task, Timestamp, Verdict,
};

use crate::evidence::HUMAN_TIER;

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
    /// The document is no decision receipt, or binds no action.
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
