//! The reports of test runners. They are written by the process of the submission, so they are read as hostile text:
//! one that is cut, empty or contradicts itself does not count.

mod excerpt;
mod junit;
mod tap;

use proofmark_receipt::{Detail, Status};

use crate::caps::{MAX_NAME_CHARS, MAX_TESTS};
use crate::job::{PROJECT_FOLDER, ProjectFile};
use crate::reporting::{ReportForm, Runner};
pub(crate) use excerpt::Excerpts;
use excerpt::Sources;

/// The message of a file or a suite that ended well without testing anything.
const NO_TESTS: &str = "it ran no tests";
/// How the message of a skipped test begins where there is a reason.
const SKIPPED_FOR: &str = "skipped: ";
/// The longest reason of a skipped test that is kept, in characters.
const MAX_REASON_CHARS: usize = 200;
/// How deep tests, or the elements of a report, may nest.
const MAX_DEPTH: usize = 32;
/// What stands between the names of a test and of the tests that hold it.
const INSIDE: &str = " > ";

/// Why a report does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ReportError(String);

/// One test as a report has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reported {
    pub(crate) name: String,
    pub(crate) status: Status,
    pub(crate) tested: Tested,
    pub(crate) excerpts: Excerpts,
    pub(crate) elapsed_ms: Option<u64>,
}

/// Whether a reported test tested anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tested {
    Yes,
    /// It was skipped, is still to do, or was expected to fail.
    Skipped,
    /// It is a file or a suite without tests.
    Nothing,
}

impl Reported {
    pub(crate) fn new(name: impl Into<String>, status: Status) -> Reported {
        Reported { name: name.into(), status, tested: Tested::Yes, excerpts: Excerpts::default(), elapsed_ms: None }
    }

    /// A test that was to run and of which the report has nothing.
    pub(crate) fn missing(name: &str) -> Reported {
        let message = Some("the report has no test of this name".to_owned());
        Reported { excerpts: Excerpts { message, ..Excerpts::default() }, ..Reported::new(name, Status::Fail) }
    }

    /// Makes it a test that was skipped, which is not a pass.
    pub(crate) fn skip(&mut self, why: &str) {
        let why = why.trim();
        let message = if why.is_empty() { "skipped".to_owned() } else { format!("{SKIPPED_FOR}{why}") };
        self.not_tested(Tested::Skipped, message);
    }

    /// Makes it a file or a suite without tests, which is not a pass.
    pub(crate) fn no_tests(&mut self) {
        self.not_tested(Tested::Nothing, NO_TESTS.to_owned());
    }

    fn not_tested(&mut self, tested: Tested, message: String) {
        self.status = Status::Error;
        self.tested = tested;
        self.excerpts = Excerpts { message: Some(message), ..Excerpts::default() };
    }
}

/// The tests of a report of this form that the runner wrote, of a run in a project of these files.
pub(crate) fn read(
    form: ReportForm,
    bytes: &[u8],
    files: &[ProjectFile],
    runner: Option<Runner>,
) -> Result<Vec<Reported>, ReportError> {
    // A lossy text is enough, for the structure of both forms is ASCII: other bytes can only spoil names and messages.
    let text = String::from_utf8_lossy(bytes);
    let begins = beginning(&text);
    let sources = Sources(files);
    match form {
        ReportForm::JUnit if begins.starts_with('<') => junit::read(begins, sources).and_then(checked),
        ReportForm::Tap if tap::begins(&text) => tap::read(&text, sources, runner).and_then(checked),
        ReportForm::JUnit => Err(bad("the report is cut, or not JUnit XML")),
        ReportForm::Tap => Err(bad("the report is cut, or not TAP")),
    }
}

/// The tests of a report file, which may be in either form.
pub(crate) fn read_file(
    bytes: &[u8],
    files: &[ProjectFile],
    runner: Option<Runner>,
) -> Result<Vec<Reported>, ReportError> {
    let text = String::from_utf8_lossy(bytes);
    match (beginning(&text).starts_with('<'), tap::begins(&text)) {
        (true, _) => read(ReportForm::JUnit, bytes, files, runner),
        (false, true) => read(ReportForm::Tap, bytes, files, runner),
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
        _ => Err(too_many()),
    }
}

fn too_many() -> ReportError {
    bad(format!("the report holds more than {MAX_TESTS} tests"))
}

/// The name of a test as the receipt has it: without control characters, and of at most [`MAX_NAME_CHARS`].
pub(crate) fn name(index: usize, name: &str) -> String {
    let below = name.strip_prefix(PROJECT_FOLDER).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name);
    let name: String = below.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    if name.trim().is_empty() { format!("test {}", index + 1) } else { name }
}

/// A test of a project that did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedTest {
    pub name: String,
    /// Why, as the report has it: the first line, of at most 200 characters.
    pub reason: Option<String>,
}

/// A skipped test that does not count as a check.
pub(crate) fn skipped(index: usize, test: &Reported) -> SkippedTest {
    let why = test.excerpts.message.as_deref().and_then(|message| message.strip_prefix(SKIPPED_FOR));
    let line = why.and_then(|why| why.lines().next()).unwrap_or_default();
    let reason: String = line.chars().filter(|c| !c.is_control()).take(MAX_REASON_CHARS).collect();
    SkippedTest { name: name(index, &test.name), reason: Some(reason).filter(|reason| !reason.is_empty()) }
}

/// What the receipt says of a test.
pub(crate) fn detail(index: usize, test: Reported) -> Detail {
    let Excerpts { message, difference, expected, actual, location, stdout, stderr } = test.excerpts;
    Detail {
        elapsed_ms: test.elapsed_ms,
        message: message.map(|message| message.trim_end().to_owned()),
        difference,
        expected,
        actual,
        location,
        stdout,
        stderr,
        ..Detail::new(name(index, &test.name), test.status)
    }
}
