//! Objects with names that the issuer of a document chose.

use proofmark_receipt::{Json, Object, Timestamp};

use crate::{Kind, Said, Section, Statement};

/// Members of metadata that have a statement of their own, or that say the same of every receipt.
pub(crate) const SAID: [&str; 24] = [
    "approval",
    "chain_position",
    "comparison",
    "counter_run",
    "decided",
    "environment",
    "evidence",
    "execution_ms",
    "fault",
    "isolation",
    "issuer_key",
    "kind",
    "language",
    "previous_receipt",
    "previous_receipt_hash",
    "prompt_digest",
    "request",
    "runtime",
    "sandbox",
    "strength",
    "structural",
    "suite",
    "supersedes",
    "verifier",
];

/// The members of an object but these, under a heading.
pub(crate) fn members(heading: &'static str, object: Option<&Object>, but: &[&str]) -> Section {
    let members = object.into_iter().flat_map(Object::iter);
    let shown = members.filter(|(name, value)| !but.contains(name) && !is_empty(value));
    Said(shown.map(|(name, value)| member(name, value)).collect()).under(Some(heading))
}

fn is_empty(value: &Json) -> bool {
    value.as_array().is_some_and(<[Json]>::is_empty) || value.as_object().is_some_and(Object::is_empty)
}

fn member(name: &str, value: &Json) -> Statement {
    let (value, kind) = match (value.as_str().or_else(|| reviewer(name, value)), time(name, value)) {
        (Some(text), _) if (name.ends_with("_hash") || name == "shown") => (text.to_owned(), Kind::Digest),
        (Some(text), _) if name == "decision_id" => (text.to_owned(), Kind::Decision),
        (Some(text), _) => (text.to_owned(), Kind::Words),
        (None, Some(time)) => (time, Kind::Words),
        (None, None) => (value.to_text(), Kind::Data),
    };
    Statement { name: Some(name.replace('_', " ")), value, kind }
}

/// A reviewer is called by the id.
fn reviewer<'a>(name: &str, value: &'a Json) -> Option<&'a str> {
    value.as_object().filter(|_| name == "reviewer")?.get("id")?.as_str()
}

/// A number of milliseconds is a moment.
fn time(name: &str, value: &Json) -> Option<String> {
    let milliseconds = value.as_number().filter(|_| name.ends_with("_ms"))?.as_str().parse().ok()?;
    Some(Timestamp::from_unix_millis(milliseconds).to_string())
}
