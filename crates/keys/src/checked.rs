//! Verifies signed documents: receipts and decision receipts.

use proofmark_boundary::DecisionReceipt;
use proofmark_evidence::{Capability, Signers, shown_of};
use proofmark_passkey::approved;
use proofmark_receipt::{
    ChainHead, InvalidCause, Json, Object, Profile, Receipt, ReceiptError, SignatureStatus, SignerId, Timestamp, Trust,
    UndecidableCause, Verification, object, verify_document, verify_receipt,
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
pub fn check_document(bytes: &[u8], profile: Profile, signers: &Signers) -> Checked {
    match Json::parse(bytes) {
        Ok(Json::Object(object)) if DecisionReceipt::claimed_by(&object) => check_decision(object, signers),
        Ok(Json::Object(object)) if SessionDocument::claimed_by(&object) => {
            let trusted = signers.of(Capability::Decision, dated(&object, "at").as_ref());
            let verification = signers.judged(verify_document(&object, &trusted));
            Checked { kind: "session_entry", verification, claims: None }
        }
        Ok(document) => check_receipt(Receipt::from_document(document), profile, signers),
        Err(error) => check_receipt(Err(error.into()), profile, signers),
    }
}

/// Verifies a decision receipt, whose signer has to be trusted for decisions at the time that it states.
#[must_use]
pub fn verify_decision(receipt: &DecisionReceipt, trusted: &Signers) -> Verification {
    trusted.judged(receipt.verify(&decision_signers(receipt, trusted)))
}

/// Who may vouch for a decision of the time that this receipt states.
#[must_use]
pub fn decision_signers(receipt: &DecisionReceipt, trusted: &Signers) -> Vec<SignerId> {
    let decided_at = receipt.bound("decided_at").and_then(|text| text.parse().ok());
    trusted.of(Capability::Decision, decided_at.as_ref())
}

/// Verifies the signed end of a chain, whose signer has to be trusted for what chains have at the time that it states.
#[must_use]
pub fn verify_head(head: &ChainHead, trusted: &Signers) -> Verification {
    trusted.judged(head.verify(&trusted.of_head(head.signed_at().as_ref())))
}

fn dated(document: &Object, name: &str) -> Option<Timestamp> {
    document.get(name)?.as_str()?.parse().ok()
}

fn check_receipt(receipt: Result<Receipt, ReceiptError>, profile: Profile, trusted: &Signers) -> Checked {
    let (verification, claims) = match receipt {
        Ok(receipt) => {
            let verification = verify_receipt(&receipt, profile, &trusted.of_receipt(&receipt));
            let verification = with_approval(&receipt, trusted.judged(verification));
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
fn check_decision(object: Object, trusted: &Signers) -> Checked {
    let binding = object.get("binding").and_then(Json::as_object);
    let decided_at = binding.and_then(|binding| dated(binding, "decided_at"));
    let verification = verify_document(&object, &trusted.of(Capability::Decision, decided_at.as_ref()));
    let verification = trusted.judged(verification);
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
    /// What its signer has to be trusted for; `None` where the document does not say what it is.
    #[must_use]
    pub fn capability(&self) -> Option<Capability> {
        match &self.claims {
            Some(Claims::Receipt(claims)) => claims.kind.map(Capability::of_kind),
            Some(Claims::Decision(_)) => Some(Capability::Decision),
            None => (self.kind == "session_entry").then_some(Capability::Decision),
        }
    }

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
