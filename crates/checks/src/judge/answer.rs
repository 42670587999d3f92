//! The status of one check, given the answer of the submission.

use super::check::Check;
use super::expected::Wanted;
use super::{End, Test, Value, hint, text};
use crate::compare::{equal, not_json};
use crate::language::Language;
use crate::render::{JSON, render};
use crate::suite::Raises;
use crate::value::ValueError;

/// Judges how the submission ended against the right answer.
pub(super) fn check(language: Language, test: &Test, wanted: &Wanted<'_>, end: &End) -> Check {
    let check = match (wanted, end) {
        (Wanted::Value(wanted), End::Value(wire)) => judge_value(wire, |value| {
            let right = equal(&value, wanted, language.rules(), test.tolerance);
            Check::answered(right, render(&value, language.notation()), None)
        }),
        (Wanted::Json(wanted), End::Value(wire)) => {
            judge_value(wire, |value| judge_json(language, test, wanted, &value))
        }
        (Wanted::Text(wanted, rule), End::Text(output)) => {
            // Compared as bytes and shown as text: two outputs that are not UTF-8 may look the same.
            let right = text::equal(output, wanted, *rule);
            let message = std::str::from_utf8(output).is_err().then(|| "the output is not UTF-8".to_owned());
            Check::answered(right, String::from_utf8_lossy(output).into_owned(), message)
        }
        (Wanted::Raises(raises), End::Value(wire)) => raised_nothing(language, raises, wire),
        (Wanted::Raises(raises), End::Raised { kind, text, types }) if !types.is_empty() => {
            judge_exception(raises, text, types, told(kind, text))
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
        (_, end) => Check::unanswered(unanswered(end)),
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
    match not_json(value) {
        None => {
            let right = equal(value, wanted, language.rules().as_json(), test.tolerance);
            Check::answered(right, render(value, &JSON), hint::json_in_text(language, test, value))
        }
        Some(name) => {
            let message =
                format!("the answer holds a {name}, which JSON has not; answer with arrays, objects and plain values");
            // JSON has no notation for it, so it is shown as its language writes it.
            Check::answered(false, render(value, language.notation()), Some(message))
        }
    }
}

/// Judges a call that returned where it should have raised an exception.
fn raised_nothing(language: Language, raises: &Raises, wire: &[u8]) -> Check {
    let message = Some(format!("it did not raise {}", raises.kind));
    match Value::decode(wire) {
        Ok(value) => Check::answered(false, render(&value, language.notation()), message),
        // Not an error: whatever was returned, nothing was raised.
        Err(ValueError::Unsupported(name)) => Check::answered(false, format!("a value of the type `{name}`"), message),
        Err(error) => Check::unanswered(error.to_string()),
    }
}

/// Judges an exception by the names of its type and of the types that one is derived from.
fn judge_exception(raises: &Raises, text: &str, types: &[String], actual: String) -> Check {
    // Ruby's names hold those of the modules around them.
    let is_kind = |name: &String| name.rsplit("::").next() == Some(raises.kind.as_str());
    match &raises.contains {
        _ if !types.iter().any(is_kind) => Check::answered(false, actual, Some(format!("it is not a {}", raises.kind))),
        Some(part) if !text.contains(part) => {
            Check::answered(false, actual, Some("its text does not contain what is expected".to_owned()))
        }
        Some(_) | None => Check::answered(true, actual, None),
    }
}

/// An exception as messages show it.
fn told(kind: &str, text: &str) -> String {
    if text.is_empty() { kind.to_owned() } else { format!("{kind}: {text}") }
}

/// Why there is no answer.
pub(super) fn unanswered(end: &End) -> String {
    match end {
        End::Raised { kind, text, .. } => told(kind, text),
        End::Timeout => "timeout: no answer within the time of the check".to_owned(),
        End::TotalTimeout => "timeout: no answer within the time of all checks together".to_owned(),
        End::MemoryLimit => "memory limit: it needs more than `limits.memory_mb`".to_owned(),
        End::OutputLimit => "output limit: it wrote more than `limits.output_bytes`".to_owned(),
        End::Signal(number) => format!("killed by {}", signal(*number)),
        End::Exit(status) => format!("ended with exit status {status}"),
        End::NoAnswer(why) => why.clone(),
        End::Value(_) | End::Text(_) | End::Ran { .. } | End::Unavailable(_) => "no answer".to_owned(),
    }
}

fn signal(number: i32) -> String {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return format!("signal {number}"),
    };
    format!("signal {number} ({name})")
}
