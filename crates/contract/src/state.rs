//! The acceptance state machine of one run of a step: `(state, event) -> state`, without side effects.
//!
//! | state | submitted | judged | interrupted | reopened |
//! |---|---|---|---|---|
//! | `pending` | attempt 1: `evaluating` | not evaluating | not evaluating | not aborted |
//! | `retry` n | attempt n, same contract, not too early: `evaluating` | not evaluating | not evaluating | not aborted |
//! | `awaiting_approval` n | attempt n, same contract: `evaluating` | not evaluating | not evaluating | not aborted |
//! | `evaluating` n | being judged | attempt n: by its outcome | attempt n: back to what was awaited | not aborted |
//! | `accepted`, `accepted_with_warnings` | already accepted | already accepted | already accepted | already accepted |
//! | `aborted` n | already aborted | already aborted | already aborted | after attempt n: `retry` n+1 |
//!
//! An outcome leads on as follows: accepted to `accepted` or `accepted_with_warnings`; reject-and-retry to `retry` n+1 while
//! there are attempts, else to `aborted` with the action of `onFailure`; reject-and-abort to `aborted` with `abort`;
//! await-approval to `awaiting_approval`, from which the same attempt comes again.
//!
//! The attempt number makes every event safe to repeat: the number that is awaited is part of the state, so a response
//! that arrives twice, late or out of order is refused and cannot use an attempt up. The contract's digest is part of it
//! too, because a weaker contract between two attempts would accept what the first one refused.

mod document;
mod prompt;

use proofmark_receipt::{Sha256Digest, Timestamp};
use thiserror::Error;

use crate::contract::Contract;
use crate::delay::delay_ms;
use crate::evaluate::{AttemptOutcome, Judgment};
use crate::workflow::{Action, OnFailure};

pub use document::StateError;

/// Where the run of a step is.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum State {
    /// The first attempt is awaited.
    #[default]
    Pending,
    Evaluating {
        /// From 1.
        attempt: u32,
        /// The digest of the contract it is judged by.
        contract: Sha256Digest,
        /// The state to return to if the judgment is interrupted; `None` at the first attempt.
        awaited: Option<Retry>,
    },
    Accepted {
        attempt: u32,
    },
    /// The step is done although not all rules are met: its contract only warns.
    AcceptedWithWarnings {
        attempt: u32,
    },
    /// All that the attempt lacks is a person's approval. The same attempt is awaited again, once it is approved or denied.
    AwaitingApproval {
        attempt: u32,
        /// The digest of the contract it was judged by.
        contract: Sha256Digest,
        /// The state before the attempt; `None` at the first one.
        awaited: Option<Retry>,
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
    /// From 2.
    pub attempt: u32,
    pub prompt: String,
    /// The earliest time of the attempt, in milliseconds since 1970.
    pub not_before_ms: i64,
    /// The digest of the contract it will be judged by.
    pub contract: Sha256Digest,
}

/// What happens to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Submitted {
        /// From 1.
        attempt: u32,
        /// The digest of the contract to judge it by.
        contract: Sha256Digest,
        /// In milliseconds since 1970.
        now_ms: i64,
    },
    Judged {
        attempt: u32,
        outcome: AttemptOutcome,
        /// Used where the attempt is rejected.
        plan: RetryPlan,
        /// In milliseconds since 1970.
        now_ms: i64,
    },
    /// The judgment was stopped or failed; the same attempt may come again.
    Interrupted { attempt: u32 },
    /// A reviewer lets one more attempt follow.
    Reopened {
        /// The last attempt.
        attempt: u32,
        /// The digest of the contract that the next attempt is judged by.
        contract: Sha256Digest,
        /// The prompt of the next attempt.
        prompt: String,
        /// In milliseconds since 1970.
        now_ms: i64,
    },
}

/// What happens when an attempt is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPlan {
    pub on_failure: OnFailure,
    /// The prompt of the next attempt.
    pub prompt: String,
    /// What delays are drawn from: one for all attempts of a run, so that delays can be computed again.
    pub seed: u64,
}

