//! The acceptance state machine of one run of a step: `(state, event) -> state`.

mod delay;
mod document;
mod prompt;

pub use delay::{delay_ms, seed};
pub use document::StateError;

pub(crate) use delay::longest_delay_ms;

use proofmark_receipt::Sha256Digest;
use thiserror::Error;

use crate::contract::Contract;
use crate::evaluate::{Decision, Judgment};
use crate::workflow::{Action, OnFailure};

/// Where the run of a step is.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum State {
    /// The first attempt is awaited.
    #[default]
    Pending,
    /// An attempt is being judged.
    Evaluating {
        /// The attempt, from 1.
        attempt: u32,
        /// The digest of the contract it is judged by.
        contract: Sha256Digest,
        /// What was awaited before; `None` at the first attempt.
        awaited: Option<Retry>,
    },
    /// The step is done.
    Accepted {
        /// The attempt that was accepted.
        attempt: u32,
    },
    /// The step is done; not all of its rules are met, and its contract asks for no more than a warning.
    AcceptedWithWarnings {
        /// The attempt that was accepted.
        attempt: u32,
    },
    /// Another attempt is awaited.
    Retry(Retry),
    /// The step is not done, and no attempt follows.
    Aborted {
        /// The last attempt.
        attempt: u32,
        /// What the workflow does now.
        action: Action,
    },
}

/// An attempt that is awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The attempt, from 2.
    pub attempt: u32,
    /// What it is told.
    pub prompt: String,
    /// When it may come, in milliseconds since 1970.
    pub not_before_ms: i64,
    /// The digest of the contract it will be judged by.
    pub contract: Sha256Digest,
}

/// What happens to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An attempt came in.
    Submitted {
        /// The attempt, from 1.
        attempt: u32,
        /// The digest of the contract it is to be judged by.
        contract: Sha256Digest,
        /// When, in milliseconds since 1970.
        now_ms: i64,
    },
    /// The attempt was judged.
    Judged {
        /// The attempt.
        attempt: u32,
        /// What follows from the judgment.
        decision: Decision,
        /// What the next attempt is told, should there be one.
        plan: Plan,
        /// When, in milliseconds since 1970.
        now_ms: i64,
    },
    /// The judgment of the attempt did not come to an end; the attempt may come again.
    Interrupted {
        /// The attempt.
        attempt: u32,
    },
}

/// What happens when an attempt is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How often and how fast the step is tried again.
    pub on_failure: OnFailure,
    /// What the next attempt is told.
    pub prompt: String,
    /// What delays are drawn from; the same for all attempts of a run, so that they can be replayed.
    pub seed: u64,
}

/// Why an event does not fit the state. The state stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The step is done already.
    #[error("attempt {attempt} comes after attempt {accepted} was accepted; start another run")]
    AlreadyAccepted {
        /// The attempt that came.
        attempt: u32,
        /// The attempt that was accepted.
        accepted: u32,
    },
    /// The run is over.
    #[error("attempt {attempt} comes after the run was aborted at attempt {last}; start another run")]
    AlreadyAborted {
        /// The attempt that came.
        attempt: u32,
        /// The last attempt.
        last: u32,
    },
    /// The attempt was judged already.
    #[error("attempt {attempt} was judged already; attempt {expected} is awaited")]
    Repeated {
        /// The attempt that came.
        attempt: u32,
        /// The attempt that is awaited.
        expected: u32,
    },
    /// The attempt is older than the one before it.
    #[error("attempt {attempt} comes late; attempt {expected} is awaited")]
    Late {
        /// The attempt that came.
        attempt: u32,
        /// The attempt that is awaited.
        expected: u32,
    },
    /// An attempt was left out.
    #[error("attempt {attempt} comes out of order; attempt {expected} is awaited")]
    OutOfOrder {
        /// The attempt that came.
        attempt: u32,
        /// The attempt that is awaited.
        expected: u32,
    },
    /// The delay is not over.
    #[error("attempt {attempt} comes {early_ms} ms too early; wait")]
    TooEarly {
        /// The attempt that came.
        attempt: u32,
        /// How much too early, in milliseconds.
        early_ms: u64,
    },
    /// An attempt is being judged.
    #[error("attempt {attempt} comes while attempt {judging} is being judged; wait")]
    BeingJudged {
        /// The attempt that came.
        attempt: u32,
        /// The attempt that is being judged.
        judging: u32,
    },
    /// Nothing is being judged.
    #[error("attempt {0} is not being judged; submit it first")]
    NotEvaluating(u32),
    /// The contract is another than at the first attempt.
    #[error("the contract was changed between attempts; start another run")]
    OtherContract,
}

