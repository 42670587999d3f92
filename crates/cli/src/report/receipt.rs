//! Verification receipts as groups of cases.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use proofmark_evidence::Share;
use proofmark_receipt::{DecidedBy, Detail, Json, Receipt, Status as DetailStatus, Verdict};

use super::human::count;
use super::{Case, Group, Location, Status};

/// How the message of a skipped test begins.
const SKIPPED: &str = "skipped";

/// How many reasons of skipped tests the summary names, and how much of each, in characters.
const MAX_REASONS: usize = 3;
const MAX_REASON_CHARS: usize = 60;

/// How the message of a check begins that passed and may have tested nothing.
const WARNING: &str = "warning: ";

/// How many changes of the owner's tests are named.
const MAX_CHANGES: usize = 5;

/// Where the files of a request are, so that a failure can be shown in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// The folder that locations are relative to: the project's.
    pub(crate) folder: Option<PathBuf>,
    /// The file of the submission.
    pub(crate) submission: Option<PathBuf>,
    /// The file of the request, and the line where it begins.
    pub(crate) request: Option<(PathBuf, u64)>,
}

impl Places {
    /// The place that a check names, in a file of the project or in the submission.
    fn find(&self, named: &str) -> Option<Location> {
        let (file, line) = split(named);
        let file = Path::new(file);
        // The submission may have chosen the name: it points to no file outside of the project.
        let inside = file.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let in_folder = self.folder.as_ref().filter(|_| inside).map(|folder| folder.join(file));
        let path = in_folder.or_else(|| self.submission.clone().filter(|_| line.is_some()))?;
        location(&path, line)
    }

    /// The submission, or where the request begins.
    fn fallback(&self) -> Option<Location> {
        let submission = || location(self.submission.as_deref()?, None);
        submission().or_else(|| self.request.as_ref().and_then(|(path, line)| location(path, Some(*line))))
    }
}

fn location(path: &Path, line: Option<u64>) -> Option<Location> {
    let file = path.strip_prefix(".").unwrap_or(path).display().to_string();
    path.is_file().then_some(Location { file, line, column: None })
}

/// `file:line`, or only the file.
fn split(location: &str) -> (&str, Option<u64>) {
    match location.rsplit_once(':') {
        Some((file, line)) => line.parse().map_or((location, None), |line| (file, Some(line))),
        None => (location, None),
    }
}

/// The checks of a receipt. `label` names the request.
pub(crate) fn of_receipt(label: &str, receipt: &Receipt, places: &Places) -> Group {
    let results = receipt.results();
    let task = receipt.task().and_then(|task| task.task_id.as_deref().or(task.description.as_deref()));
    // The receipt may be of another issuer, whose metadata has any content: a value of another type is not shown.
    let milliseconds = receipt.metadata().get("execution_ms").and_then(Json::as_number);
    let time = milliseconds.and_then(|number| number.as_str().parse().ok()).map(Duration::from_millis);
    let duration = time.map_or_else(String::new, |time| format!(", {} ms", time.as_millis()));
    let skipped = Skipped::of(receipt).unwrap_or_default();
    let not_run = skipped.summary();
    let no_checks = skipped.tests.iter().filter_map(no_check);
    // Only a project's report says that a test was skipped; the message of another check is the submission's.
    let in_process = receipt.metadata().get("comparison").and_then(Json::as_str) == Some("in-process");
    let inside_count = results.details.iter().filter(|detail| detail.decided == Some(DecidedBy::Submission)).count();
    let inside = match inside_count {
        0 => String::new(),
        number => format!(", {number} decided by the submission"),
    };
    let strength = Share::strength_of(receipt).map_or_else(String::new, |share| format!(", strength {share}"));
    let counter_run = counter_run(receipt).unwrap_or_default();
    let total = usize::try_from(results.total).unwrap_or(usize::MAX);
    Group {
        name: task.map_or_else(|| label.to_owned(), |task| format!("{label} ({task})")),
        status: match receipt.verdict() {
            Verdict::Pass => Status::Pass,
            Verdict::Fail | Verdict::Partial => Status::Fail,
            Verdict::Error => Status::Error,
        },
        word: receipt.verdict().as_str().to_owned(),
        time,
        summary: Some(format!(
            "{} of {} passed{not_run}{inside}{counter_run}{strength}{duration}",
            results.passed,
            count(total, "check")
        )),
        decided_inside: inside_count,
        notes: held_tests(receipt).into_iter().chain(environment(receipt)).collect(),
        receipt: Some(receipt.receipt_id().to_string()),
        cases: results.details.iter().map(|detail| case(detail, in_process, places)).chain(no_checks).collect(),
        qualifies: true,
        json: vec![receipt.to_text()],
    }
}

/// What the summary says of a counter-run. That there was none is said where it was turned off.
fn counter_run(receipt: &Receipt) -> Option<String> {
    let value = receipt.metadata().get("counter_run")?;
    let why = value.as_object()?.get("none").and_then(Json::as_str);
    match why {
        Some("turned off") => Some(", counter-run turned off".to_owned()),
        Some(_) => None,
        None => Some(format!(", {}", proofmark_statement::counter_run(value)?)),
    }
}

