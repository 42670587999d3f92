//! The judgment of a suite, one case after another.

use proofmark_receipt::{DecidedBy, Detail, Results, Status};

use super::cause::Allowed;
use super::check::Check;
use super::explain::Told;
use super::{Fault, Judgment, answer, expected, explain, hidden, hint, worse};
use crate::budget::{DetailBudget, Focus};
use crate::job::{CaseOutcome, End, Limits, Outcome};
use crate::request::Request;
use crate::suite::{Expected, Suite, Test};

/// The judgment of a suite whose cases end one after another. It keeps no answer, only what the receipt says of it.
pub struct SuiteJudging<'a> {
    request: &'a Request,
    suite: &'a Suite,
    limits: Limits,
    expected: Option<&'a Outcome>,
    /// Why the job of the expected values cannot be that of the request.
    misfit: Option<String>,
    /// How many expected values of that job were used.
    evaluated: usize,
    /// How many cases were judged.
    judged: usize,
    /// Whether a case was run, so that a runtime must have a name.
    ran: bool,
    fitted: Fitted,
}

/// The details so far, as they fit into the receipt.
struct Fitted {
    budget: Option<DetailBudget>,
    told: Told,
    fault: Option<Fault>,
    details: Vec<Detail>,
}

impl<'a> SuiteJudging<'a> {
    pub(super) fn new(
        request: &'a Request,
        suite: &'a Suite,
        limits: Limits,
        expected: Option<&'a Outcome>,
    ) -> SuiteJudging<'a> {
        SuiteJudging {
            request,
            suite,
            limits,
            expected,
            misfit: misfit(suite, expected),
            evaluated: 0,
            judged: 0,
            ran: false,
            fitted: Fitted::new(request, suite),
        }
    }

    /// Judges the next case, in the order of the suite.
    pub fn judge(&mut self, case: &CaseOutcome) {
        self.judged += 1;
        self.ran |= !matches!(case.end, End::Unavailable(_));
        // More cases than tests are refused at the end.
        let Some(test) = self.suite.tests.get(self.judged - 1) else { return };
        let check = match &self.misfit {
            Some(why) => Check::broken(why),
            None => {
                let evaluated = self.expected.and_then(|expected| expected.cases.get(self.evaluated));
                let check = self.check(test, case, evaluated);
                self.evaluated += usize::from(matches!(test.expected, Expected::Expression(_)));
                hint::explained(check, self.suite, &self.request.output, Some(&case.end))
            }
        };
        self.fitted.add(self.suite, test, check, Some(case).filter(|_| self.misfit.is_none()));
    }

    /// The judgment, given the runtime that ran the cases.
    ///
    /// Cases that cannot be those of the suite are a broken sandbox: then every check is an error of the verifier's.
    pub fn finish(mut self, runtime: &str) -> Judgment {
        let misfit = wrong_count("checks", self.judged, self.suite.tests.len());
        // Only where nothing was run can the runtime have no name.
        let nameless = runtime.is_empty() && self.ran;
        if let Some(why) =
            misfit.or_else(|| nameless.then(|| "the sandbox named no runtime; run the request again".to_owned()))
        {
            self.fitted = Fitted::new(self.request, self.suite);
            for test in &self.suite.tests {
                self.fitted.add(self.suite, test, Check::broken(&why), None);
            }
        }
        self.request.judgment(Results::from_details(self.fitted.details), self.fitted.fault)
    }

    /// Judges the case of one test alone, without adding it to the judgment; cases may come in any order. `None` if the suite has no such
    /// test.
    pub fn look(&self, test: usize, case: &CaseOutcome) -> Option<(Status, Option<Fault>)> {
        let before = self.suite.tests.get(..test)?;
        let evaluated = before.iter().filter(|test| matches!(test.expected, Expected::Expression(_))).count();
        let test = self.suite.tests.get(test)?;
        let check = match &self.misfit {
            Some(why) => Check::broken(why),
            None => self.check(test, case, self.expected.and_then(|expected| expected.cases.get(evaluated))),
        };
        Some((check.status, check.fault))
    }

    fn check(&self, test: &Test, case: &CaseOutcome, evaluated: Option<&CaseOutcome>) -> Check {
        let language = self.suite.language;
        let is_evaluated = matches!(test.expected, Expected::Expression(_));
        let evaluated = evaluated.filter(|_| is_evaluated).map(|case| &case.end);
        let wanted = match expected::wanted(language, test, evaluated) {
            Ok(wanted) => wanted,
            Err(unusable) => return *unusable,
        };
        if let (Some(why), true) = (case.inside, self.suite.verifier_decides) {
            return Check::undecided(why);
        }
        let allowed = Allowed::of(self.limits, case).in_suite(self.suite, test);
        answer::check(language, test, &wanted, &case.end, allowed)
    }
}

impl Fitted {
    fn new(request: &Request, suite: &Suite) -> Fitted {
        let names = suite.tests.iter().map(|test| test.name.as_str()).collect();
        // The names of a request that was read fit.
        let budget = DetailBudget::beside(request.task.as_ref(), names);
        Fitted { budget, told: Told::default(), fault: None, details: Vec::with_capacity(suite.tests.len()) }
    }

    fn add(&mut self, suite: &Suite, test: &Test, check: Check, case: Option<&CaseOutcome>) {
        self.fault = worse(self.fault, check.fault);
        let focus = Focus { expected: check.difference.expected_at, actual: check.difference.answer_at };
        let detail = self.told.fold(detail(suite, test, check, case), case.map(|case| &case.end));
        self.details.extend(self.budget.as_mut().map(|budget| budget.fit(detail, focus)));
    }
}

/// Why the outcome of the expected values cannot be that of the request's job.
fn misfit(suite: &Suite, expected: Option<&Outcome>) -> Option<String> {
    let expressions = suite.tests.iter().filter(|test| matches!(test.expected, Expected::Expression(_))).count();
    match (expressions, expected) {
        (0, Some(_)) => {
            Some("expected values were evaluated without being asked for; run the request again".to_owned())
        }
        (0, None) => None,
        (count, Some(outcome)) => wrong_count("expected values", outcome.cases.len(), count),
        (_, None) => Some("the expected values were not evaluated; run the request again".to_owned()),
    }
}

fn wrong_count(what: &str, answered: usize, expected: usize) -> Option<String> {
    (answered != expected)
        .then(|| format!("the sandbox answered {answered} of {expected} {what}; run the request again"))
}

/// The detail of a check, as the receipt shows it.
fn detail(suite: &Suite, test: &Test, check: Check, case: Option<&CaseOutcome>) -> Detail {
    let shown = suite.reveal.shows(check.status);
    let inside = case.is_some_and(|case| case.inside.is_some());
    let detail = Detail {
        decided: Some(if inside { DecidedBy::Submission } else { DecidedBy::Verifier }),
        expected: check.expected,
        actual: check.actual,
        difference: check.difference.text,
        elapsed_ms: case.map(|case| u64::try_from(case.elapsed.as_millis()).unwrap_or(u64::MAX)),
        message: check.hidden.filter(|_| !shown).map(str::to_owned).or(check.message),
        ..Detail::new(test.name.as_str(), check.status)
    };
    // An input that is not shown is not made either, because it may be long. A failure of the verifier has nothing to do with it.
    let explains = shown && check.fault != Some(Fault::Verifier);
    let detail = if explains { explain::explained(suite, test, case, detail) } else { detail };
    hidden(check.fault, detail, suite.reveal)
}
