//! The tests of a project, as its own runner reports them.

use std::collections::HashMap;

use proofmark_receipt::document::shown;
use proofmark_receipt::{Detail, Status};

use super::cause::{Allowed, advice, unanswered, with_advice};
use super::helper_file::only_helps;
use super::running;
use super::{End, Fault, faulted};
use crate::command::{Command, SkipPolicy};
use crate::job::{CaseOutcome, Outcome, PROJECT_FOLDER, Tail};
use crate::report::{self, Reported, SkippedTest, Tested};
use crate::reporting::{Report, Runner};
use crate::suite::Reveal;

/// The name of the one check of a command that reports no tests.
const COMMAND: &str = "command";

/// The message of a hidden check whose own would name a word of the command and a file of the suite.
const HIDDEN_MISSING: &str = "the command names a file that is not there";

/// The last of a command's output that is shown, in characters.
const MAX_LAST_WORDS: usize = 800;

/// The checks of a command, and the skipped tests, which are not among them.
pub(super) struct Judged {
    pub(super) checks: Vec<(Option<Fault>, Detail)>,
    pub(super) skipped: Vec<SkippedTest>,
    /// Whether tests were skipped where none may be.
    pub(super) fails: bool,
}

impl Judged {
    fn one(fault: Option<Fault>, status: Status, message: impl Into<String>) -> Judged {
        Judged { checks: vec![(fault, one(status, Some(message.into())))], skipped: Vec::new(), fails: false }
    }

    fn of(checks: Vec<Detail>) -> Judged {
        let checks = checks.into_iter().map(|detail| (faulted(&detail), detail)).collect();
        Judged { checks, skipped: Vec::new(), fails: false }
    }
}

pub(super) fn judge(command: &Command, outcome: Option<&Outcome>) -> Judged {
    let judged = match run(command, outcome) {
        Ok(Run { tests, contradiction }) => settle(command, tests, contradiction),
        Err(judged) => judged,
    };
    timed(judged, outcome)
}

/// The check of a whole command has its time; tests of a report have their own.
pub(super) fn timed(mut judged: Judged, outcome: Option<&Outcome>) -> Judged {
    if let Some([case]) = outcome.map(|outcome| outcome.cases.as_slice()) {
        let elapsed = u64::try_from(case.elapsed.as_millis()).unwrap_or(u64::MAX);
        let whole = judged.checks.iter_mut().filter(|(_, check)| check.name == COMMAND && check.elapsed_ms.is_none());
        whole.for_each(|(_, check)| check.elapsed_ms = Some(elapsed));
    }
    judged
}

/// A run of a command whose report can be read.
pub(super) struct Run {
    pub(super) tests: Vec<Reported>,
    /// An error where the exit status and the report differ.
    pub(super) contradiction: Option<Detail>,
}

/// How a command ran; what there is to judge of one that left no report.
pub(super) fn run(command: &Command, outcome: Option<&Outcome>) -> Result<Run, Judged> {
    if let Some(why) = &command.unusable {
        let fault = if why.by_request { Fault::Verifier } else { Fault::Submission };
        let hidden = why.missing.is_some() && command.reveal == Reveal::None;
        let message = if hidden { HIDDEN_MISSING } else { &why.message };
        return Err(Judged::one(Some(fault), Status::Error, message));
    }
    let case = outcome.and_then(|outcome| match outcome.cases.as_slice() {
        [case] => Some((case, Allowed::of(outcome.limits, case))),
        _ => None,
    });
    let Some((case, allowed)) = case else {
        let why = "the sandbox gave no answer; run the request again";
        return Err(Judged::one(Some(Fault::Verifier), Status::Error, why));
    };
    match &case.end {
        End::Ran { status, output, errors, report } => {
            let ended = Ended { status: *status, output, errors };
            ran(command, &ended, report.as_deref(), allowed)
        }
        End::Unavailable(why) => Err(Judged::one(Some(Fault::Verifier), Status::Error, why.clone())),
        other => Err(Judged::of(vec![stopped(command, case, allowed, other)])),
    }
}

/// How a command ended by itself.
struct Ended<'a> {
    status: i32,
    output: &'a [u8],
    errors: &'a [u8],
}

