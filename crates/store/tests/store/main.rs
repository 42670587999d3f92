//! The store, through its public face and through what it leaves on disk.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod broken;
mod chains;
mod crash;
mod kept;
mod reviews;
mod samples;
mod tenants;
mod upgrade;
