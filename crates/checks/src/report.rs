//! The reports of test runners. They are written by the process of the submission, so they are read as hostile text:
//! one that is cut, empty or contradicts itself does not count.

mod junit;
mod tap;

use proofmark_receipt::{Detail, Status};

use crate::caps::{MAX_NAME_CHARS, MAX_TESTS};
use crate::reporting::ReportForm;

/// The message of a file or a suite that ended well without testing anything.
pub(crate) const NO_TESTS: &str = "it ran no tests";

/// Why a report does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ReportError(String);

/// One test as a report has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reported {
    pub(crate) name: String,
    pub(crate) status: Status,
    pub(crate) message: Option<String>,
    pub(crate) elapsed_ms: Option<u64>,
    /// Whether nothing was tested: skipped, still to do, expected to fail, or without tests of its own.
    pub(crate) skipped: bool,
    /// Whether the report has tests inside of it.
    pub(crate) holds_tests: bool,
}

impl Reported {
    /// Makes it a test that tested nothing, which is not a pass.
    pub(crate) fn skip(&mut self, why: &str) {
        self.status = Status::Error;
        self.skipped = true;
        self.message = Some(format!("skipped: {why}"));
    }
}

/// The tests of a report of this form.
pub(crate) fn read(form: ReportForm, bytes: &[u8]) -> Result<Vec<Reported>, ReportError> {
    // Lossy, for the structure of both forms is ASCII: other bytes can only spoil names and messages.
    let text = String::from_utf8_lossy(bytes);
    let begins = beginning(&text);
    match form {
        ReportForm::JUnit if begins.starts_with('<') => junit::read(begins).and_then(checked),
        ReportForm::Tap if tap::begins(&text) => tap::read(&text).and_then(checked),
        ReportForm::JUnit => Err(bad("the report is cut, or not JUnit XML")),
        ReportForm::Tap => Err(bad("the report is cut, or not TAP")),
    }
}

/// The tests of a report file, which may be in either form.
pub(crate) fn read_file(bytes: &[u8]) -> Result<Vec<Reported>, ReportError> {
    let text = String::from_utf8_lossy(bytes);
    match (beginning(&text).starts_with('<'), tap::begins(&text)) {
        (true, _) => read(ReportForm::JUnit, bytes),
        (false, true) => read(ReportForm::Tap, bytes),
        (false, false) => Err(bad("the report is cut, or neither JUnit XML nor TAP")),
    }
}

fn beginning(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim_start()
}

fn bad(why: impl Into<String>) -> ReportError {
    ReportError(why.into())
}

fn checked(tests: Vec<Reported>) -> Result<Vec<Reported>, ReportError> {
    match tests.len() {
        0 => Err(bad("the report holds no tests")),
        1..=MAX_TESTS => Ok(tests),
        _ => Err(bad(format!("the report holds more than {MAX_TESTS} tests"))),
    }
}

/// What the receipt says of a test.
pub(crate) fn detail(index: usize, test: Reported) -> Detail {
    let name: String = test.name.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    Detail {
        elapsed_ms: test.elapsed_ms,
        message: test.message.map(|message| message.trim_end().to_owned()),
        ..Detail::new(if name.trim().is_empty() { format!("test {}", index + 1) } else { name }, test.status)
    }
}
