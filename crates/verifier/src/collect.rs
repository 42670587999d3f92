//! Collects reviews of the same work in one receipt of tier 2.

use proofmark_quorum::{AgreeOn, Bundle, Challenge, ComposeError, Composition, Member, Quorum};
use proofmark_receipt::{Draft, Receipt, Task};

use crate::clock;
use crate::issue::{Destination, IssueError, Issuer, VERIFIER};

/// How reviews are collected.
#[derive(Clone, Debug)]
pub struct Collecting {
    /// How many of them have to agree: more than half.
    pub threshold: usize,
    pub agree_on: AgreeOn,
    /// What every reviewer was given, and repeats.
    pub challenge: Option<Challenge>,
    /// The id of the task in the client's system.
    pub task_id: Option<String>,
}

/// Why reviews cannot be collected. Nothing is stored then.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error(transparent)]
    Compose(#[from] ComposeError),
    /// The system has no randomness.
    #[error("draw an id ({0})")]
    Randomness(#[from] getrandom::Error),
    #[error(transparent)]
    Issue(#[from] IssueError),
}

impl CollectError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Compose(error) => error.help(),
            Self::Issue(error) => error.help(),
            Self::Randomness(_) => None,
        }
    }
}

/// A quorum that is not signed yet.
#[derive(Debug)]
pub struct Composed<'a> {
    draft: Draft,
    reviews: &'a [Receipt],
}

impl Collecting {
    /// Counts the reviews.
    ///
    /// # Errors
    /// [`CollectError`]
    pub fn compose(self, reviews: &[Receipt]) -> Result<Composed<'_>, CollectError> {
        let members: Vec<Member<'_>> = reviews.iter().map(|receipt| Member { receipt, head: None }).collect();
        let Self { threshold, agree_on, challenge, task_id } = self;
        let composition = Composition { members: &members, threshold, agree_on, challenge };
        let mut draft = composition.draft(clock::receipt_id()?, clock::now())?;
        draft.task = task_id.map(|task_id| Task { task_id: Some(task_id), ..Task::default() });
        draft.metadata.insert("verifier", VERIFIER);
        Ok(Composed { draft, reviews })
    }
}

impl Composed<'_> {
    /// Issues the receipt of the quorum. It is on disk when this returns it, with its members in the order in which it lists them.
    ///
    /// # Errors
    /// [`CollectError`]
    pub fn issue(self, issuer: &Issuer, to: Destination<'_>) -> Result<Bundle, CollectError> {
        let receipt = issuer.issue(self.draft, to)?.wait()?;
        // Of the receipt that was composed here, so it has the form.
        let listed = Quorum::read(&receipt).map(|quorum| quorum.reviews).unwrap_or_default();
        let find = |hash| self.reviews.iter().find(|review| review.hash() == hash).cloned();
        let members = listed.iter().filter_map(|review| find(review.hash)).collect();
        Ok(Bundle { receipt, members })
    }
}
