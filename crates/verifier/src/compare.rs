//! What differs between two receipts of one request: nothing should but ids and times.

use proofmark_receipt::document::shown;
use proofmark_receipt::{Json, Object, Receipt};

/// The most differences that are named.
const MAX_NAMED: usize = 20;

/// Members that are different in every receipt: its id, its times, its place in a chain, and its signature.
const ALWAYS_DIFFERENT: [&str; 10] = [
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

/// Where two receipts of one request differ, but for what is different in every receipt: each place with both values.
/// Equal answers give none.
#[must_use]
pub fn differences(old: &Receipt, new: &Receipt) -> Vec<String> {
    let mut found = Vec::new();
    compare("", old.document(), new.document(), &mut found);
    found.truncate(MAX_NAMED);
    found
}

fn compare(at: &str, old: &Json, new: &Json, found: &mut Vec<String>) {
    if found.len() > MAX_NAMED {
        return;
    }
    match (old, new) {
        (Json::Object(old), Json::Object(new)) => compare_members(at, old, new, found),
        (Json::Array(left), Json::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                compare(&format!("{at}[{index}]"), left, right, found);
            }
        }
        (_, _) if old.to_text() == new.to_text() => {}
        (_, _) => found.push(format!("`{at}` was {} and is {}", value(old), value(new))),
    }
}

fn compare_members(at: &str, old: &Object, new: &Object, found: &mut Vec<String>) {
    let own = |name: &str| ALWAYS_DIFFERENT.contains(&name);
    let path = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    for (name, was) in old.iter().filter(|(name, _)| !own(name)) {
        match new.get(name) {
            Some(is) => compare(&path(name), was, is, found),
            None => found.push(format!("`{}` was {} and is absent", path(name), value(was))),
        }
    }
    for (name, is) in new.iter().filter(|(name, _)| !own(name) && !old.contains(name)) {
        found.push(format!("`{}` was absent and is {}", path(name), value(is)));
    }
}

fn value(json: &Json) -> String {
    shown(&json.to_text())
}
