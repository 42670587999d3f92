//! A suite of tests, as a request asks for it.

use std::time::Duration;

use proofmark_receipt::Status;
use proofmark_receipt::json::Json;

use crate::language::Language;
use crate::value::Value;

/// A suite of tests.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// The language of the submission.
    pub language: Language,
    /// The runtime demanded, for example `python3.12`.
    pub runtime: Option<String>,
    /// How the submission is run.
    pub mode: Mode,
    /// The tests: at least one, their names all different.
    pub tests: Vec<Test>,
    pub limits: AskedLimits,
    /// What of the tests the receipt shows.
    pub reveal: Reveal,
}

/// How a submission is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A function of it is called with JSON arguments.
    Call {
        /// The name of the function, a plain identifier of the language.
        entrypoint: String,
    },
    /// Expressions are evaluated in its namespace.
    Expression,
    /// It reads standard input and writes standard output.
    Stdio,
}

/// One test of a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// Its name, unique in the suite.
    pub name: String,
    /// JSON text of the arguments, an expression, or standard input, as the [`Mode`] has it.
    pub input: String,
    /// What the right answer is.
    pub expected: Expected,
    /// The time it asks for.
    pub timeout: Option<Duration>,
    /// By how much numbers may differ, at most.
    pub tolerance: Option<f64>,
}

/// What the right answer of a test is.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// A JSON document, in the mode `call`.
    Json(Json),
    /// An expression, in the mode `expression`.
    Expression(String),
    /// The value of an expression that is a plain literal, which needs no interpreter.
    Value(Value),
    /// Standard output, in the mode `stdio`.
    Text(String, TextRule),
}

/// When standard output is the one expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRule {
    /// When the bytes are the same.
    Exact,
    /// When they are the same but for white space at the end.
    Trimmed,
    /// When the words between white space are the same.
    Tokens,
}

/// Limits as a request asks for them; `None` takes the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AskedLimits {
    /// Memory of one check, in MiB.
    pub memory_mb: Option<u32>,
    /// Wall time of one check.
    pub timeout: Option<Duration>,
    /// Wall time of all checks together.
    pub total_timeout: Option<Duration>,
    /// Output of one check, in bytes.
    pub output_bytes: Option<usize>,
    /// Processes of one check.
    pub processes: Option<u32>,
    /// Scratch disk of one check, in MiB.
    pub disk_mb: Option<u32>,
}

/// What of the tests a receipt shows; states and counts always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reveal {
    /// Expected and actual answers of every check.
    All,
    /// Those of the checks that did not pass.
    Failures,
    /// Those of no check, and no text or time that reveals them. Requires a salt: without one the digests reveal them.
    None,
}

impl Reveal {
    /// Whether a check of this status is shown.
    pub(crate) fn shows(self, status: Status) -> bool {
        match (self, status) {
            (Reveal::All, _) | (Reveal::Failures, Status::Fail | Status::Error) => true,
            (Reveal::Failures, Status::Pass) | (Reveal::None, _) => false,
        }
    }

    /// Whether the receipt says how long anything took. A submission can wait, and so tell by the time what it was given.
    pub fn shows_times(self) -> bool {
        match self {
            Reveal::All | Reveal::Failures => true,
            Reveal::None => false,
        }
    }
}
