//! Any bytes are a reviewers file or are refused at a line, and each key has one operator.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_quorum::{MAX_REVIEWERS, Reviewers};

fuzz_target!(|bytes: &[u8]| match Reviewers::parse(bytes) {
    Ok(reviewers) => assert!((1..=MAX_REVIEWERS).contains(&reviewers.operators().len())),
    Err(error) => assert!((1..=bytes.len() + 1).contains(&error.line)),
});
