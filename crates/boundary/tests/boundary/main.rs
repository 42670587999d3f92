//! Action policies, as callers use them.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may fail by panicking"
)]

mod approvals;
mod askers;
mod bad_input;
mod cases;
mod changes;
mod consistency;
mod cost;
mod derived;
mod evidence;
mod grants;
mod hooks;
mod limits;
mod logged;
mod origin_rules;
mod origins;
mod properties;
mod reference;
mod results;
mod resume;
mod reviewed;
mod rules;
mod shared;
mod suggest;
mod support;
mod wire;
mod words;
