//! Checks documents that are signed, of either kind.

use proofmark_boundary::DecisionReceipt;
use proofmark_receipt::{
    Json, Object, Profile, SignatureStatus, SignerId, Trust, UndecidableCause, Verification, verify, verify_document,
};

/// What checking a document came to.
#[derive(Clone, Debug)]
pub struct Checked {
    /// `receipt`, `decision_receipt` or `chain_head`.
    pub kind: &'static str,
    /// The answer, and whether the signer is trusted.
    pub verification: Verification,
}

/// Checks a receipt of either kind: [`DecisionReceipt::claimed_by`] says which.
pub fn check_document(bytes: &[u8], profile: Profile, trusted: &[SignerId]) -> Checked {
    match Json::parse(bytes) {
        Ok(Json::Object(object)) if DecisionReceipt::claimed_by(&object) => {
            Checked { kind: "decision_receipt", verification: check_decision(object, trusted) }
        }
        Ok(_) | Err(_) => Checked { kind: "receipt", verification: verify(bytes, profile, trusted) },
    }
}

/// The signature first, and then the format: what its signer did not sign is invalid, whatever it says.
fn check_decision(object: Object, trusted: &[SignerId]) -> Verification {
    let verification = verify_document(&object, trusted);
    match (&verification.answer, DecisionReceipt::from_document(Json::Object(object))) {
        (SignatureStatus::Valid, Err(error)) => {
            let (code, message) = (error.code(), error.to_string());
            let answer = SignatureStatus::Undecidable(UndecidableCause::Format { code, message });
            Verification { answer, trust: Trust::Unknown, signer: None, hint: None }
        }
        (SignatureStatus::Valid | SignatureStatus::Invalid(_) | SignatureStatus::Undecidable(_), _) => verification,
    }
}

impl Checked {
    /// The answer as a document; `source` says what was checked.
    #[must_use]
    pub fn to_json(&self, source: &str) -> Json {
        let Verification { answer, trust, signer, hint } = &self.verification;
        let mut object = Object::new();
        object.insert("document", self.kind);
        object.insert("source", source);
        object.insert("answer", answer.as_str());
        object.insert("trust", trust.as_str());
        if let Some(code) = answer.code() {
            object.insert("cause", code);
        }
        if let Some(cause) = answer.cause() {
            object.insert("message", cause);
        }
        if let Some(signer) = signer {
            object.insert("signer_id", signer.to_string());
        }
        if let Some(profile) = hint {
            object.insert("would_verify_under", profile.as_str());
        }
        object.into()
    }
}
