//! Documents, signatures and chains, through the public functions and as others read them.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests, which may fail by panicking"
)]

mod conformance;
mod properties;
mod python;
mod vectors;
mod yaml;
