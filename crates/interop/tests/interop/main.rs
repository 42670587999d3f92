//! Receipts and decisions in the formats of others, read and written, by the data of `conformance` and by other programs.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests, which may fail by panicking"
)]

mod cose;
mod erc8004;
mod intoto;
mod properties;
mod python;
mod scitt_cose;
mod session;
mod support;
