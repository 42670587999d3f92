//! Quorums and judgments through the public functions: composed, signed, read again and checked.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests, which may fail by panicking"
)]

mod compose;
mod examples;
mod form;
mod judgment;
mod properties;
mod recount;
mod reference;
mod reviewers;
mod samples;
mod supersedes;
