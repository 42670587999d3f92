//! What one search remembers: its hypotheses repeat operations on the same facts, and ask the same of them.
//!
//! Remembered work takes the steps of the budget again, so a search finds the same with a memo and without one.

use std::cell::{OnceCell, RefCell};

use proofmark_evidence::Statement;
use proofmark_predicate::{Budget, Predicate, Value};

use super::Change;
use crate::conditions;
use crate::input::Input;
use crate::request::Request;
use crate::rule_ref::RuleRef;

/// The most requests that a search remembers.
const MAX_SOLUTIONS: usize = 32;
/// Facts with more values than this, those of the calls left out, are not remembered: each hypothesis holds a copy of them.
const MAX_VALUES: u64 = 1_000;
/// Facts with more calls than this are not remembered. Of the calls a hypothesis holds only a list.
const MAX_CALLS: usize = 2_000;

/// Makes the predicate of a rule true or false, by one of the guesses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) source: RuleRef,
    pub(super) truth: bool,
    pub(super) variant: usize,
}

struct Solution {
    of: Request,
    task: Task,
    /// `None` when no facts were found.
    made: Option<Request>,
    steps: u64,
}

/// What one search remembers.
#[derive(Default)]
pub(super) struct Memo {
    solutions: RefCell<Vec<Solution>>,
    /// Changes as compiled predicates; `None` for a text that cannot be compiled.
    predicates: RefCell<Vec<(String, Option<Predicate>)>>,
    /// What changes are tested on before anything is changed.
    facts: OnceCell<Value>,
}

impl Memo {
    /// The request in which the task is done, by `solve` unless it is known; the outer option is `None` once the budget is
    /// used up, the inner one when no facts are found.
    pub(super) fn solution(
        &self,
        of: &Request,
        task: Task,
        budget: &Budget<'_>,
        solve: impl FnOnce() -> Option<Option<Request>>,
    ) -> Option<Option<Request>> {
        let known = self
            .solutions
            .borrow()
            .iter()
            .find(|known| known.task == task && known.of.is(of))
            .map(|known| (known.made.clone(), known.steps));
        if let Some((made, steps)) = known {
            budget.charge(steps).ok()?;
            return Some(made);
        }
        let before = budget.taken();
        let made = solve()?;
        let mut solutions = self.solutions.borrow_mut();
        if budget.failure().is_none() && solutions.len() < MAX_SOLUTIONS && is_small(made.as_ref().unwrap_or(of)) {
            let steps = budget.taken() - before;
            solutions.push(Solution { of: of.clone(), task, made: made.clone(), steps });
        }
        Some(made)
    }

    /// Whether all changes hold for these facts; `statements` are some of them, compiled. The texts are tested and not
    /// the operations, because `admits` has nothing but the texts.
    pub(super) fn all_hold(
        &self,
        changes: &[Change],
        statements: &[&Statement],
        input: &Input<'_>,
        facts: &Value,
    ) -> bool {
        changes.iter().all(|change| {
            if let Some(known) = statements.iter().find(|known| known.text() == change.predicate) {
                return known.predicate().is_some_and(|predicate| predicate.has_truth(true, facts, input.budget));
            }
            let mut predicates = self.predicates.borrow_mut();
            let known = predicates.iter().position(|(text, _)| *text == change.predicate);
            let at = known.unwrap_or_else(|| {
                predicates.push((change.predicate.clone(), Predicate::compile(&change.predicate).ok()));
                predicates.len() - 1
            });
            // As `conditions::holds`.
            let predicate = predicates.get(at).and_then(|(_, predicate)| predicate.as_ref());
            predicate.is_some_and(|predicate| predicate.has_truth(true, facts, input.budget))
        })
    }

    /// What changes are tested on before anything is changed. All hypotheses of a search are of the one `input`.
    pub(super) fn facts(&self, input: &Input<'_>) -> &Value {
        self.facts.get_or_init(|| conditions::facts(input.policy, input.request, input.evidence, input.moment))
    }
}

fn is_small(request: &Request) -> bool {
    request.calls().unwrap_or_default().len() <= MAX_CALLS && request.values_but_calls() <= MAX_VALUES
}
