//! The budget of one evaluation.

use crate::error::Failure;
use crate::limits::MAX_STEPS;

/// Bytes of text that count as one step.
const BYTES_PER_STEP: usize = 16;

/// Counts steps. Once the budget is gone it stays gone.
#[derive(Debug)]
pub(crate) struct Steps {
    taken: u64,
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self { taken: 0 }
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    pub(crate) fn exhausted(&self) -> bool {
        self.taken > MAX_STEPS
    }

    pub(crate) fn charge(&mut self, steps: u64) -> Result<(), Failure> {
        self.taken = self.taken.saturating_add(steps).min(MAX_STEPS + 1);
        if self.exhausted() { Err(Failure::StepLimit) } else { Ok(()) }
    }

    pub(crate) fn charge_bytes(&mut self, bytes: usize) -> Result<(), Failure> {
        self.charge_items(bytes / BYTES_PER_STEP)
    }

    pub(crate) fn charge_items(&mut self, items: usize) -> Result<(), Failure> {
        self.charge(u64::try_from(items).unwrap_or(u64::MAX))
    }
}
