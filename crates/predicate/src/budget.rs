//! Limits on steps: those of one evaluation, and those of all evaluations of a request together.

use std::cell::Cell;
use std::fmt;

use crate::error::Failure;
use crate::limits::MAX_STEPS;

/// Bytes of text that count as one step.
const BYTES_PER_STEP: usize = 16;
/// How many steps are taken between two checks whether to stop.
const STEPS_BETWEEN_LOOKS: u64 = 8_192;

/// The steps that all evaluations of one request may take together, and whether a caller still waits for them.
///
/// The count is the same on every machine, so a decision replays. When `stop` answers is not: what was stopped has no answer.
pub struct Budget<'s> {
    limit: u64,
    taken: Cell<u64>,
    /// The count at which the limit and `stop` are checked next.
    look_at: Cell<u64>,
    failure: Cell<Option<Failure>>,
    stop: &'s dyn Fn() -> bool,
}

impl Budget<'static> {
    /// A budget of `limit` steps without a way to stop it.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self::stopping(limit, &|| false)
    }
}

impl<'s> Budget<'s> {
    /// A budget of `limit` steps that ends early when `stop` says so. `stop` is asked every few thousand steps, and once
    /// before the first; it should be as cheap as reading a flag.
    #[must_use]
    pub fn stopping(limit: u64, stop: &'s dyn Fn() -> bool) -> Self {
        Self { limit, taken: Cell::new(0), look_at: Cell::new(0), failure: Cell::new(None), stop }
    }

    /// Steps taken so far.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Why evaluation has ended: [`Failure::BudgetLimit`] or [`Failure::Stopped`]; `None` while there are steps left.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        self.failure.get()
    }

    /// Takes steps for work that is not an evaluation, such as reading a document.
    ///
    /// # Errors
    /// The [`Failure`] that ended the budget; every later charge has the same one.
    pub fn charge(&self, steps: u64) -> Result<(), Failure> {
        // This runs for every node that is evaluated: one addition and one comparison, and everything else in `look`.
        let taken = self.taken.get().saturating_add(steps);
        self.taken.set(taken);
        if taken < self.look_at.get() { Ok(()) } else { self.look(taken) }
    }

    /// Takes the steps that this many bytes of text count as.
    ///
    /// # Errors
    /// As [`Budget::charge`].
    pub fn charge_bytes(&self, bytes: usize) -> Result<(), Failure> {
        self.charge(steps(bytes / BYTES_PER_STEP))
    }

    /// Checks at the end of the work that none of it was left out.
    ///
    /// # Errors
    /// [`StoppedError`] when some of the work was not done because it was stopped.
    pub fn finish(&self) -> Result<(), StoppedError> {
        if self.failure.get() == Some(Failure::Stopped) { Err(StoppedError) } else { Ok(()) }
    }

    fn look(&self, taken: u64) -> Result<(), Failure> {
        // The first failure stays: all later evaluations of a request name the same limit.
        if self.failure.get().is_none() {
            if taken > self.limit {
                self.end(Failure::BudgetLimit(self.limit));
            } else if (self.stop)() {
                self.end(Failure::Stopped);
            }
        }
        // A check also falls on the first step past the limit, so exceeding it is noticed at the same step everywhere.
        let next = taken.saturating_add(STEPS_BETWEEN_LOOKS).min(self.limit.saturating_add(1));
        self.look_at.set(next);
        match self.failure.get() {
            Some(failure) => {
                // An ended budget counts no further, so the count says which step ended it, and every charge ends up here.
                self.taken.set(taken.min(self.limit.saturating_add(1)));
                self.look_at.set(0);
                Err(failure)
            }
            None => Ok(()),
        }
    }

    fn end(&self, failure: Failure) {
        self.failure.set(Some(failure));
        self.look_at.set(0);
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (taken, failure) = (self.taken.get(), self.failure.get());
        f.debug_struct("Budget").field("limit", &self.limit).field("taken", &taken).field("failure", &failure).finish()
    }
}

/// Work that was stopped before it had an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the evaluation was stopped before it had an answer")]
pub struct StoppedError;

impl StoppedError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        Some("try again")
    }
}

/// Counts the steps of one evaluation.
#[derive(Debug)]
pub(crate) struct Steps<'b> {
    taken: u64,
    budget: &'b Budget<'b>,
}

impl<'b> Steps<'b> {
    /// The steps of one evaluation, at most [`MAX_STEPS`].
    pub(crate) fn of_evaluation(budget: &'b Budget<'b>) -> Self {
        Self { taken: 0, budget }
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Why this evaluation has ended.
    pub(crate) fn failure(&self) -> Option<Failure> {
        // The evaluation's own limit comes first, as in `charge`, so both name the same one if both are exceeded.
        if self.taken > MAX_STEPS { Some(Failure::StepLimit) } else { self.budget.failure() }
    }

    pub(crate) fn exhausted(&self) -> bool {
        self.failure().is_some()
    }

    pub(crate) fn charge(&mut self, steps: u64) -> Result<(), Failure> {
        // A single charge may be as large as `u64::MAX` (see `path`). It costs the shared budget no more than one
        // evaluation may take, so one hostile condition leaves steps for the others.
        let taken = self.taken.saturating_add(steps).min(MAX_STEPS + 1);
        let charged = self.budget.charge(taken - self.taken);
        self.taken = taken;
        if taken > MAX_STEPS { Err(Failure::StepLimit) } else { charged }
    }

    pub(crate) fn charge_bytes(&mut self, bytes: usize) -> Result<(), Failure> {
        self.charge_items(bytes / BYTES_PER_STEP)
    }

    pub(crate) fn charge_items(&mut self, items: usize) -> Result<(), Failure> {
        self.charge(steps(items))
    }
}

fn steps(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}