fn ran(command: &Command, ended: &Ended<'_>, report: Option<&[u8]>, allowed: Allowed) -> Result<Run, Judged> {
    let unreported = |status, why: &str| {
        let message = format!("{why}; {}{}", ended.last_words(), ended.hint(allowed));
        Judged::of(vec![one(status, Some(message))])
    };
    let reported = match (&command.report, report) {
        (Report::File(path), None) => {
            // Runners write it at their end.
            let early = match ended.status {
                0 => "; it ended with status 0 all the same, as when the work ends it itself (`os._exit(0)`)",
                _ => "",
            };
            return Err(unreported(Status::Error, &format!("the command left no report `{}`{early}", shown(path))));
        }
        (Report::File(_), Some(bytes)) => report::read_file(bytes, &command.files, command.runner),
        (Report::Stdout(form), _) => report::read(*form, ended.output, &command.files, command.runner),
        (Report::ExitStatus, _) if ended.status == 0 => {
            return Err(Judged::of(vec![one(Status::Pass, ended.tested_nothing().map(str::to_owned))]));
        }
        (Report::ExitStatus, _) => return Err(unreported(Status::Fail, &format!("exit status {}", ended.status))),
    };
    let tests = reported.map_err(|bad| unreported(Status::Error, &bad.to_string()))?;
    Ok(agreeing(command, tests.into_iter().map(|test| advised(test, allowed)).collect(), ended.status))
}

/// A test with what the sandbox has to do with its failure.
fn advised(mut test: Reported, allowed: Allowed) -> Reported {
    if test.status != Status::Pass && test.tested == Tested::Yes {
        test.excerpts.message = test.excerpts.message.map(|message| with_advice(message, allowed));
    }
    test
}

/// The tests of a report, and an error of its own where the exit status says otherwise.
fn agreeing(command: &Command, mut tests: Vec<Reported>, status: i32) -> Run {
    if command.runner == Some(Runner::NodeTest) {
        // Node reports a file that ran no tests as one test with the file's name, which passes.
        let passed = tests.iter_mut().filter(|test| test.status == Status::Pass);
        passed.for_each(|test| match file(command, &test.name) {
            None => {}
            Some(text) if text.is_some_and(only_helps) => test.skip("a file without tests"),
            Some(_) => test.no_tests(),
        });
    }
    let well = tests.iter().all(|test| test.status == Status::Pass || test.tested != Tested::Yes);
    let contradiction = match (well, status) {
        // A runner's status is 0 just when no test failed; where the two differ, neither makes a pass.
        (true, 0) | (false, 1..) => None,
        (true, _) => Some(format!("the report shows no failing test, but the exit status is {status}")),
        (false, _) => Some("the report shows failing tests, but the exit status is 0".to_owned()),
    };
    Run { tests, contradiction: contradiction.map(|why| one(Status::Error, Some(why))) }
}

/// The checks of these tests.
pub(super) fn settle(command: &Command, tests: Vec<Reported>, contradiction: Option<Detail>) -> Judged {
    let Policed { tests, skipped, fails } = match command.demanded.as_slice() {
        [] => policed(command.skipped, tests),
        names => demanded(names, tests),
    };
    let mut details: Vec<_> = tests.into_iter().map(|(index, test)| report::detail(index, test)).collect();
    details.extend(contradiction);
    if details.is_empty() {
        // "All of none passed" must not be a pass.
        details.push(one(Status::Error, Some(format!("every test was skipped ({} of them)", skipped.len()))));
    }
    Judged { skipped, fails, ..Judged::of(details) }
}

/// Tests with their place in the report, as the policy of skipped tests counts them.
struct Policed {
    tests: Vec<(usize, Reported)>,
    skipped: Vec<SkippedTest>,
    fails: bool,
}

fn policed(policy: SkipPolicy, tests: Vec<Reported>) -> Policed {
    let mut policed = Policed { tests: Vec::new(), skipped: Vec::new(), fails: false };
    for (index, mut test) in tests.into_iter().enumerate() {
        match (policy, test.tested) {
            (SkipPolicy::Ignore, Tested::Skipped) => policed.skipped.push(report::skipped(index, &test)),
            (SkipPolicy::Fail, Tested::Skipped) => {
                test.status = Status::Fail;
                policed.fails = true;
                policed.tests.push((index, test));
            }
            (SkipPolicy::Ignore | SkipPolicy::Partial | SkipPolicy::Fail, _) => policed.tests.push((index, test)),
        }
    }
    policed
}

