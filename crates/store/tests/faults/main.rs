//! What a store promises while its database, its network and its servers fail.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod again;
mod conflicts;
mod cut;
mod full;
mod killed;
mod load;
mod network;
mod newer;
mod refused;
mod restored;
#[expect(dead_code, reason = "shared with other tests of the store")]
#[path = "../store/samples.rs"]
mod samples;
mod soak;
mod standby;
mod stopped;