/// The packages of a lock file, and what failed where a digest is not known.
fn environment(receipt: &Receipt) -> Option<String> {
    let value = receipt.metadata().get("environment")?;
    let text = |name: &str| value.as_object()?.get(name)?.as_str();
    let is_told = text("from") == Some("lock") || text("why").is_some_and(|why| why.starts_with("failed to "));
    is_told.then(|| proofmark_statement::environment(value)).flatten().map(|said| format!("packages: {said}"))
}

/// The skipped tests of a project, as the receipt has them.
#[derive(Default)]
struct Skipped<'a> {
    count: u64,
    reasons: &'a [Json],
    tests: &'a [Json],
}

impl Skipped<'_> {
    fn of(receipt: &Receipt) -> Option<Skipped<'_>> {
        let skipped = receipt.metadata().get("skipped")?.as_object()?;
        let list = |name: &str| skipped.get(name).and_then(Json::as_array).unwrap_or_default();
        let count = skipped.get("count")?.as_number()?.as_u64()?;
        Some(Skipped { count, reasons: list("reasons"), tests: list("tests") })
    }

    /// How many there are, with their most frequent reasons.
    fn summary(&self) -> String {
        if self.count == 0 {
            return String::new();
        }
        let reasons: Vec<String> = self.reasons.iter().take(MAX_REASONS).filter_map(reason).collect();
        if reasons.is_empty() {
            return format!(", {} skipped", self.count);
        }
        let more = if self.reasons.len() > MAX_REASONS { ", …" } else { "" };
        format!(", {} skipped ({}{more})", self.count, reasons.join(", "))
    }
}

/// A reason, and how many tests were skipped for it where it is more than one.
fn reason(reason: &Json) -> Option<String> {
    let reason = reason.as_object()?;
    let text: String = reason.get("reason")?.as_str()?.chars().take(MAX_REASON_CHARS).collect();
    match reason.get("count")?.as_number()?.as_u64()? {
        0 | 1 => Some(text),
        count => Some(format!("{text}: {count}")),
    }
}

/// What the submission changed in tests that are its owner's, if it changed anything.
fn held_tests(receipt: &Receipt) -> Option<String> {
    let tests = receipt.metadata().get("tests_from")?.as_object()?;
    let number = |name: &str| tests.get(name).and_then(Json::as_number)?.as_u64();
    let changes = tests.get("changed").and_then(Json::as_array).unwrap_or_default().iter().take(MAX_CHANGES);
    let change = |change: &Json| {
        let text = |name: &str| change.as_object()?.get(name)?.as_str();
        Some(format!("{} {}", text("path")?, text("change")?))
    };
    let mut told: Vec<String> = changes.filter_map(change).collect();
    let more = number("changes")?.saturating_sub(told.len() as u64);
    if more > 0 {
        told.push(format!("{more} more files changed"));
    }
    let fewer = usize::try_from(number("fewer")?).unwrap_or(usize::MAX);
    if fewer > 0 {
        told.push(format!("{} fewer than the owner's", count(fewer, "test")));
    }
    (!told.is_empty()).then(|| format!("tests changed by the submission, and not run: {}", told.join("; ")))
}

fn no_check(test: &Json) -> Option<Case> {
    let test = test.as_object()?;
    let message = match test.get("reason").and_then(Json::as_str) {
        Some(reason) => format!("skipped: {reason}"),
        None => "skipped without a reason".to_owned(),
    };
    Some(Case { message: Some(message), ..Case::new(test.get("name")?.as_str()?, Status::Skipped) })
}

fn case(detail: &Detail, in_process: bool, places: &Places) -> Case {
    let message = detail.message.clone();
    let skipped = in_process && message.as_deref().is_some_and(|message| message.starts_with(SKIPPED));
    let warned = in_process && message.as_deref().is_some_and(|message| message.starts_with(WARNING));
    let status = match detail.status {
        DetailStatus::Pass if warned => Status::Warning,
        DetailStatus::Pass => Status::Pass,
        DetailStatus::Fail => Status::Fail,
        DetailStatus::Error if skipped => Status::Skipped,
        DetailStatus::Error => Status::Error,
    };
    let found = detail.location.as_deref().and_then(|named| places.find(named));
    let place = match &found {
        Some(Location { file, line: Some(line), .. }) => Some(format!("{file}:{line}")),
        Some(Location { file, line: None, .. }) => Some(file.clone()),
        None => detail.location.clone(),
    };
    let inside = detail.decided.filter(|by| *by == DecidedBy::Submission).map(|by| format!("the {by}"));
    let texts = [
        ("decided by", &inside),
        ("location", &place),
        ("input", &detail.input),
        ("constraint", &detail.constraint),
        ("difference", &detail.difference),
        ("expected", &detail.expected),
        ("actual", &detail.actual),
        ("stdout", &detail.stdout),
        ("stderr", &detail.stderr),
    ];
    let texts =
        texts.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?.trim_end_matches('\n').to_owned())));
    Case {
        time: detail.elapsed_ms.map(Duration::from_millis),
        location: if status.is_pass() { None } else { found.or_else(|| places.fallback()) },
        message,
        details: texts.collect(),
        ..Case::new(detail.name.as_str(), status)
    }
}
