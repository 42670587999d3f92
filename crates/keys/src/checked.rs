//! Verifies signed documents: receipts and decision receipts.

use proofmark_boundary::DecisionReceipt;
use proofmark_evidence::shown_of;
use proofmark_passkey::approved;
use proofmark_receipt::{
    InvalidCause, Json, Object, Profile, Receipt, ReceiptError, SignatureStatus, SignerId, Trust, UndecidableCause,
    Verification, object, verify_document, verify_receipt,
};

use proofmark_session::SessionDocument;

use crate::claims::Claims;

/// The verification of a document.
#[derive(Clone, Debug)]
pub struct Checked {
    /// `receipt`, `decision_receipt`, `session_entry` or `chain_head`.
    pub kind: &'static str,
    pub verification: Verification,
    /// What the document claims; nothing unless it is valid, because then nobody claims it.
    pub claims: Option<Claims>,
}

/// Verifies a receipt, a decision receipt or an entry of a session, whichever the document says it is.
pub fn check_document(bytes: &[u8], profile: Profile, trusted: &[SignerId]) -> Checked {
    match Json::parse(bytes) {
        Ok(Json::Object(object)) if DecisionReceipt::claimed_by(&object) => check_decision(object, trusted),
        Ok(Json::Object(object)) if SessionDocument::claimed_by(&object) => {
            Checked { kind: "session_entry", verification: verify_document(&object, trusted), claims: None }
        }
        Ok(document) => check_receipt(Receipt::from_document(document), profile, trusted),
        Err(error) => check_receipt(Err(error.into()), profile, trusted),
    }
}

fn check_receipt(receipt: Result<Receipt, ReceiptError>, profile: Profile, trusted: &[SignerId]) -> Checked {
    let (verification, claims) = match receipt {
        Ok(receipt) => {
            let verification = with_approval(&receipt, verify_receipt(&receipt, profile, trusted));
            let valid = verification.answer == SignatureStatus::Valid;
            (verification, valid.then(|| Claims::of_receipt(&receipt)))
        }
        Err(error) => {
            let answer = SignatureStatus::Undecidable(UndecidableCause::Malformed(error));
            (Verification { answer, trust: Trust::Unknown, signer: None, hint: None }, None)
        }
    };
    Checked { kind: "receipt", verification, claims }
}

/// An approval that names a passkey is what it says only if the passkey has signed it, too; and one that says what its reviewer was
/// shown, only if that is what it approves.
fn with_approval(receipt: &Receipt, verification: Verification) -> Verification {
    let cause = match (&verification.answer, approved(receipt)) {
        (SignatureStatus::Valid, Err(error)) => InvalidCause::Passkey(error.to_string()),
        (SignatureStatus::Valid, Ok(_)) if !is_of_what_was_shown(receipt) => InvalidCause::Shown,
        (SignatureStatus::Valid | SignatureStatus::Invalid(_) | SignatureStatus::Undecidable(_), _) => {
            return verification;
        }
    };
    Verification { answer: SignatureStatus::Invalid(cause), trust: Trust::Unknown, signer: None, hint: None }
}

fn is_of_what_was_shown(receipt: &Receipt) -> bool {
    let approval = receipt.metadata().get("approval").and_then(Json::as_object);
    let said = approval.and_then(|approval| Some((approval, approval.get("shown")?)));
    said.is_none_or(|(approval, said)| said.as_str() == Some(shown_of(approval).to_string().as_str()))
}

/// The signature first, and then the format: a document that its signer did not sign is invalid, whatever its format.
fn check_decision(object: Object, trusted: &[SignerId]) -> Checked {
    let verification = verify_document(&object, trusted);
    let (verification, claims) = match (&verification.answer, DecisionReceipt::from_document(Json::Object(object))) {
        (SignatureStatus::Valid, Ok(decision)) => (verification, Some(Claims::of_decision(&decision))),
        (SignatureStatus::Valid, Err(error)) => {
            let (code, message) = (error.code(), error.to_string());
            let answer = SignatureStatus::Undecidable(UndecidableCause::Format { code, message });
            // The signature is good, but of something else than a decision: its signer must not vouch for one.
            (Verification { answer, trust: Trust::Unknown, signer: None, hint: None }, None)
        }
        (SignatureStatus::Invalid(_) | SignatureStatus::Undecidable(_), _) => (verification, None),
    };
    Checked { kind: "decision_receipt", verification, claims }
}

impl Checked {
    /// The verification as a document; `source` names what was verified.
    #[must_use]
    pub fn to_json(&self, source: &str) -> Json {
        let Verification { answer, trust, signer, hint } = &self.verification;
        let document: Object = object! {
            "document": self.kind,
            "source": source,
            "answer": answer.as_str(),
            "trust": trust.as_str(),
            "cause"?: answer.code(),
            "message"?: answer.cause(),
            "help"?: answer.help(),
            "signer_id"?: signer.as_ref().map(SignerId::to_string),
            "claims"?: self.claims.map(Claims::to_json),
            "would_verify_under"?: hint.map(Profile::as_str),
        };
        document.into()
    }
}
