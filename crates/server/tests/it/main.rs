//! A server in this process, over real connections: what it answers, and what it refuses.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

mod attacks;
#[path = "../support/client.rs"]
mod client;
mod connections;
mod described;
mod findings;
mod issuer;
mod mcp;
mod pages;
mod passkeys;
mod place;
mod policies;
mod receipts;
mod reload;
mod requests;
mod reviews;
mod sdk;
mod server;
mod snapshots;
mod tenants;
mod texts;
mod tokens;
mod verifications;
mod witness;

/// The pages are tested in their own crate.
fn pages() -> Vec<proofmark_server::endpoint::Endpoint> {
    Vec::new()
}
