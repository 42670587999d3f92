//! What `cargo xtask` and its benchmarks share: running programs, and what the machine must have.
//!
//! It depends on no crate of the project but `testing`, which is small, so that `cargo xtask test` starts within seconds.

pub mod machine;
pub mod nextest;
pub mod step;
