//! From outcomes to a verdict.

use std::fmt;

use proofmark_predicate::{Budget, StoppedError};
use proofmark_receipt::{Detail, Results, Status, Verdict};

use crate::budget::{DetailBudget, Focus};
use crate::command::Command;
use crate::constraint::{self, MAX_CONSTRAINT_STEPS};
use crate::job::{CaseOutcome, End, Outcome};
use crate::request::{Checks, Request};
use crate::suite::{Expected, Reveal, Suite, Test};
use crate::value::Value;

mod answer;
mod cause;
mod check;
mod command;
mod expected;
mod explain;
mod hint;
mod text;

use cause::Allowed;
use check::Check;
use explain::Told;
pub use explain::same_error;

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
    /// Whose fault the errors among the checks are, where there are any; the verifier's weighs more.
    pub fault: Option<Fault>,
    /// The names of a project's skipped tests, which count neither as passed nor as failed.
    pub skipped: Vec<String>,
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
        // What was stopped halfway is dropped: its unchecked constraints would read as the submission's errors.
        budget.finish().map(|()| judgment)
    }

    fn judge_within(&self, submission: Option<&Outcome>, expected: Option<&Outcome>, budget: &Budget<'_>) -> Judgment {
        // A missing outcome has zero cases, which `misfit` reports as a broken sandbox.
        let nothing = Outcome::default();
        match &self.checks {
            Checks::Suite(suite) => match suite.program(&self.output) {
                Ok(_) => self.judge_suite(suite, submission.unwrap_or(&nothing), expected),
                Err(why) => {
                    let detail = |test: &Test| Detail {
                        message: Some(why.clone()),
                        ..Detail::new(test.name.as_str(), Status::Error)
                    };
                    let mut told = Told::default();
                    let details =
                        suite.tests.iter().map(|test| (Some(Fault::Submission), told.fold(detail(test), None)));
                    self.conclude(details.collect(), suite.reveal)
                }
            },
            Checks::Command(command) => self.judge_command(command, submission),
            Checks::Constraints { constraints, reveal } => {
                let details = constraint::evaluate(constraints, &self.output, budget).into_iter();
                self.conclude(details.map(|detail| (faulted(&detail), detail)).collect(), *reveal)
            }
        }
    }

    fn judge_suite(&self, suite: &Suite, submission: &Outcome, expected: Option<&Outcome>) -> Judgment {
        let misfit = misfit(suite, submission, expected);
        // The names of a request that was read fit.
        let mut budget =
            DetailBudget::beside(self.task.as_ref(), suite.tests.iter().map(|test| test.name.as_str()).collect());
        let mut fault = None;
        let mut told = Told::default();
        let mut details = Vec::with_capacity(suite.tests.len());
        let mut evaluated = expected.into_iter().flat_map(|outcome| &outcome.cases);
        for (index, test) in suite.tests.iter().enumerate() {
            let expected = match test.expected {
                // The second job has cases for the expressions only, in the order of their tests.
                Expected::Expression(_) => evaluated.next().map(|case| &case.end),
                Expected::Json(_) | Expected::Text(..) | Expected::Value(_) | Expected::Raises(_) => None,
            };
            let check = match &misfit {
                Some(why) => Check::broken(why),
                None => {
                    let case = submission.cases.get(index);
                    let allowed = |case| (case, Allowed::of(submission, case).in_suite(suite, test));
                    let check = check(suite, test, expected, case.map(allowed));
                    hint::explained(check, suite, &self.output, case.map(|case| &case.end))
                }
            };
            fault = worse(fault, check.fault);
            let focus = Focus { expected: check.difference.expected_at, actual: check.difference.answer_at };
            let case = submission.cases.get(index).filter(|_| misfit.is_none());
            let detail = told.fold(detail(suite, test, check, case), case.map(|case| &case.end));
            details.extend(budget.as_mut().map(|budget| budget.fit(detail, focus)));
        }
        self.judgment(Results::from_details(details), fault)
    }

    fn judge_command(&self, command: &Command, outcome: Option<&Outcome>) -> Judgment {
        let command::Judged { checks, skipped, fails } = command::judge(command, outcome);
        let judgment = self.conclude(checks, command.reveal);
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

    fn judgment(&self, results: Results, fault: Option<Fault>) -> Judgment {
        let verdict = verdict(results.total, results.passed, fault);
        Judgment { tier: self.checks.tier(), verdict, results, fault, skipped: Vec::new() }
    }
}

/// How many details a receipt has of a report whose names alone are too long for it.
const MAX_BARE: usize = 1_000;

/// Only the name, cut, and the status.
fn bare(detail: Detail) -> Detail {
    Detail::new(detail.name.chars().take(64).collect::<String>(), detail.status)
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

/// Why the outcomes cannot be those of the request's jobs.
fn misfit(suite: &Suite, submission: &Outcome, expected: Option<&Outcome>) -> Option<String> {
    let wrong_count = |what: &str, outcome: &Outcome, expected: usize| {
        let cases = outcome.cases.len();
        (cases != expected).then(|| format!("the sandbox answered {cases} of {expected} {what}; run the request again"))
    };
    let expressions = suite.tests.iter().filter(|test| matches!(test.expected, Expected::Expression(_))).count();
    let expected_misfit = match (expressions, expected) {
        (0, Some(_)) => {
            Some("expected values were evaluated without being asked for; run the request again".to_owned())
        }
        (0, None) => None,
        (count, Some(outcome)) => wrong_count("expected values", outcome, count),
        (_, None) => Some("the expected values were not evaluated; run the request again".to_owned()),
    };
    // Only where nothing was run can the runtime have no name.
    let nameless =
        submission.runtime.is_empty() && submission.cases.iter().any(|case| !matches!(case.end, End::Unavailable(_)));
    let nameless = nameless.then(|| "the sandbox named no runtime; run the request again".to_owned());
    wrong_count("checks", submission, suite.tests.len()).or(nameless).or(expected_misfit)
}

fn check(suite: &Suite, test: &Test, expected: Option<&End>, case: Option<(&CaseOutcome, Allowed)>) -> Check {
    let wanted = match expected::wanted(suite.language, test, expected) {
        Ok(wanted) => wanted,
        Err(unusable) => return *unusable,
    };
    match case {
        Some((case, allowed)) => answer::check(suite.language, test, &wanted, &case.end, allowed),
        None => Check::broken("the sandbox gave no answer; run the request again"),
    }
}

/// The detail of a check, as the receipt shows it.
fn detail(suite: &Suite, test: &Test, check: Check, case: Option<&CaseOutcome>) -> Detail {
    let shown = suite.reveal.shows(check.status);
    let detail = Detail {
        expected: check.expected,
        actual: check.actual,
        difference: check.difference.text,
        elapsed_ms: case.map(|case| u64::try_from(case.elapsed.as_millis()).unwrap_or(u64::MAX)),
        message: check.hidden.filter(|_| !shown).map(str::to_owned).or(check.message),
        ..Detail::new(test.name.as_str(), check.status)
    };
    // What is not shown is not made either: it may be long. What the verifier could not do has nothing to do with the input.
    let explains = shown && check.fault != Some(Fault::Verifier);
    let detail = if explains { explain::explained(suite, test, case, detail) } else { detail };
    hidden(check.fault, detail, suite.reveal)
}
