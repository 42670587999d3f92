//! Where a workflow goes after an attempt, and which steps lead to a step.

use proofmark_predicate::{Budget, Truth, Value};
use proofmark_receipt::Json;

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

/// What is known of a step of a run.
#[derive(Clone, Debug)]
pub struct KnownStep {
    pub state: State,
    /// What follows it, as its last judgment recorded ([`NextStep::to_json`]).
    pub next: Option<Json>,
}

/// Where a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// An attempt at this step is awaited.
    Attempt {
        step: String,
        /// Pending, the retry that is awaited, or the attempt that waits for an approval.
        state: State,
    },
    /// The workflow has ended with this step.
    Ended(String),
    /// The workflow has ended without success at this step.
    Aborted(String),
    /// What follows this step is not known: it was not recorded, or leads back to a step that is done.
    Unknown(String),
}

impl NextStep {
    /// As judgments record it: the step, or `null` where the workflow ends; `None` where neither is known.
    #[must_use]
    pub fn to_json(&self) -> Option<Json> {
        match self {
            Self::Step(step) => Some(step.as_str().into()),
            Self::End => Some(Json::Null),
            Self::Abort | Self::Unknown(_) => None,
        }
    }
}

/// What is due in a run: its steps are followed from the first one, by what is known of each.
///
/// # Errors
/// That of `known`.
pub fn due<E>(workflow: &Workflow, mut known: impl FnMut(&str) -> Result<Option<KnownStep>, E>) -> Result<Due, E> {
    let mut step = workflow.steps.first().map(|step| step.id.clone()).unwrap_or_default();
    let mut before: Option<String> = None;
    // A run that has been at every step goes in a circle.
    for _ in 0..=workflow.steps.len() {
        let Some(position) = workflow.position(&step) else { return Ok(Due::Unknown(before.unwrap_or(step))) };
        let Some(KnownStep { state, next }) = known(&step)? else {
            return Ok(Due::Attempt { step, state: State::Pending });
        };
        let follows = match &state {
            State::Pending | State::Evaluating { .. } | State::AwaitingApproval { .. } | State::Retry(_) => {
                return Ok(Due::Attempt { step, state });
            }
            State::Aborted { action: Action::Abort, .. } => return Ok(Due::Aborted(step)),
            State::Aborted { action: Action::Goto(goto), .. } => Some(Some(goto.clone())),
            State::Accepted { .. } | State::AcceptedWithWarnings { .. } | State::Aborted { .. } => {
                following(workflow, position, next.as_ref())
            }
        };
        match follows {
            None => return Ok(Due::Unknown(step)),
            Some(None) => return Ok(Due::Ended(step)),
            Some(Some(goto)) => before = Some(std::mem::replace(&mut step, goto)),
        }
    }
    Ok(Due::Unknown(step))
}

/// The step after this one, none at the end; `None` where only the judgment knew it and did not record it.
fn following(workflow: &Workflow, position: usize, recorded: Option<&Json>) -> Option<Option<String>> {
    match (&workflow.steps.get(position)?.next, recorded) {
        (Next::End, _) => Some(None),
        (Next::Following, _) => Some(workflow.next_steps(position).first().map(|id| (*id).to_owned())),
        (Next::Step(goto), _) => Some(Some(goto.clone())),
        (Next::Branches(_), Some(Json::Null)) => Some(None),
        (Next::Branches(branches), Some(recorded)) => {
            let goto = recorded.as_str().filter(|goto| branches.iter().any(|branch| branch.goto == *goto))?;
            Some(Some(goto.to_owned()))
        }
        (Next::Branches(_), None) => None,
    }
}

/// What follows a step in this state, by the facts of its last attempt; `None` while an attempt is awaited.
pub fn next_step(workflow: &Workflow, step: &str, state: &State, evidence: &AttemptEvidence<'_>) -> Option<NextStep> {
    let after = || Some(after(workflow, workflow.position(step)?, evidence));
    match state {
        State::Accepted { .. } | State::AcceptedWithWarnings { .. } => after(),
        State::Aborted { action: Action::Continue, .. } => after(),
        State::Aborted { action: Action::Goto(step), .. } => Some(NextStep::Step(step.clone())),
        State::Aborted { action: Action::Abort, .. } => Some(NextStep::Abort),
        State::Pending | State::Evaluating { .. } | State::AwaitingApproval { .. } | State::Retry(_) => None,
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
            Some(State::Pending | State::Evaluating { .. } | State::AwaitingApproval { .. } | State::Retry(_))
            | None => false,
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
