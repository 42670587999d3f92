//! Documents, keys and data that the tests share.

use proofmark_interop::{Decision, Document};
use proofmark_receipt::{
    Detail, Draft, Hashes, Json, Object, Receipt, ReceiptId, Results, Sha256Digest, SignerId, SigningKey, Status,
    Timestamp, Verdict, object, sign_document,
};
use proofmark_testing::conformance;

/// The key of the issuer of the data.
pub(crate) fn issuer() -> SigningKey {
    SigningKey::from_seed([1; 32])
}

/// Another key of the data.
pub(crate) fn second() -> SigningKey {
    SigningKey::from_seed([2; 32])
}

/// The key of the log of the data.
pub(crate) fn log() -> SigningKey {
    SigningKey::from_seed([3; 32])
}

/// A draft of a receipt with this verdict and metadata.
pub(crate) fn draft(verdict: Verdict, metadata: Object) -> Draft {
    let details = match verdict {
        Verdict::Pass => vec![Detail::new("one", Status::Pass), Detail::new("two", Status::Pass)],
        Verdict::Fail | Verdict::Error => vec![Detail::new("one", Status::Error)],
        Verdict::Partial => vec![Detail::new("one", Status::Pass), Detail::new("two", Status::Fail)],
    };
    Draft {
        receipt_id: ReceiptId::from_random_bytes([7; 16]),
        verified_at: Timestamp::from_unix_millis(1_771_461_960_123),
        tier: 0,
        verdict,
        task: None,
        results: Results::from_details(details),
        hashes: Hashes {
            specification: Sha256Digest::of(b"specification"),
            output: Sha256Digest::of(b"output"),
            tests: Some(Sha256Digest::of(b"tests")),
        },
        metadata,
    }
}

/// A receipt with this verdict, of the issuer.
pub(crate) fn receipt(verdict: Verdict) -> Receipt {
    draft(verdict, Object::new()).sign(&issuer()).unwrap()
}

/// A decision of the issuer, with the members that exports read.
pub(crate) fn decision(allows: bool) -> Document {
    let mut document = object! {
        "receipt_type": "verifiedx_decision_receipt",
        "decision_id": "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "outcome": if allows { "allow" } else { "replan_required" },
        "safe_to_execute": allows,
        "metadata": object! { "chain_position": 0 },
        "binding": object! {
            "action_hash": Sha256Digest::of(b"action").to_string(),
            "policy_hash": Sha256Digest::of(b"policy").to_string(),
            "decided_at": "2026-02-19T00:46:00.000Z",
        },
    };
    sign_document(&mut document, &issuer()).unwrap();
    Decision::read(document).unwrap().into()
}

/// A file of the data; `None` after a skip.
pub(crate) fn data(name: &str) -> Option<Vec<u8>> {
    Some(std::fs::read(conformance(name)?).unwrap())
}

/// A file of the data, as JSON; `None` after a skip.
pub(crate) fn json(name: &str) -> Option<Json> {
    Some(Json::parse(&data(name)?).unwrap())
}

/// The cases of a file of the data.
pub(crate) fn cases(file: &Json) -> impl Iterator<Item = &Object> {
    file.as_object().unwrap().get("cases").unwrap().as_array().unwrap().iter().map(|case| case.as_object().unwrap())
}

/// A text in a case.
pub(crate) fn text<'a>(case: &'a Object, name: &str) -> &'a str {
    case.get(name).and_then(Json::as_str).unwrap_or_else(|| panic!("no `{name}` in {case:?}"))
}

/// A public key in a file of the data.
pub(crate) fn public_key(name: &str) -> Option<SignerId> {
    Some(SignerId::from_public_pem(&String::from_utf8(data(name)?).unwrap()).unwrap())
}

/// The bytes of pairs of hex digits.
pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Exactly 32 of them.
pub(crate) fn hash(hex: &str) -> [u8; 32] {
    bytes(hex).try_into().unwrap()
}