/// Why an event does not fit the state. The state stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TransitionError {
    #[error("attempt {attempt} comes after attempt {accepted} was accepted")]
    AlreadyAccepted { attempt: u32, accepted: u32 },
    #[error("attempt {attempt} comes after the run was aborted at attempt {last}")]
    AlreadyAborted { attempt: u32, last: u32 },
    #[error("attempt {attempt} was judged before; attempt {expected} is awaited")]
    Repeated { attempt: u32, expected: u32 },
    #[error("attempt {attempt} comes late; attempt {expected} is awaited")]
    Late { attempt: u32, expected: u32 },
    #[error("attempt {attempt} comes out of order; attempt {expected} is awaited")]
    OutOfOrder { attempt: u32, expected: u32 },
    #[error("attempt {attempt} comes {early_ms} ms too early")]
    TooEarly {
        attempt: u32,
        early_ms: u64,
        /// The earliest time of the attempt, in milliseconds since 1970.
        not_before_ms: i64,
    },
    #[error("attempt {attempt} comes while attempt {judging} is being judged")]
    BeingJudged { attempt: u32, judging: u32 },
    #[error("attempt {0} is not being judged")]
    NotEvaluating(u32),
    #[error("the contract changed between attempts")]
    OtherContract,
    #[error("only a step that was aborted is reopened, and this one is `{0}`")]
    NotAborted(&'static str),
}

impl State {
    /// `pending`, `evaluating`, `accepted`, `accepted_with_warnings`, `awaiting_approval`, `retry` or `aborted`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Evaluating { .. } => "evaluating",
            Self::Accepted { .. } => "accepted",
            Self::AcceptedWithWarnings { .. } => "accepted_with_warnings",
            Self::AwaitingApproval { .. } => "awaiting_approval",
            Self::Retry(_) => "retry",
            Self::Aborted { .. } => "aborted",
        }
    }

    /// Whether no attempt is awaited any more.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Accepted { .. } | Self::AcceptedWithWarnings { .. } | Self::Aborted { .. } => true,
            Self::Pending | Self::Evaluating { .. } | Self::AwaitingApproval { .. } | Self::Retry(_) => false,
        }
    }

    /// The attempt that is awaited or being judged, or that was the last one.
    pub fn attempt(&self) -> u32 {
        match self {
            Self::Pending => 1,
            Self::Evaluating { attempt, .. }
            | Self::Accepted { attempt }
            | Self::AcceptedWithWarnings { attempt }
            | Self::AwaitingApproval { attempt, .. }
            | Self::Aborted { attempt, .. } => *attempt,
            Self::Retry(retry) => retry.attempt,
        }
    }

    /// The state after an event.
    ///
    /// # Errors
    /// [`TransitionError`] when the event does not fit.
    pub fn apply(&self, event: &Event) -> Result<Self, TransitionError> {
        match (self, event) {
            (Self::Pending, Event::Submitted { attempt, contract, .. }) => match attempt {
                1 => Ok(Self::Evaluating { attempt: 1, contract: *contract, awaited: None }),
                other => Err(misplaced(*other, 1)),
            },
            (Self::Retry(retry), Event::Submitted { attempt, contract, now_ms }) => {
                resubmit(retry, *attempt, contract, *now_ms)
            }
            (
                Self::AwaitingApproval { attempt: expected, contract: by, awaited },
                Event::Submitted { attempt, contract, .. },
            ) => match (attempt == expected, contract == by) {
                (false, _) => Err(misplaced(*attempt, *expected)),
                (true, false) => Err(TransitionError::OtherContract),
                (true, true) => {
                    Ok(Self::Evaluating { attempt: *attempt, contract: *contract, awaited: awaited.clone() })
                }
            },
            (Self::Evaluating { attempt: judging, .. }, Event::Submitted { attempt, .. }) => {
                Err(TransitionError::BeingJudged { attempt: *attempt, judging: *judging })
            }
            (
                Self::Evaluating { attempt: judging, contract, awaited },
                Event::Judged { attempt, outcome, plan, now_ms },
            ) if judging == attempt => Ok(judged(*attempt, contract, awaited.as_ref(), (*outcome, plan), *now_ms)),
            (Self::Evaluating { attempt: judging, awaited, .. }, Event::Interrupted { attempt })
                if judging == attempt =>
            {
                Ok(awaited.clone().map_or(Self::Pending, Self::Retry))
            }
            (Self::Aborted { attempt: last, .. }, Event::Reopened { attempt, contract, prompt, now_ms })
                if last == attempt =>
            {
                Ok(Self::Retry(Retry {
                    attempt: attempt.saturating_add(1),
                    prompt: prompt.clone(),
                    not_before_ms: *now_ms,
                    contract: *contract,
                }))
            }
            (
                Self::Pending | Self::Retry(_) | Self::AwaitingApproval { .. } | Self::Evaluating { .. },
                Event::Reopened { .. },
            ) => Err(TransitionError::NotAborted(self.as_str())),
            (
                Self::Pending | Self::Retry(_) | Self::AwaitingApproval { .. } | Self::Evaluating { .. },
                Event::Judged { attempt, .. } | Event::Interrupted { attempt },
            ) => Err(TransitionError::NotEvaluating(*attempt)),
            (Self::Accepted { attempt: accepted } | Self::AcceptedWithWarnings { attempt: accepted }, event) => {
                Err(TransitionError::AlreadyAccepted { attempt: event.attempt(), accepted: *accepted })
            }
            (Self::Aborted { attempt: last, .. }, event) => {
                Err(TransitionError::AlreadyAborted { attempt: event.attempt(), last: *last })
            }
        }
    }
}

