//! Any bytes are a decision receipt or refused, what is read reads back equal, and no document is of two kinds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_boundary::DecisionReceipt;
use proofmark_receipt::{SignatureStatus, Receipt};

fuzz_target!(|bytes: &[u8]| {
    let Ok(decision) = DecisionReceipt::parse(bytes) else { return };
    assert!(Receipt::parse(bytes).is_err());
    let answer = decision.verify(&[]).answer;
    assert_eq!(answer.cause().is_none(), answer == SignatureStatus::Valid);
    assert_eq!(DecisionReceipt::parse(decision.to_text().as_bytes()), Ok(decision));
});
