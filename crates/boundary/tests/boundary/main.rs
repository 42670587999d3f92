//! Action policies, as callers use them.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may fail by panicking"
)]

mod approvals;
mod bad_input;
mod cases;
mod changes;
mod consistency;
mod evidence;
mod properties;
mod reference;
mod resume;
mod rules;
mod support;
mod wire;
mod words;
