//! Any metadata of a quorum, of a judgment and of a receipt that supersedes another has an answer, and what is read has the form.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_quorum::{
    Bundle, Given, Judgment, MAX_ON, MAX_REVIEWS, MAX_STATEMENT_BYTES, Quorum, check_judgment, recount, supersedes,
};
use proofmark_receipt::{Answer, Receipt, Timestamp, Verdict};

fuzz_target!(|bytes: &[u8]| {
    let now = Timestamp::from_unix_millis(0);
    if let Ok(bundle) = Bundle::parse(bytes) {
        let counted = recount(&bundle.receipt, &bundle.members, None, &now);
        assert!(counted.error.is_some() || (counted.answer == Answer::Valid && counted.stated.is_some()));
        assert_eq!(Bundle::parse(bundle.to_text().as_bytes()), Ok(bundle));
    }
    let Ok(receipt) = Receipt::parse(bytes) else { return };
    if let Ok(quorum) = Quorum::read(&receipt) {
        let count = quorum.reviews.len();
        assert!(count <= MAX_REVIEWS && quorum.threshold <= count && 2 * quorum.threshold > count);
        let ruling = quorum.ruling();
        assert_eq!(ruling.agreeing.len() >= quorum.threshold, ruling.verdict != Verdict::Error);
        assert!(Judgment::read(&receipt).is_err());
    }
    if let Ok(judgment) = Judgment::read(&receipt) {
        assert!((1..=MAX_STATEMENT_BYTES).contains(&judgment.statement.len()) && judgment.on.len() <= MAX_ON);
    }
    let given = Given { roles: None, issued: &[], on: &[], shown: Some(bytes), now: &now };
    let _ = check_judgment(&receipt, &given);
    let _ = supersedes::check(&receipt, &receipt);
});
