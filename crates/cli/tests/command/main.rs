//! The command as its users meet it: the real binary, the real sandbox, the real store.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

mod accept;
mod answers;
mod approvals;
mod bad_input;
mod batch;
mod broken;
mod capabilities;
mod chain;
mod counter;
mod decide;
mod decisions;
mod digests;
mod environments;
mod evidence;
mod examples;
mod formats;
mod grants;
mod help;
mod ignored;
mod key;
mod large;
mod lint;
mod lint_meaning;
mod lists;
mod locked;
mod log;
mod loss;
mod next;
mod output;
mod owner_tests;
mod patches;
mod policy_diff;
mod policy_learn;
mod policy_option;
mod policy_replay;
mod project;
mod projects;
mod receipt;
mod reopen;
mod reviews;
mod run;
mod running;
mod shown;
mod store;
mod strength;
mod tiers;
mod transcript;
mod trust;
mod verify;
