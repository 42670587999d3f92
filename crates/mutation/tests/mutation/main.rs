//! What the crate promises of any program.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests, which may fail by panicking"
)]

mod expectations;
mod lexing;
mod mutants;
mod properties;
