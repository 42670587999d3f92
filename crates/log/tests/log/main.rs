//! The log of a store: what is signed, proven, copied and cosigned, and what is refused.
#![expect(clippy::unwrap_used, reason = "stories and helpers of tests fail by panicking")]

mod copies;
mod crash;
mod keeping;
mod mirrors;
mod samples;
mod witnesses;