/// The tests with these names, each of which has to pass: one that was skipped, or that the report lacks, has failed. Of several with
/// one name, the first that did not pass counts.
fn demanded(names: &[String], tests: Vec<Reported>) -> Policed {
    let mut by_name: HashMap<String, (usize, Reported)> = HashMap::new();
    for (index, test) in tests.into_iter().enumerate() {
        let passed = |test: &Reported| test.status == Status::Pass && test.tested == Tested::Yes;
        let known = by_name.get(&test.name);
        if known.is_none_or(|(_, known)| passed(known) && !passed(&test)) {
            by_name.insert(test.name.clone(), (index, test));
        }
    }
    let judged = names.iter().enumerate().map(|(place, name)| match by_name.remove(name) {
        Some((index, mut test)) => {
            if test.tested != Tested::Yes {
                test.status = Status::Fail;
            }
            (index, test)
        }
        None => (place, Reported::missing(name)),
    });
    Policed { tests: judged.collect(), skipped: Vec::new(), fails: false }
}

/// The text of the file with this name, where the project has it; `None` if no file has the name.
fn file<'a>(command: &'a Command, name: &str) -> Option<Option<&'a [u8]>> {
    let below = name.strip_prefix(PROJECT_FOLDER).and_then(|rest| rest.strip_prefix('/'));
    let found = command.files.iter().find(|file| file.path == below.unwrap_or(name));
    match found {
        Some(file) => Some(file.content.here()),
        None => below.map(|_| None),
    }
}

pub(super) fn one(status: Status, message: Option<String>) -> Detail {
    Detail { message, ..Detail::new(COMMAND.to_owned(), status) }
}

/// The check of a command that did not end by itself, with the limit that ended it and how to raise it.
fn stopped(command: &Command, case: &CaseOutcome, allowed: Allowed, end: &End) -> Detail {
    let option = match end {
        End::Timeout | End::TotalTimeout => "timeout",
        End::MemoryLimit => "memory",
        End::OutputLimit => "output-bytes",
        _ => return one(Status::Error, Some(unanswered(end, allowed))),
    };
    // The only case of its job: what it was allowed is what all checks together were.
    let end = if *end == End::TotalTimeout { &End::Timeout } else { end };
    let why = unanswered(end, allowed);
    let running = running::told(command, &case.written);
    let text =
        |tail: &Tail| Some(String::from_utf8_lossy(&tail.bytes).into_owned()).filter(|text| !text.trim().is_empty());
    Detail {
        stdout: text(&case.written.stdout),
        stderr: text(&case.written.stderr),
        ..one(Status::Error, Some(format!("{why}; {running}; `verify --dir` has `--{option}`")))
    }
}

/// What runners print when they found no tests.
const NOTHING_RAN: [&str; 7] =
    ["ran 0 tests", "collected 0 items", "no tests ran", "no tests found", "# tests 0", "0 tests", "0 passing"];
/// The message of a command that ended well and seems to have tested nothing.
const NOTHING_TESTED: &str =
    "warning: what the command wrote says that it ran no tests; set `report` so that each test is a check";

/// What a command writes when it lacks something here, and what to do about it.
const HINTS: [(&str, &str); 2] = [
    ("init_fs_encoding", "a script of bash cannot run Python here; begin the command with `python3`"),
    ("command not found", "the sandbox has the programs of /usr/bin only, without network and compilers"),
];

impl Ended<'_> {
    fn last_words(&self) -> String {
        let written = if self.errors.trim_ascii().is_empty() { self.output } else { self.errors };
        let text = String::from_utf8_lossy(written);
        let text = text.trim_end();
        let start = text.char_indices().rev().nth(MAX_LAST_WORDS - 1).map_or(0, |(at, _)| at);
        match text.get(start..).unwrap_or_default() {
            "" => "it wrote nothing".to_owned(),
            words => format!("it wrote: {words}"),
        }
    }

    /// What to do about what it wrote to standard error, where that is known.
    fn hint(&self, allowed: Allowed) -> String {
        let errors = String::from_utf8_lossy(self.errors);
        let hint = HINTS.iter().find(|(words, _)| errors.contains(words)).map(|(_, hint)| (*hint).to_owned());
        hint.or_else(|| advice(&errors, allowed)).map_or_else(String::new, |hint| format!("\nhelp: {hint}"))
    }

    /// A warning where the output says that there were no tests.
    fn tested_nothing(&self) -> Option<&'static str> {
        let says_so = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
            text.lines().any(|line| NOTHING_RAN.iter().any(|words| begins_with(line, words)))
        };
        (says_so(self.output) || says_so(self.errors)).then_some(NOTHING_TESTED)
    }
}

/// Whether a line has these words, and no digit or word before them: `10 tests` has not `0 tests`.
fn begins_with(line: &str, words: &str) -> bool {
    line.match_indices(words).any(|(at, _)| {
        line.get(..at).is_none_or(|before| !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.'))
    })
}
