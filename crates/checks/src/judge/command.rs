//! The tests of a project, as its own runner reports them.

use proofmark_receipt::{Detail, Status};

use super::cause::{Allowed, unanswered};
use super::{End, Fault, faulted};
use crate::command::Command;
use crate::job::{Outcome, PROJECT_FOLDER};
use crate::report::{self, Reported};
use crate::reporting::{Report, Runner};

/// The name of the one check of a command that reports no tests.
const COMMAND: &str = "command";

/// The last of a command's output that is shown, in characters.
const MAX_LAST_WORDS: usize = 800;

pub(super) fn judge(command: &Command, outcome: Option<&Outcome>) -> Vec<(Option<Fault>, Detail)> {
    if let Some(why) = &command.unusable {
        return vec![(Some(Fault::Submission), one(Status::Error, Some(why.clone())))];
    }
    let case = outcome.and_then(|outcome| match outcome.cases.as_slice() {
        [case] => Some((case, Allowed::of(outcome, case))),
        _ => None,
    });
    let Some((case, allowed)) = case else {
        let why = "the sandbox gave no answer; run the request again";
        return vec![(Some(Fault::Verifier), one(Status::Error, Some(why.to_owned())))];
    };
    let mut checks = match &case.end {
        End::Ran { status, output, errors, report } => ran(command, *status, output, errors, report.as_deref()),
        End::Unavailable(why) => return vec![(Some(Fault::Verifier), one(Status::Error, Some(why.clone())))],
        other => vec![one(Status::Error, Some(unanswered(other, allowed)))],
    };
    let elapsed = u64::try_from(case.elapsed.as_millis()).unwrap_or(u64::MAX);
    // Tests of a report have their own times; this one is that of the whole command.
    checks.iter_mut().filter(|check| check.name == COMMAND).for_each(|check| check.elapsed_ms = Some(elapsed));
    checks.into_iter().map(|detail| (faulted(&detail), detail)).collect()
}

fn ran(command: &Command, status: i32, output: &[u8], errors: &[u8], report: Option<&[u8]>) -> Vec<Detail> {
    let reported = match (&command.report, report) {
        (Report::File(path), None) => {
            let why = format!("the command left no report `{path}`; {}", last_words(output, errors));
            return vec![one(Status::Error, Some(why))];
        }
        (Report::File(_), Some(bytes)) => report::read_file(bytes),
        (Report::Stdout(form), _) => report::read(*form, output),
        (Report::ExitStatus, _) if status == 0 => return vec![one(Status::Pass, None)],
        (Report::ExitStatus, _) => {
            let why = format!("exit status {status}; {}", last_words(output, errors));
            return vec![one(Status::Fail, Some(why))];
        }
    };
    match reported {
        Ok(tests) => agreeing(command, tests, status),
        Err(bad) => vec![one(Status::Error, Some(format!("{bad}; {}", last_words(output, errors))))],
    }
}

/// The report, and an error of its own where the exit status says otherwise.
fn agreeing(command: &Command, mut tests: Vec<Reported>, status: i32) -> Vec<Detail> {
    if command.runner == Some(Runner::NodeTest) {
        // Node reports a file that ran no tests as one test with the file's name, which passes.
        let hollow =
            |test: &&mut Reported| test.status == Status::Pass && !test.holds_tests && is_file(command, &test.name);
        tests.iter_mut().filter(hollow).for_each(|test| test.skip(report::NO_TESTS));
    }
    let well = tests.iter().all(|test| test.status == Status::Pass || test.skipped);
    let mut details: Vec<_> = tests.into_iter().enumerate().map(|(index, test)| report::detail(index, test)).collect();
    match (well, status) {
        // A runner's status is 0 just when no test failed; where the two differ, neither makes a pass.
        (true, 0) | (false, 1..) => {}
        (true, _) => {
            let why = format!("the report shows no failing test, but the exit status is {status}");
            details.push(one(Status::Error, Some(why)));
        }
        (false, _) => {
            details
                .push(one(Status::Error, Some("the report shows failing tests, but the exit status is 0".to_owned())));
        }
    }
    details
}

/// Whether a name is that of a file of the project; in JUnit's XML node puts `test::` before it.
fn is_file(command: &Command, name: &str) -> bool {
    let name = name.strip_prefix("test::").unwrap_or(name);
    let below = name.strip_prefix(PROJECT_FOLDER).and_then(|rest| rest.strip_prefix('/'));
    below.is_some() || command.files.iter().any(|file| file.path == name)
}

fn one(status: Status, message: Option<String>) -> Detail {
    Detail { message, ..Detail::new(COMMAND.to_owned(), status) }
}

fn last_words(output: &[u8], errors: &[u8]) -> String {
    let written = if errors.trim_ascii().is_empty() { output } else { errors };
    let text = String::from_utf8_lossy(written);
    let text = text.trim_end();
    let start = text.char_indices().rev().nth(MAX_LAST_WORDS - 1).map_or(0, |(at, _)| at);
    match text.get(start..).unwrap_or_default() {
        "" => "it wrote nothing".to_owned(),
        words => format!("it wrote: {words}"),
    }
}
