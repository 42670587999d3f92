//! `proofmark guard` between real clients and real servers: what each of them sees is what it sees without the guard, and what the
//! policy does not allow has no effect.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

mod bypass;
mod conformance;
mod faults;
mod place;
mod revisions;
mod transparency;
