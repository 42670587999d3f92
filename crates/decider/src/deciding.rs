//! A decision on its way: what it waits for before it is made, and afterwards until it is on disk.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use proofmark_boundary::{ActionPolicy, Decision, DecisionReceipt, SignedDecision};
use proofmark_store::{Pending, StoreError, Written};
use proofmark_verifier::sync::{KeyGuard, Waiting};

use crate::ahead::Entry;
use crate::decide::DecideError;

/// How often something is tried again because others were faster.
const MAX_RACES: u32 = 100;

/// Tries until an attempt is settled: one that others have overtaken gives nothing, and is tried again on what they left.
pub(crate) fn settled<T, E: From<DecideError>>(mut attempt: impl FnMut() -> Result<Option<T>, E>) -> Result<T, E> {
    for _ in 0..MAX_RACES {
        if let Some(settled) = attempt()? {
            return Ok(settled);
        }
    }
    Err(DecideError::Raced.into())
}

/// What a decision has before it is made: its turn, and the policy that it was begun with.
#[derive(Default)]
pub struct Attempt {
    pub(crate) policy: Option<Arc<ActionPolicy>>,
    names: Vec<KeyGuard>,
    /// How often it was made.
    made: u32,
}

impl Attempt {
    /// Holds what was waited for.
    pub fn hold(&mut self, name: KeyGuard) {
        self.names.push(name);
    }

    pub(crate) fn holds(&self, name: &str) -> bool {
        self.names.iter().any(|held| held.name() == name)
    }

    pub(crate) fn release(&mut self, name: &str) {
        self.names.retain(|held| held.name() != name);
    }

    /// Counts one more time that it is made.
    pub(crate) fn count(&mut self) -> Result<(), DecideError> {
        self.made += 1;
        if self.made > MAX_RACES { Err(DecideError::Raced) } else { Ok(()) }
    }
}

/// What became of the beginning of a decision.
pub enum Begun {
    /// Another decision on the action is being made, or another request with the client's key is not on disk yet.
    Waits(Waiting),
    Made(Deciding),
}

/// A decision that is made, and may not be on disk yet.
///
/// Ready once the decision is on disk; with none where it was overtaken, and has to be begun again. A [`DecideError`] allows
/// nothing.
#[must_use = "a decision counts only once it is on disk"]
pub struct Deciding {
    stage: Stage,
    /// The names that no other decision takes until this is dropped.
    _names: Vec<KeyGuard>,
}

enum Stage {
    /// The same request got this decision before.
    Answered(Box<Decided>),
    Issuing(Box<Issuing>),
    /// The result was taken.
    Over,
}

/// A decision that was handed to the store.
pub(crate) struct Issuing {
    pub(crate) pending: Pending,
    pub(crate) signed: SignedDecision,
    pub(crate) decision: Decision,
    /// What the next decision on the action counts on.
    pub(crate) entry: Entry,
}

/// A decision on disk.
#[derive(Clone, Debug)]
pub struct Decided {
    pub receipt: DecisionReceipt,
    /// The text of the receipt.
    pub text: String,
    /// None for a decision that the same request got before.
    pub decision: Option<Decision>,
}

impl Deciding {
    pub(crate) fn answered(decided: Decided) -> Self {
        Self { stage: Stage::Answered(Box::new(decided)), _names: Vec::new() }
    }

    /// What is held is held until it is on disk.
    pub(crate) fn issuing(issuing: Issuing, attempt: &mut Attempt) -> Self {
        Self { stage: Stage::Issuing(Box::new(issuing)), _names: std::mem::take(&mut attempt.names) }
    }

    /// Waits with this thread.
    ///
    /// # Errors
    /// [`DecideError`]; nothing is allowed then.
    pub fn wait(self) -> Result<Option<Decided>, DecideError> {
        match self.stage {
            Stage::Answered(decided) => Ok(Some(*decided)),
            Stage::Issuing(issuing) => {
                let Issuing { pending, signed, decision, entry } = *issuing;
                decided(pending.wait(), signed, decision, entry)
            }
            Stage::Over => Ok(None),
        }
    }
}

impl Future for Deciding {
    type Output = Result<Option<Decided>, DecideError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let written = match &mut self.stage {
            Stage::Issuing(issuing) => match Pin::new(&mut issuing.pending).poll(context) {
                Poll::Ready(written) => Some(written),
                Poll::Pending => return Poll::Pending,
            },
            Stage::Answered(_) | Stage::Over => None,
        };
        Poll::Ready(match (std::mem::replace(&mut self.stage, Stage::Over), written) {
            (Stage::Answered(decided), _) => Ok(Some(*decided)),
            (Stage::Issuing(issuing), Some(written)) => {
                let Issuing { signed, decision, entry, .. } = *issuing;
                decided(written, signed, decision, entry)
            }
            (Stage::Issuing(_) | Stage::Over, _) => Ok(None),
        })
    }
}

/// What became of a decision that was handed to the store; none where it has to be made again: another process has decided on
/// the action, spent what this decision spends, or answered the request, or a decision that it counted on was refused.
fn decided(
    written: Result<Written, StoreError>,
    signed: SignedDecision,
    decision: Decision,
    entry: Entry,
) -> Result<Option<Decided>, DecideError> {
    match written {
        Ok(written) => {
            // The store has written a decision, so it returns one.
            let link = written.decision.ok_or_else(|| StoreError::NotLinked("decisions".to_owned()))?;
            let (receipt, text) = signed.receipt(link);
            Ok(Some(Decided { receipt, text, decision: Some(decision) }))
        }
        Err(error) => {
            entry.refused();
            match error {
                StoreError::DecidedMeanwhile(_)
                | StoreError::CountedMeanwhile(_)
                | StoreError::Spent(_)
                | StoreError::Superseded(_)
                | StoreError::Answered(_) => Ok(None),
                error => Err(error.into()),
            }
        }
    }
}
