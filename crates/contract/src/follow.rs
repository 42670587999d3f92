//! Where a workflow goes after an attempt, and which steps lead to a step.

use proofmark_predicate::{Budget, Truth, Value};

use crate::evaluate::MAX_EVALUATION_STEPS;
use crate::evidence::{AttemptEvidence, Facts, MissingFact};
use crate::lint;
use crate::state::State;
use crate::workflow::{ABORT, Action, Branch, Next, RETRIES_EXHAUSTED, When, Workflow};

/// What follows a step that needs no more attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    Step(String),
    /// The workflow ends.
    End,
    /// The workflow ends without success.
    Abort,
    /// No branch is taken, or these facts are missing to tell which.
    Unknown(Vec<MissingFact>),
}

/// What follows a step in this state, by the facts of its last attempt; `None` while an attempt is awaited.
pub fn next_step(workflow: &Workflow, step: &str, state: &State, evidence: &AttemptEvidence<'_>) -> Option<NextStep> {
    let after = || Some(after(workflow, workflow.position(step)?, evidence));
    match state {
        State::Accepted { .. } | State::AcceptedWithWarnings { .. } => after(),
        State::Aborted { action: Action::Continue, .. } => after(),
        State::Aborted { action: Action::Goto(step), .. } => Some(NextStep::Step(step.clone())),
        State::Aborted { action: Action::Abort, .. } => Some(NextStep::Abort),
        State::Pending | State::Evaluating { .. } | State::Retry(_) => None,
    }
}

/// Whether a run may be at `step`: it is the first, or the state of a step that leads to it lets it follow. `state_of` has
/// the states of the other steps of the run.
///
/// # Errors
/// That of `state_of`.
pub fn is_in_order<E>(
    workflow: &Workflow,
    step: &str,
    mut state_of: impl FnMut(&str) -> Result<Option<State>, E>,
) -> Result<bool, E> {
    let Some(position) = workflow.position(step) else {
        return Ok(false);
    };
    if position == 0 {
        return Ok(true);
    }
    for from in lint::leading_to(workflow, position) {
        let Some(from) = workflow.steps.get(from) else { continue };
        let follows = match state_of(&from.id)? {
            Some(State::Accepted { .. } | State::AcceptedWithWarnings { .. }) => true,
            Some(State::Aborted { action: Action::Continue, .. }) => true,
            Some(State::Aborted { action: Action::Goto(goto), .. }) => goto == step,
            Some(State::Aborted { action: Action::Abort, .. }) => false,
            Some(State::Pending | State::Evaluating { .. } | State::Retry(_)) | None => false,
        };
        if follows {
            return Ok(true);
        }
    }
    Ok(false)
}

fn after(workflow: &Workflow, position: usize, evidence: &AttemptEvidence<'_>) -> NextStep {
    let to = |goto: &str| if goto == ABORT { NextStep::Abort } else { NextStep::Step(goto.to_owned()) };
    match workflow.steps.get(position).map(|step| &step.next) {
        None | Some(Next::End) => NextStep::End,
        Some(Next::Following) => {
            let next = workflow.next_steps(position).first().map(|id| (*id).to_owned());
            next.map_or(NextStep::End, NextStep::Step)
        }
        Some(Next::Step(goto)) => to(goto),
        Some(Next::Branches(branches)) => match taken(branches, evidence) {
            Ok(goto) => to(goto),
            Err(missing) => NextStep::Unknown(missing),
        },
    }
}

/// Where the first branch leads whose condition holds. A condition that is unknown may be the one to take.
fn taken<'w>(branches: &'w [Branch], evidence: &AttemptEvidence<'_>) -> Result<&'w str, Vec<MissingFact>> {
    let budget = Budget::new(MAX_EVALUATION_STEPS);
    let facts = Facts::of(evidence, &budget).all;
    // Judged, so attempts are not exhausted.
    let facts: Value = named(&facts).chain([(RETRIES_EXHAUSTED, Value::Bool(false))]).collect();
    for branch in branches {
        let truth = match &branch.when {
            When::Always => Truth::True,
            When::RetriesExhausted => Truth::False,
            When::Condition(condition) => condition.truth(&facts, &budget),
        };
        match truth {
            Truth::True => return Ok(&branch.goto),
            Truth::False => {}
            Truth::Unknown(missing) => {
                return Err(missing
                    .into_iter()
                    .map(|fact| MissingFact::new(fact.path, &fact.why.to_string()))
                    .collect());
            }
        }
    }
    Err(Vec::new())
}

fn named(facts: &Value) -> impl Iterator<Item = (&'static str, Value)> {
    ["payload", "context", "calls"].into_iter().filter_map(|name| Some((name, facts.get(name)?.clone())))
}
