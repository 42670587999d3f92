//! Any bytes are a chain head or refused, and its text reads back equal.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_receipt::{SignatureStatus, ChainHead};

fuzz_target!(|bytes: &[u8]| {
    let Ok(head) = ChainHead::parse(bytes) else { return };
    let answer = head.verify(&[]).answer;
    assert_eq!(answer.cause().is_none(), answer == SignatureStatus::Valid);
    assert_eq!(ChainHead::parse(head.to_text().as_bytes()), Ok(head));
});
