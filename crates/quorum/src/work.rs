//! Whether receipts are of the same work.

use proofmark_receipt::{Hashes, Json, Object, Receipt, Sha256Digest};

use crate::challenge::Challenge;

/// The field in which a receipt is of other work than `hashes`, if it is.
pub(crate) fn other_work(found: &Hashes, hashes: &Hashes) -> Option<&'static str> {
    match () {
        () if found.specification != hashes.specification => Some("hashes.specification"),
        () if found.output != hashes.output => Some("hashes.output"),
        () => None,
    }
}

/// `hashes.tests` of all receipts, where all have the same.
pub(crate) fn common_tests<'r>(receipts: impl IntoIterator<Item = &'r Receipt>) -> Option<Sha256Digest> {
    let mut tests = receipts.into_iter().map(|receipt| receipt.hashes().tests);
    let first = tests.next()??;
    tests.all(|other| other == Some(first)).then_some(first)
}

/// Whether metadata has the challenge, if there is one.
pub(crate) fn repeats(metadata: &Object, challenge: Option<Challenge>) -> bool {
    challenge.is_none_or(|challenge| {
        metadata.get("challenge").and_then(Json::as_str) == Some(challenge.to_string().as_str())
    })
}
