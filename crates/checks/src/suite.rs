//! A suite of tests, as a request asks for it.

use std::sync::Arc;
use std::time::Duration;

use proofmark_receipt::json::Json;
use proofmark_receipt::{Object, Status};

use crate::compare::Tolerance;
use crate::fences;
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
    /// The packages installed on the host that its programs may import.
    pub packages: Vec<String>,
    /// Whether the submission may be Markdown with the program in a fenced code block.
    pub strip_fences: bool,
    /// Whether a check that the submission would decide is an error.
    pub verifier_decides: bool,
}

impl Suite {
    /// The program in a submission: without a byte order mark, and where the suite says so without the Markdown around it.
    ///
    /// # Errors
    /// Why the submission has no program, for the checks' messages.
    pub(crate) fn program<'a>(&self, submission: &'a str) -> Result<&'a str, String> {
        let text = without_mark(submission);
        if self.strip_fences { fences::program(text, self.language) } else { Ok(text) }
    }

    /// What may be wrong with a submission that gave no answer.
    pub(crate) fn hint(&self, submission: &str) -> Option<&'static str> {
        let fenced = !self.strip_fences && fences::begins_with_fence(without_mark(submission));
        fenced.then_some("the submission begins with a Markdown fence; write `strip_fences: true` in the suite")
    }
}

/// Without the byte order mark that editors put at the beginning of a file.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// How a submission is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A function of it is called with JSON arguments.
    Call {
        /// The name of a function or a class, or of a method as in `Account.deposit`: plain identifiers of the language.
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
    /// The keyword arguments of the call.
    pub kwargs: Object,
    /// What the object is constructed with whose method is called: JSON text of `{"args": […], "kwargs": {…}}`.
    pub construct: Option<Arc<str>>,
    /// What the right answer is.
    pub expected: Expected,
    /// The time it asks for.
    pub timeout: Option<Duration>,
    /// By how much numbers may differ, at most.
    pub tolerance: Option<Tolerance>,
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
    /// That the call or the expression ends with an exception.
    Raises(Raises),
}

/// The exception that a test expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raises {
    /// The name of its type or of a type that it is derived from.
    pub kind: String,
    /// What its text must contain.
    pub contains: Option<String>,
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
    /// Shows the inputs of no check, and no text or time that reveals them. Requires a salt: without one the digests reveal them.
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
