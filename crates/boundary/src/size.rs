//! How large facts are, for the budget.

use proofmark_receipt::{Json, Object};

/// Steps that copying and reading one value of the facts counts as.
pub(crate) const STEPS_PER_VALUE: u64 = 4;

/// How many values an object holds, for the budget.
fn values(object: &Object) -> u64 {
    object.iter().map(|(_, value)| size(value)).sum()
}

/// How many values a value holds, itself included.
pub(crate) fn size(json: &Json) -> u64 {
    match json {
        Json::Object(object) => 1 + values(object),
        Json::Array(items) => 1 + items.iter().map(size).sum::<u64>(),
        Json::String(text) => 1 + text.len() as u64 / 16,
        Json::Null | Json::Bool(_) | Json::Number(_) => 1,
    }
}
