//! `proofmark serve`, over real connections, and with the real runtime SDK.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

mod attacks;
mod bodies;
mod connections;
mod described;
mod durability;
mod example;
mod findings;
mod pages;
mod policies;
mod receipts;
mod requests;
mod reviews;
mod sdk;
mod secrets;
mod server;
mod shares;
mod stopping;
mod storage;
mod tenants;
mod verifications;
