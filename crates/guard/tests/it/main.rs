//! Messages, connections and streams, through the public functions.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

mod connection;
mod http;
mod messages;
mod sse;
