//! Where two receipts of one request differ: they should only in ids and times.

use proofmark_evidence::difference::{self, Difference};
use proofmark_receipt::{Json, Receipt};

/// The most differences that are named.
const MAX_NAMED: usize = 20;

/// Members that are different in every receipt: its id, its times, its place in a chain, and its signature.
const UNIQUE: [&str; 10] = [
    "receipt_id",
    "verified_at",
    "signature",
    "execution_ms",
    "elapsed_ms",
    "previous_receipt",
    "previous_receipt_hash",
    "chain_position",
    "supersedes",
    "issuer_key",
];

/// Where two receipts of one request differ, apart from members that are different in every receipt: each place with both
/// values.
#[must_use]
pub fn differences(old: &Receipt, new: &Receipt) -> Vec<String> {
    let (Json::Object(old), Json::Object(new)) = (old.document(), new.document()) else { return Vec::new() };
    let unique = |place: &str| UNIQUE.contains(&place.rsplit('.').next().unwrap_or(place));
    difference::differences(old, new, MAX_NAMED, &unique).iter().map(describe).collect()
}

fn describe(difference: &Difference) -> String {
    let at = &difference.at;
    match (&difference.first, &difference.second) {
        (Some(old), Some(new)) => format!("`{at}` was {old} and is {new}"),
        (Some(old), None) => format!("`{at}` was {old} and is absent"),
        (None, Some(new)) => format!("`{at}` was absent and is {new}"),
        (None, None) => format!("`{at}` is absent"),
    }
}