impl Event {
    /// The attempt it is about.
    pub fn attempt(&self) -> u32 {
        match self {
            Self::Submitted { attempt, .. }
            | Self::Judged { attempt, .. }
            | Self::Interrupted { attempt }
            | Self::Reopened { attempt, .. } => *attempt,
        }
    }
}

impl RetryPlan {
    /// The plan for when `judgment` rejects: the contract's `onFailure`, and its retry prompt followed by the rules that
    /// failed.
    pub fn of(contract: &Contract, judgment: &Judgment, seed: u64) -> Self {
        Self { on_failure: contract.on_failure.clone(), prompt: prompt::write(contract, judgment), seed }
    }
}

impl TransitionError {
    /// A stable name for programs.
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
            Self::NotAborted(_) => "not_aborted",
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::AlreadyAccepted { .. } | Self::OtherContract => "start another run".to_owned(),
            Self::AlreadyAborted { .. } => {
                "have a reviewer reopen it with `proofmark run reopen`, or start another run".to_owned()
            }
            Self::NotAborted(_) => "ask `proofmark run next` what is due".to_owned(),
            Self::TooEarly { not_before_ms, .. } => {
                format!("send it at {} or later", Timestamp::from_unix_millis(*not_before_ms))
            }
            Self::BeingJudged { .. } => "wait, then try again".to_owned(),
            Self::NotEvaluating(_) => "submit the attempt first".to_owned(),
            Self::Repeated { expected, .. } | Self::Late { expected, .. } | Self::OutOfOrder { expected, .. } => {
                format!("send attempt {expected}, or leave the number out")
            }
        }
    }
}

fn resubmit(retry: &Retry, attempt: u32, contract: &Sha256Digest, now_ms: i64) -> Result<State, TransitionError> {
    // The number first: a response that comes twice or late is refused as that, whatever its contract.
    if attempt != retry.attempt {
        return Err(misplaced(attempt, retry.attempt));
    }
    if *contract != retry.contract {
        return Err(TransitionError::OtherContract);
    }
    // A negative difference does not fit `u64`: the time has come.
    match retry.not_before_ms.checked_sub(now_ms).map(u64::try_from) {
        Some(Ok(early_ms)) if early_ms > 0 => {
            Err(TransitionError::TooEarly { attempt, early_ms, not_before_ms: retry.not_before_ms })
        }
        _ => Ok(State::Evaluating { attempt, contract: *contract, awaited: Some(retry.clone()) }),
    }
}

fn misplaced(attempt: u32, expected: u32) -> TransitionError {
    // Attempts are counted from 1, so attempt 0 was never awaited and is neither repeated nor late.
    match expected.checked_sub(attempt) {
        Some(1) if attempt > 0 => TransitionError::Repeated { attempt, expected },
        Some(2..) if attempt > 0 => TransitionError::Late { attempt, expected },
        Some(_) | None => TransitionError::OutOfOrder { attempt, expected },
    }
}

fn judged(
    attempt: u32,
    contract: &Sha256Digest,
    awaited: Option<&Retry>,
    (outcome, plan): (AttemptOutcome, &RetryPlan),
    now_ms: i64,
) -> State {
    let attempts_left = attempt < plan.on_failure.max_attempts;
    match (outcome, attempts_left) {
        (AttemptOutcome::Accept, _) => State::Accepted { attempt },
        (AttemptOutcome::AcceptWithWarnings, _) => State::AcceptedWithWarnings { attempt },
        (AttemptOutcome::AwaitApproval, _) => {
            State::AwaitingApproval { attempt, contract: *contract, awaited: awaited.cloned() }
        }
        (AttemptOutcome::RejectAndRetry, true) => {
            let delay = delay_ms(&plan.on_failure, attempt, plan.seed);
            State::Retry(Retry {
                attempt: attempt.saturating_add(1),
                prompt: plan.prompt.clone(),
                // A delay is at most `MAX_DELAY_MS`, so neither bound is reached with times since 1970.
                not_before_ms: now_ms.saturating_add(i64::try_from(delay).unwrap_or(i64::MAX)),
                contract: *contract,
            })
        }
        (AttemptOutcome::RejectAndRetry, false) => State::Aborted { attempt, action: plan.on_failure.action.clone() },
        // The action of `onFailure` follows attempts that are used up, not a contract that aborts at once.
        (AttemptOutcome::RejectAndAbort, _) => State::Aborted { attempt, action: Action::Abort },
    }
}
