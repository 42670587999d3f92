//! The tests of a project, as its own runner reports them.

use proofmark_receipt::{Detail, Status};

use super::answer::message_of;
use super::{End, Fault, faulted};
use crate::command::Command;
use crate::job::Outcome;
use crate::report;

/// The name of the one check of a command that reports no tests.
const COMMAND: &str = "command";

/// The last of a command's output that is shown, in characters.
const MAX_LAST_WORDS: usize = 800;

pub(super) fn judge(command: &Command, outcome: Option<&Outcome>) -> Vec<(Option<Fault>, Detail)> {
    let case = outcome.and_then(|outcome| match outcome.cases.as_slice() {
        [case] => Some(case),
        _ => None,
    });
    let Some(case) = case else {
        let why = "the sandbox gave no answer; run the request again";
        return vec![(Some(Fault::Verifier), one(Status::Error, Some(why.to_owned())))];
    };
    let mut checks = match &case.end {
        End::Ran { status, output, errors, report } => ran(command, *status, output, errors, report.as_deref()),
        End::Unavailable(why) => return vec![(Some(Fault::Verifier), one(Status::Error, Some(why.clone())))],
        other => vec![one(Status::Error, Some(message_of(other)))],
    };
    let elapsed = u64::try_from(case.elapsed.as_millis()).unwrap_or(u64::MAX);
    checks.iter_mut().filter(|check| check.name == COMMAND).for_each(|check| check.elapsed_ms = Some(elapsed));
    checks.into_iter().map(|detail| (faulted(&detail), detail)).collect()
}

fn ran(command: &Command, status: i32, output: &[u8], errors: &[u8], report: Option<&[u8]>) -> Vec<Detail> {
    let reported = match (&command.report, report) {
        (Some(path), None) => {
            let why = format!("the command left no report `{path}`; {}", last_words(output, errors));
            return vec![one(Status::Error, Some(why))];
        }
        (Some(_), Some(bytes)) => Some(report::read(bytes)),
        (None, _) if command.prints_report() => Some(report::read(output)),
        (None, _) => report::found(output),
    };
    match reported {
        Some(Ok(details)) => agreeing(details, status),
        Some(Err(bad)) => vec![one(Status::Error, Some(format!("{bad}; {}", last_words(output, errors))))],
        None if status == 0 => vec![one(Status::Pass, None)],
        None => vec![one(Status::Fail, Some(format!("exit status {status}; {}", last_words(output, errors))))],
    }
}

/// The report, and an error of its own where the exit status says otherwise.
fn agreeing(mut details: Vec<Detail>, status: i32) -> Vec<Detail> {
    let well = details.iter().all(|detail| detail.status != Status::Fail && !broken(detail));
    match (well, status) {
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

/// An error that is no skipped test.
fn broken(detail: &Detail) -> bool {
    let skipped = detail.message.as_deref().is_some_and(|message| message.starts_with("skipped"));
    detail.status == Status::Error && !skipped
}

fn one(status: Status, message: Option<String>) -> Detail {
    Detail {
        name: COMMAND.to_owned(),
        status,
        expected: None,
        actual: None,
        elapsed_ms: None,
        message,
        constraint: None,
    }
}

fn last_words(output: &[u8], errors: &[u8]) -> String {
    let said = if errors.trim_ascii().is_empty() { output } else { errors };
    let text = String::from_utf8_lossy(said);
    let text = text.trim_end();
    let start = text.char_indices().rev().nth(MAX_LAST_WORDS - 1).map_or(0, |(at, _)| at);
    match text.get(start..).unwrap_or_default() {
        "" => "it wrote nothing".to_owned(),
        words => format!("it wrote: {words}"),
    }
}
