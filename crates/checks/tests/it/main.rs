//! Requests, plans and judgments.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests, which may fail by panicking"
)]

mod bombs;
mod conformance;
mod constraints;
mod judging;
mod plans;
mod projects;
mod properties;
mod reference;
mod reports;
mod requests;
mod yaml;
