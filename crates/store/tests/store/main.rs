//! The store, through its public functions and through what it leaves on disk.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod broken;
mod chains;
mod crash;
mod decisions;
mod jobs;
mod lists;
mod reviews;
mod samples;
mod stored;
mod tenants;
mod together;
mod upgrade;