impl State {
    /// The word: `pending`, `evaluating`, `accepted`, `accepted_with_warnings`, `retry` or `aborted`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Evaluating { .. } => "evaluating",
            Self::Accepted { .. } => "accepted",
            Self::AcceptedWithWarnings { .. } => "accepted_with_warnings",
            Self::Retry(_) => "retry",
            Self::Aborted { .. } => "aborted",
        }
    }

    /// Whether nothing follows.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Accepted { .. } | Self::AcceptedWithWarnings { .. } | Self::Aborted { .. } => true,
            Self::Pending | Self::Evaluating { .. } | Self::Retry(_) => false,
        }
    }

    /// The attempt that is awaited, being judged, or was the last one.
    pub fn attempt(&self) -> u32 {
        match self {
            Self::Pending => 1,
            Self::Evaluating { attempt, .. }
            | Self::Accepted { attempt }
            | Self::AcceptedWithWarnings { attempt }
            | Self::Aborted { attempt, .. } => *attempt,
            Self::Retry(retry) => retry.attempt,
        }
    }

    /// The state after an event.
    ///
    /// # Errors
    /// [`Refusal`] names why the event does not fit; the state stays as it is.
    pub fn apply(&self, event: &Event) -> Result<Self, Refusal> {
        match (self, event) {
            (Self::Pending, Event::Submitted { attempt, contract, .. }) => match attempt {
                1 => Ok(Self::Evaluating { attempt: 1, contract: *contract, awaited: None }),
                other => Err(misplaced(*other, 1)),
            },
            (Self::Retry(retry), Event::Submitted { attempt, contract, now_ms }) => {
                resubmit(retry, *attempt, contract, *now_ms)
            }
            (Self::Evaluating { attempt: judging, .. }, Event::Submitted { attempt, .. }) => {
                Err(Refusal::BeingJudged { attempt: *attempt, judging: *judging })
            }
            (
                Self::Evaluating { attempt: judging, contract, .. },
                Event::Judged { attempt, decision, plan, now_ms },
            ) if judging == attempt => Ok(judged(*attempt, contract, *decision, plan, *now_ms)),
            (Self::Evaluating { attempt: judging, awaited, .. }, Event::Interrupted { attempt })
                if judging == attempt =>
            {
                Ok(awaited.clone().map_or(Self::Pending, Self::Retry))
            }
            (
                Self::Pending | Self::Retry(_) | Self::Evaluating { .. },
                Event::Judged { attempt, .. } | Event::Interrupted { attempt },
            ) => Err(Refusal::NotEvaluating(*attempt)),
            (Self::Accepted { attempt: accepted } | Self::AcceptedWithWarnings { attempt: accepted }, event) => {
                Err(Refusal::AlreadyAccepted { attempt: event.attempt(), accepted: *accepted })
            }
            (Self::Aborted { attempt: last, .. }, event) => {
                Err(Refusal::AlreadyAborted { attempt: event.attempt(), last: *last })
            }
        }
    }
}

impl Event {
    /// The attempt it is about.
    pub fn attempt(&self) -> u32 {
        match self {
            Self::Submitted { attempt, .. } | Self::Judged { attempt, .. } | Self::Interrupted { attempt } => *attempt,
        }
    }
}

impl Plan {
    /// What happens when `judgment` rejects: the contract's `onFailure`, and its retry prompt followed by the rules
    /// that failed and the facts that are missing.
    pub fn of(contract: &Contract, judgment: &Judgment, seed: u64) -> Self {
        Self { on_failure: contract.on_failure.clone(), prompt: prompt::write(contract, judgment), seed }
    }
}

impl Refusal {
    /// The name of the refusal, for programs; stable.
    pub fn code(&self) -> &'static str {
        match self {
            Self::AlreadyAccepted { .. } => "already_accepted",
            Self::AlreadyAborted { .. } => "already_aborted",
            Self::Repeated { .. } => "repeated_attempt",
            Self::Late { .. } => "late_attempt",
            Self::OutOfOrder { .. } => "out_of_order_attempt",
            Self::TooEarly { .. } => "early_attempt",
            Self::BeingJudged { .. } => "being_judged",
            Self::NotEvaluating(_) => "not_evaluating",
            Self::OtherContract => "other_contract",
        }
    }
}

fn resubmit(retry: &Retry, attempt: u32, contract: &Sha256Digest, now_ms: i64) -> Result<State, Refusal> {
    if attempt != retry.attempt {
        return Err(misplaced(attempt, retry.attempt));
    }
    if *contract != retry.contract {
        return Err(Refusal::OtherContract);
    }
    match retry.not_before_ms.checked_sub(now_ms).map(u64::try_from) {
        Some(Ok(early_ms)) if early_ms > 0 => Err(Refusal::TooEarly { attempt, early_ms }),
        _ => Ok(State::Evaluating { attempt, contract: *contract, awaited: Some(retry.clone()) }),
    }
}

fn misplaced(attempt: u32, expected: u32) -> Refusal {
    match expected.checked_sub(attempt) {
        Some(1) if attempt > 0 => Refusal::Repeated { attempt, expected },
        Some(2..) if attempt > 0 => Refusal::Late { attempt, expected },
        Some(_) | None => Refusal::OutOfOrder { attempt, expected },
    }
}

fn judged(attempt: u32, contract: &Sha256Digest, decision: Decision, plan: &Plan, now_ms: i64) -> State {
    let attempts_left = attempt < plan.on_failure.max_attempts;
    match (decision, attempts_left) {
        (Decision::Accept, _) => State::Accepted { attempt },
        (Decision::AcceptWithWarnings, _) => State::AcceptedWithWarnings { attempt },
        (Decision::RejectAndRetry, true) => {
            let delay = delay_ms(&plan.on_failure, attempt, plan.seed);
            State::Retry(Retry {
                attempt: attempt.saturating_add(1),
                prompt: plan.prompt.clone(),
                not_before_ms: now_ms.saturating_add(i64::try_from(delay).unwrap_or(i64::MAX)),
                contract: *contract,
            })
        }
        (Decision::RejectAndRetry, false) => State::Aborted { attempt, action: plan.on_failure.action.clone() },
        (Decision::RejectAndAbort, _) => State::Aborted { attempt, action: Action::Abort },
    }
}
