//! When a decision is made, and what went before: both are arguments, since nothing here has a clock or a memory.

use proofmark_receipt::Timestamp;

/// When a decision is made, and what went before.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// The present.
    pub now: Timestamp,
    /// What went before.
    pub history: History,
}

/// What the keeper of decisions knows of this action's past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// How often the action with this fingerprint was denied in this run.
    pub denied: u64,
}
