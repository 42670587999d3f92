//! What a check's message says of a likely mistake in the suite.

use proofmark_receipt::Status;
use proofmark_receipt::json::Json;

use super::check::Check;
use super::{End, Expected, Fault, Test, Value};
use crate::compare::equal;
use crate::language::Language;
use crate::suite::{Mode, Suite};
use crate::value::ValueError;

/// The check with a hint in its message, where its submission gave no answer and the suite may be why.
pub(super) fn explained(check: Check, suite: &Suite, submission: &str, end: Option<&End>) -> Check {
    if check.status != Status::Error || check.fault != Some(Fault::Submission) {
        return check;
    }
    let hint = end.and_then(|end| class(suite, end)).or_else(|| suite.hint(submission).map(str::to_owned));
    match (check.message, hint) {
        (Some(message), Some(hint)) => Check { message: Some(format!("{message}; {hint}")), ..check },
        (message, _) => Check { message, ..check },
    }
}

/// An entrypoint that is a class returns an object, which has no value to compare.
fn class(suite: &Suite, end: &End) -> Option<String> {
    let (Mode::Call { entrypoint }, End::Value(wire)) = (&suite.mode, end) else { return None };
    match Value::decode(wire) {
        Err(ValueError::Unsupported(name)) if name == *entrypoint => {
            Some(format!("`{entrypoint}` is a class: write the method to call, as in `{entrypoint}.method`"))
        }
        Ok(_) | Err(_) => None,
    }
}

/// What to write where the expected string holds the answer as JSON.
pub(super) fn json_in_text(language: Language, test: &Test, answer: &Value) -> Option<String> {
    let Expected::Json(Json::String(text)) = &test.expected else { return None };
    let meant = Json::parse(text.as_bytes()).ok()?;
    let rules = language.rules();
    equal(answer, &Value::from_json(&meant, rules.integers), rules.as_json(), test.tolerance).then(|| {
        "the answer is the value that the expected string holds as JSON: write it without the quotes around it"
            .to_owned()
    })
}
