//! `proofmark hook install`, `uninstall` and `doctor`, and coding agents whose hooks they are.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

mod agent;
mod doctor;
mod install;
mod live;
mod place;
