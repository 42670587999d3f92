//! `docs/reviews.md` says what the code says.

use proofmark_quorum::{MAX_ON, MAX_REVIEWERS, MAX_REVIEWS, MAX_STATEMENT_BYTES, MIN_REVIEWS, Reviewers, TierError};
use proofmark_receipt::document::{Cause, DocumentError, Place};
use proofmark_receipt::{Answer, Verdict};

use crate::samples::{id, minutes};

const PAGE: &str = include_str!("../../../../docs/reviews.md");

#[test]
fn every_code_stands_there_with_its_result() {
    let malformed = || DocumentError::new(Place::Whole, Cause::Empty, "it is empty");
    let (receipt_id, field, cause) = (id("a"), "hash", String::new());
    let errors = [
        TierError::MalformedQuorum(malformed()),
        TierError::MemberMissing(receipt_id),
        TierError::MemberMismatch { receipt_id, field },
        TierError::ShownMismatch,
        TierError::MemberInvalid { receipt_id, cause },
        TierError::QuorumMiscounted { stated: Verdict::Pass, counted: Verdict::Fail },
        TierError::QuorumNotMet { operators: 1, at_least: 2 },
        TierError::QuorumIncomplete { operator: "acme".to_owned() },
        TierError::MalformedJudgment(malformed()),
        TierError::RoleNotHeld { role: "maintainer".to_owned(), why: "the key is not among those of the role" },
        TierError::Expired(minutes(0)),
    ];
    for error in errors {
        let rows: Vec<&str> =
            PAGE.lines().filter(|line| line.starts_with(&format!("| `{}` |", error.code()))).collect();
        assert!(!rows.is_empty(), "{}", error.code());
        let result = match error.answer() {
            Answer::Valid => ["| `quorum: ", "| `untrusted` |"],
            Answer::Invalid => ["| `invalid` |"; 2],
            Answer::Undecidable => ["| `undecidable` |"; 2],
        };
        assert!(rows.iter().all(|row| result.iter().any(|word| row.contains(word))), "{rows:?}");
    }
}

#[test]
fn the_limits_are_those_of_the_code() {
    for said in [
        format!("has {MIN_REVIEWS} to {MAX_REVIEWS}\nmembers"),
        format!("1 to {MAX_STATEMENT_BYTES} bytes"),
        format!("up to {MAX_ON} receipts"),
        format!("at most 1 MiB and {MAX_REVIEWERS} keys"),
    ] {
        assert!(PAGE.contains(&said), "{said}");
    }
}

#[test]
fn the_reviewers_file_is_read() {
    let file = PAGE.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let reviewers = Reviewers::parse(file.as_bytes()).unwrap();
    assert_eq!(reviewers.operators().into_iter().collect::<Vec<_>>(), ["acme", "bolt"]);
}
