//! Decisions with a store: of a guard, of hooks, and many on one action.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

mod contended;
mod guard;
mod kept;
mod limits;
