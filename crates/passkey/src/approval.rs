//! What a passkey signs, and what the receipt of an approval proves about it.

use proofmark_receipt::{Json, Object, Receipt, Sha256Digest, object};

use crate::assertion::{Assertion, AssertionError, challenge_text};
use crate::passkey::Passkey;

/// The member of `metadata.approval` that keeps the assertion.
const MEMBER: &str = "passkey";

/// An approval that a passkey has signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approved {
    pub passkey: Passkey,
    /// SHA-256 of what was signed: the identity of the approval, whoever signed a receipt around it.
    pub statement: Sha256Digest,
    /// The signature counter of the authenticator.
    pub counter: u32,
}

/// What a passkey signs of a receipt: `{receipt_id, verified_at, hashes, approval}`, without the assertion itself. `None` where one
/// of these is missing.
#[must_use]
pub fn statement(receipt: &Object) -> Option<Object> {
    let mut approval = receipt.get("metadata")?.as_object()?.get("approval")?.as_object()?.clone();
    approval.remove(MEMBER);
    Some(object! {
        "receipt_id": receipt.get("receipt_id")?.clone(),
        "verified_at": receipt.get("verified_at")?.clone(),
        "hashes": receipt.get("hashes")?.clone(),
        "approval": approval,
    })
}

/// The challenge by which an authenticator signs a statement, as WebAuthn writes it: SHA-256 of its canonical form, in base64url.
#[must_use]
pub fn challenge(statement: &Object) -> String {
    challenge_text(&Sha256Digest::of(&statement.canonical_vrf()))
}

/// The passkey that has signed the approval in a receipt; `None` where the receipt names none.
///
/// # Errors
/// [`AssertionError`] where it names one that has not signed exactly this.
pub fn approved(receipt: &Receipt) -> Result<Option<Approved>, AssertionError> {
    let approval = receipt.metadata().get("approval").and_then(Json::as_object);
    let Some(kept) = approval.and_then(|approval| approval.get(MEMBER)) else { return Ok(None) };
    let kept = kept.as_object().ok_or(AssertionError::Malformed)?;
    let passkey: Passkey =
        kept.get("key").and_then(|key| key.as_str()?.parse().ok()).ok_or(AssertionError::Malformed)?;
    let assertion = Assertion::read(kept)?;
    let statement = receipt.document().as_object().and_then(statement).ok_or(AssertionError::Malformed)?;
    let statement = Sha256Digest::of(&statement.canonical_vrf());
    assertion.verify(&passkey, &statement)?;
    Ok(Some(Approved { passkey, statement, counter: assertion.counter() }))
}
