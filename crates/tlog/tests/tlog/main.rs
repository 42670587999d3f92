//! The log against its conformance data and the vectors of others, and properties of trees and of what is signed.
//!
//! Data: `conformance/tlog`, computed for this project, and `conformance/merkle`, of transparency-dev/merkle.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests, which may fail by panicking"
)]

mod audits;
mod checkpoints;
mod data;
mod files;
mod merkle;
mod policies;
mod proofs;
mod sizes;
mod tree;
mod witnesses;
