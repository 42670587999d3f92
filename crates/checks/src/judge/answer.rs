//! The status of one check, given the answer of the submission.

use proofmark_receipt::Status;

use super::cause::{Allowed, told, unanswered};
use super::check::Check;
use super::expected::Wanted;
use super::{End, Test, Value, hint, text};
use crate::compare::{equal, not_json};
use crate::difference::{self, Comparison, Difference};
use crate::language::Language;
use crate::render::render;
use crate::suite::Raises;
use crate::value::ValueError;

/// Judges how the submission ended against the right answer.
pub(super) fn check(language: Language, test: &Test, wanted: &Wanted<'_>, end: &End, allowed: Allowed) -> Check {
    let check = match (wanted, end) {
        (Wanted::Value(wanted), End::Value(wire)) => judge_value(wire, |value| {
            let by = Comparison { rules: language.rules(), tolerance: test.tolerance, notation: language.notation() };
            compared(wanted, &value, by)
        }),
        (Wanted::Json(wanted), End::Value(wire)) => {
            judge_value(wire, |value| judge_json(language, test, wanted, &value))
        }
        (Wanted::Text(wanted, rule), End::Text(output)) => {
            // Outputs are compared as bytes and shown as text: two outputs that are not UTF-8 may look the same.
            let shown = String::from_utf8_lossy(output).into_owned();
            if text::equal(output, wanted, *rule) {
                Check::right(shown)
            } else {
                let message = std::str::from_utf8(output).is_err().then(|| "the output is not UTF-8".to_owned());
                Check::wrong(shown, difference::of_texts(wanted, output, *rule), message)
            }
        }
        (Wanted::Raises(raises), End::Value(wire)) => raised_nothing(language, raises, wire),
        (Wanted::Raises(raises), End::Raised { kind, text, types, .. }) if !types.is_empty() => {
            judge_exception(raises, kind, text, types)
        }
        (Wanted::Value(_) | Wanted::Json(_) | Wanted::Raises(_), End::Text(_)) => {
            Check::broken("the sandbox gave text instead of a value; run the request again")
        }
        (Wanted::Text(..), End::Value(_)) => {
            Check::broken("the sandbox gave a value instead of text; run the request again")
        }
        (_, End::Ran { .. }) => {
            Check::broken("the sandbox ran a command it was not asked to run; run the request again")
        }
        (_, End::Unavailable(why)) => Check::broken(why),
        (_, end) => Check::unanswered(unanswered(end, allowed)),
    };
    Check { expected: Some(wanted.shown(language)), ..check }
}

fn judge_value(wire: &[u8], judge: impl FnOnce(Value) -> Check) -> Check {
    match Value::decode(wire) {
        Ok(value) => judge(value),
        // The channel is in the hands of the submission, so what cannot be read is its doing.
        Err(error) => Check::unanswered(match error.help() {
            Some(help) => format!("{error}; {help}"),
            None => error.to_string(),
        }),
    }
}

fn judge_json(language: Language, test: &Test, wanted: &Value, value: &Value) -> Check {
    let by =
        Comparison { rules: language.rules().as_json(), tolerance: test.tolerance, notation: language.json_notation() };
    match not_json(value) {
        None => match (compared(wanted, value, by), hint::json_in_text(language, test, value)) {
            (check, Some(hint)) if check.status == Status::Fail => Check { message: Some(hint), ..check },
            (check, _) => check,
        },
        Some(name) => {
            let message =
                format!("the answer holds a {name}, which JSON has not; answer with arrays, objects and plain values");
            // JSON has no notation for it, so it is shown as its language writes it.
            let by = Comparison { notation: language.notation(), ..by };
            let difference = difference::of_values(wanted, value, by).unwrap_or_default();
            Check::wrong(render(value, by.notation), difference, Some(message))
        }
    }
}

/// Judges a call that returned where it should have raised an exception.
fn raised_nothing(language: Language, raises: &Raises, wire: &[u8]) -> Check {
    let wrong = |actual| Check::wrong(actual, Difference::default(), Some(format!("it did not raise {}", raises.kind)));
    match Value::decode(wire) {
        Ok(value) => wrong(render(&value, language.notation())),
        // Not an error: whatever was returned, nothing was raised.
        Err(ValueError::Unsupported(name)) => wrong(format!("a value of the type `{name}`")),
        Err(error) => Check::unanswered(error.to_string()),
    }
}

/// Judges an exception by the names of its type and of the types that one is derived from.
fn judge_exception(raises: &Raises, kind: &str, text: &str, types: &[String]) -> Check {
    let actual = told(kind, text);
    let wrong = |actual, message: String| Check::wrong(actual, Difference::default(), Some(message));
    // The exceptions that led to it do not count.
    let own = text.split(CAUSED_BY).next().unwrap_or_default();
    // Ruby's names hold those of the modules around them.
    let is_kind = types.iter().any(|name| name.rsplit("::").next() == Some(raises.kind.as_str()));
    match &raises.contains {
        _ if !is_kind => wrong(actual, format!("raised {kind}, expected {}", raises.kind)),
        Some(part) if !own.contains(part) => wrong(actual, "its text does not contain what is expected".to_owned()),
        Some(_) | None => Check::right(actual),
    }
}

/// What stands before each exception that led to another, in the text of that one.
const CAUSED_BY: &str = "\ncaused by ";

fn compared(wanted: &Value, value: &Value, by: Comparison) -> Check {
    let shown = render(value, by.notation);
    if equal(value, wanted, by.rules, by.tolerance) {
        return Check::right(shown);
    }
    Check::wrong(shown, difference::of_values(wanted, value, by).unwrap_or_default(), None)
}
