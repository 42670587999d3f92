//! Jobs and their workers, in stores of each kind.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

mod fronts;
mod jobs;
mod self_test;
mod suites;
