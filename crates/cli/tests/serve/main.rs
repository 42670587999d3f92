//! `proofmark serve` as a process: signals, memory, disks, logs, and the command beside it.
//!
//! What a server answers is tested in the crate `server`.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

mod alerts;
mod bodies;
#[path = "../../../server/tests/support/client.rs"]
mod client;
mod collector;
mod copies;
mod durability;
mod log;
mod oidc;
mod proofs;
mod proxied;
mod reload;
mod reviews;
mod rotation;
mod secrets;
mod server;
mod shares;
mod stated;
mod stopping;
mod storage;
mod telemetry;
mod webhook;
mod with_command;
