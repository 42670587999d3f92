//! What the right answer of a check is, once it is known.

use super::check::Check;
use super::{End, Expected, Test, Value};
use crate::language::Language;
use crate::render::render;
use crate::suite::{Raises, TextRule};

/// The right answer of a check.
pub(super) enum Wanted<'a> {
    /// A value, compared as the language does.
    Value(Value),
    /// A JSON document as the language reads it.
    Json(Value),
    /// Standard output.
    Text(&'a str, TextRule),
    /// An exception.
    Raises(&'a Raises),
}

impl Wanted<'_> {
    /// The answer as text, in the notation the check is written in.
    pub(super) fn shown(&self, language: Language) -> String {
        match self {
            Wanted::Value(value) => render(value, language.notation()),
            Wanted::Json(value) => render(value, language.json_notation()),
            Wanted::Text(text, _) => (*text).to_owned(),
            Wanted::Raises(Raises { kind, contains: None }) => format!("raises {kind}"),
            Wanted::Raises(Raises { kind, contains: Some(text) }) => {
                format!("raises {kind} with {} in its text", render(&Value::Text(text.clone()), language.notation()))
            }
        }
    }
}

/// The right answer of `test`, or the verifier's error where it cannot be known.
pub(super) fn wanted<'a>(language: Language, test: &'a Test, end: Option<&End>) -> Result<Wanted<'a>, Box<Check>> {
    match (&test.expected, end) {
        (Expected::Json(json), _) => Ok(Wanted::Json(Value::from_json(json, language.rules().integers))),
        (Expected::Text(text, rule), _) => Ok(Wanted::Text(text, *rule)),
        (Expected::Value(value), _) => Ok(Wanted::Value(value.clone())),
        (Expected::Raises(raises), _) => Ok(Wanted::Raises(raises)),
        (Expected::Expression(_), Some(End::Value(wire))) => match Value::decode(wire) {
            Ok(value) => Ok(Wanted::Value(value)),
            Err(error) => Err(Box::new(unusable(&error.to_string()))),
        },
        // This is never the submission's fault: the process that evaluated it has not loaded the submission.
        (Expected::Expression(_), Some(end)) => Err(Box::new(failed(end))),
        (Expected::Expression(_), None) => {
            Err(Box::new(Check::broken("the expected value was not evaluated; run the request again")))
        }
    }
}

fn failed(end: &End) -> Check {
    match end {
        End::Raised { kind, text, .. } => unusable(&format!("it raised {kind}: {text}")),
        End::Timeout | End::TotalTimeout => unusable("it ran out of time"),
        End::MemoryLimit => unusable("it ran out of memory"),
        End::OutputLimit => unusable("it is larger than `limits.output_bytes`"),
        End::Signal(number) => unusable(&format!("its process was killed by signal {number}")),
        End::Exit(status) => unusable(&format!("its process ended with exit status {status}")),
        End::NoAnswer(why) => unusable(why),
        // The host's own words, which hold nothing of the expression.
        End::Unavailable(why) => Check::broken(why),
        End::Value(_) | End::Text(_) | End::Ran { .. } => {
            Check::broken("the sandbox gave text instead of a value; run the request again")
        }
    }
}

fn unusable(why: &str) -> Check {
    const HIDDEN: &str = "the expected value cannot be used";
    // The reason may hold the expression.
    let message = format!("{HIDDEN}: {why}; correct the expression; a string in it has its own quotes, as in `'text'`");
    Check { hidden: Some(HIDDEN), ..Check::broken(&message) }
}
