//! From outcomes to a verdict.

use std::fmt;

use proofmark_predicate::{Budget, StoppedError};
use proofmark_receipt::{DecidedBy, Detail, Results, Status, Verdict};

use crate::budget::{DetailBudget, Focus};
use crate::command::Command;
use crate::constraint::{self, MAX_CONSTRAINT_STEPS};
use crate::counter::{CounterRun, NoCounterRun};
use crate::job::{End, Limits, Outcome};
use crate::report::SkippedTest;
use crate::request::{Checks, Request};
use crate::suite::{Expected, Reveal, Test};
use crate::value::Value;

mod answer;
mod cause;
mod check;
mod command;
mod counter;
mod expected;
mod explain;
mod helper_file;
mod hint;
mod running;
mod suite;
mod text;

pub use counter::CounterCounts;
use explain::Told;
pub use explain::same_error;
pub use suite::SuiteJudging;

/// Whose fault it is that a check could not be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The submission gave no answer: it crashed, ran out of time or memory, or its answer cannot be read.
    Submission,
    /// A reason outside the submission: runtime missing, isolation unavailable, unusable expected value, broken
    /// sandbox.
    Verifier,
}

impl Fault {
    /// The word in `metadata.fault`.
    pub fn as_str(self) -> &'static str {
        match self {
            Fault::Submission => "submission",
            Fault::Verifier => "verifier",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a receipt says of a submission.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgment {
    pub tier: u8,
    pub verdict: Verdict,
    /// The checks, in the order of the suite.
    pub results: Results,
    /// Who decided the checks: the verifier only if it decided each.
    pub decided: DecidedBy,
    /// Whose fault the errors among the checks are, where there are any; the verifier's weighs more.
    pub fault: Option<Fault>,
    /// A project's skipped tests, which count neither as passed nor as failed.
    pub skipped: Vec<SkippedTest>,
    /// What a counter-run contradicted, if there was one.
    pub counter: Option<CounterCounts>,
}

impl Request {
    /// Judges the outcomes of the jobs of [`Request::plan`].
    ///
    /// An outcome that does not fit its job (too few cases, the wrong kind of answer) is a broken sandbox: every check
    /// it should have answered is an error of the verifier's, never a pass.
    pub fn judge(&self, submission: Option<&Outcome>, expected: Option<&Outcome>) -> Judgment {
        self.judge_within(submission, expected, &Budget::new(MAX_CONSTRAINT_STEPS))
    }

    /// As [`Request::judge`], for as long as `stop` says no. It is asked every few thousand steps.
    ///
    /// # Errors
    /// [`StoppedError`] when it was stopped: then nothing was judged.
    pub fn judge_until(
        &self,
        submission: Option<&Outcome>,
        expected: Option<&Outcome>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Judgment, StoppedError> {
        let budget = Budget::stopping(MAX_CONSTRAINT_STEPS, stop);
        let judgment = self.judge_within(submission, expected, &budget);
        // A check that was stopped halfway is dropped: its unchecked constraints would read as the submission's errors.
        budget.finish().map(|()| judgment)
    }

    fn judge_within(&self, submission: Option<&Outcome>, expected: Option<&Outcome>, budget: &Budget<'_>) -> Judgment {
        // A missing outcome has zero cases, which `misfit` reports as a broken sandbox.
        let nothing = Outcome::default();
        match &self.checks {
            Checks::Suite(suite) => match suite.program(&self.output) {
                Ok(_) => {
                    let submission = submission.unwrap_or(&nothing);
                    let mut judging = SuiteJudging::new(self, suite, submission.limits, expected);
                    submission.cases.iter().for_each(|case| judging.judge(case));
                    judging.finish(&submission.runtime)
                }
                Err(why) => {
                    let mut told = Told::default();
                    let details = suite.tests.iter().map(|test| {
                        let detail = Detail::new(test.name.as_str(), Status::Error);
                        let detail = Detail { message: Some(why.clone()), ..detail };
                        let detail = Detail { decided: Some(DecidedBy::Verifier), ..detail };
                        (Some(Fault::Submission), told.fold(detail, None))
                    });
                    self.conclude(details.collect(), suite.reveal)
                }
            },
            Checks::Command(command) => self.of_command(command, command::judge(command, submission)),
            Checks::Constraints { constraints, reveal } => {
                let details = constraint::evaluate(constraints, &self.output, budget).into_iter();
                let details = details.map(|detail| Detail { decided: Some(DecidedBy::Verifier), ..detail });
                self.conclude(details.map(|detail| (faulted(&detail), detail)).collect(), *reveal)
            }
        }
    }

    /// Judges the outcomes of the two runs of a counter-run, in the order of [`Request::plan_counter`].
    pub fn judge_counter(&self, counter: &CounterRun, outcomes: [Option<&Outcome>; 2]) -> Judgment {
        let Checks::Command(command) = &self.checks else { return self.judge(None, None) };
        let counter::Countered { judged, counts } = counter::judge(command, counter, outcomes);
        let judgment = self.of_command(command, judged);
        let is_unproven = counts.is_some_and(|counts| counts.unproven > 0);
        let fault = judgment.fault.or(is_unproven.then_some(Fault::Submission));
        Judgment { fault, counter: counts, ..judgment }
    }

    /// The judgment of a request that demands a counter-run, which this prevents.
    pub fn judge_refused(&self, why: &NoCounterRun) -> Judgment {
        let message = format!("the request demands a counter-run, and there is none: {why}");
        let detail = command::one(Status::Error, Some(message));
        self.conclude(vec![(Some(Fault::Verifier), detail)], self.checks.reveal())
    }

    fn of_command(&self, command: &Command, judged: command::Judged) -> Judgment {
        let command::Judged { checks, skipped, fails } = judged;
        // The tests share a process with the submission.
        let decided = |(fault, detail)| (fault, Detail { decided: Some(DecidedBy::Submission), ..detail });
        let judgment = self.conclude(checks.into_iter().map(decided).collect(), command.reveal);
        let verdict = match (fails, judgment.verdict) {
            (true, Verdict::Pass | Verdict::Partial) => Verdict::Fail,
            (_, verdict) => verdict,
        };
        Judgment { verdict, skipped, ..judgment }
    }

    /// Fits details that are known in full into the receipt.
    fn conclude(&self, checked: Vec<(Option<Fault>, Detail)>, reveal: Reveal) -> Judgment {
        let fault = checked.iter().fold(None, |fault, (one, _)| worse(fault, *one));
        let names = checked.iter().map(|(_, detail)| detail.name.as_str()).collect();
        let mut budget = DetailBudget::beside(self.task.as_ref(), names);
        let details = checked.into_iter().enumerate().map(|(index, (fault, detail))| {
            // The tests of a project run with the submission, which could name them after what it has seen.
            let unnamed = matches!(self.checks, Checks::Command(_)) && reveal == Reveal::None;
            let name = if unnamed { format!("test {}", index + 1) } else { detail.name };
            hidden(fault, Detail { name, ..detail }, reveal)
        });
        let mut results = Results::from_details(match &mut budget {
            Some(budget) => details.map(|detail| budget.fit(detail, Focus::default())).collect(),
            None => details.map(bare).collect(),
        });
        if budget.is_none() {
            // The counts stay whole; of the tests, those that did not pass come first.
            // A stable sort: both groups keep the order of the report.
            results.details.sort_by_key(|detail| detail.status == Status::Pass);
            results.details.truncate(MAX_BARE);
        }
        self.judgment(results, fault)
    }

    /// Judges the cases of a suite one by one, as they end. `limits` are those of the job that runs them, and `expected` is the
    /// outcome of the job that evaluates expected values. None for a request that runs no suite: [`Request::judge`] judges
    /// those, and a suite as well.
    pub fn suite_judging<'a>(&'a self, limits: Limits, expected: Option<&'a Outcome>) -> Option<SuiteJudging<'a>> {
        let Checks::Suite(suite) = &self.checks else { return None };
        suite.program(&self.output).is_ok().then(|| SuiteJudging::new(self, suite, limits, expected))
    }

    fn judgment(&self, results: Results, fault: Option<Fault>) -> Judgment {
        let verdict = verdict(results.total, results.passed, fault);
        let by_verifier = results.details.iter().all(|detail| detail.decided == Some(DecidedBy::Verifier));
        let is_inside = matches!(self.checks, Checks::Command(_));
        let decided = if by_verifier && !is_inside { DecidedBy::Verifier } else { DecidedBy::Submission };
        Judgment { tier: self.checks.tier(), verdict, results, decided, fault, skipped: Vec::new(), counter: None }
    }
}

/// How many details a receipt has of a report whose names alone are too long for it.
const MAX_BARE: usize = 1_000;

/// Only the name, cut, the status, and who decided it.
fn bare(detail: Detail) -> Detail {
    let name = detail.name.chars().take(64).collect::<String>();
    Detail { decided: detail.decided, ..Detail::new(name, detail.status) }
}

/// All that a hidden check says of an error of the submission, which chooses the limit or the exception it ends with.
const NO_ANSWER: &str = "no answer";

/// A detail as the receipt shows it. What the verifier could not do is always shown: the submission has no part in it.
fn hidden(fault: Option<Fault>, detail: Detail, reveal: Reveal) -> Detail {
    let shown = reveal.shows(detail.status);
    let message = match fault {
        _ if shown => detail.message,
        Some(Fault::Verifier) => detail.message,
        Some(Fault::Submission) => Some(NO_ANSWER.to_owned()),
        None => None,
    };
    Detail {
        decided: detail.decided,
        input: detail.input.filter(|_| shown),
        expected: detail.expected.filter(|_| shown),
        actual: detail.actual.filter(|_| shown),
        difference: detail.difference.filter(|_| shown),
        location: detail.location.filter(|_| shown),
        stdout: detail.stdout.filter(|_| shown),
        stderr: detail.stderr.filter(|_| shown),
        elapsed_ms: detail.elapsed_ms.filter(|_| reveal.shows_times()),
        message,
        // It says what is tested, or holds the digest of a schema.
        constraint: detail.constraint.filter(|_| reveal != Reveal::None),
        ..Detail::new(detail.name, detail.status)
    }
}

/// A check without an answer, of which only the submission can be the cause.
fn faulted(detail: &Detail) -> Option<Fault> {
    (detail.status == Status::Error).then_some(Fault::Submission)
}

/// The verdict of a suite, given its counts and whose fault its errors are.
pub(crate) fn verdict(total: u64, passed: u64, fault: Option<Fault>) -> Verdict {
    match (total, passed, fault) {
        // "All of none passed" must not be a pass.
        (0, _, _) => Verdict::Error,
        (_, _, Some(Fault::Verifier)) => Verdict::Error,
        (total, passed, None) if passed == total => Verdict::Pass,
        (_, 0, None | Some(Fault::Submission)) => Verdict::Fail,
        (_, _, None | Some(Fault::Submission)) => Verdict::Partial,
    }
}

/// The verifier's fault weighs more than the submission's.
fn worse(one: Option<Fault>, other: Option<Fault>) -> Option<Fault> {
    match (one, other) {
        (Some(Fault::Verifier), _) | (_, Some(Fault::Verifier)) => Some(Fault::Verifier),
        (Some(Fault::Submission), _) | (_, Some(Fault::Submission)) => Some(Fault::Submission),
        (None, None) => None,
    }
}
