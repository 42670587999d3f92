//! What expressions answer, what they cost, and what they refuse.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests, which may fail by panicking"
)]

mod answers;
mod attacks;
mod budget;
mod conformance;
mod json;
mod left_out;
mod loading;
mod meaning;
mod properties;
mod reference;
mod tree;
