//! The members of a quorum, held against what its receipt lists.

use std::collections::HashMap;

use proofmark_receipt::{Profile, Receipt, ReceiptId, verify_receipt};

use crate::error::TierError;
use crate::judgment::Judgment;
use crate::outcomes::outcomes;
use crate::quorum::{Quorum, Review, TIER};
use crate::work::{common_tests, other_work, repeats};

/// The member of each review, in their order, after all are as the receipt says and the rule comes to its verdict.
pub(crate) fn members_of<'m>(
    receipt: &Receipt,
    quorum: &Quorum,
    members: &[&'m Receipt],
) -> Result<Vec<&'m Receipt>, TierError> {
    let mut given: HashMap<ReceiptId, Vec<&Receipt>> = HashMap::new();
    for &member in members {
        given.entry(member.receipt_id()).or_default().push(member);
    }
    let mut present = Vec::new();
    let mut missing = None;
    for review in &quorum.reviews {
        let Some(candidates) = given.get(&review.receipt_id) else {
            missing = missing.or(Some(review.receipt_id));
            continue;
        };
        let receipt_id = review.receipt_id;
        // A changed copy beside the receipt does not spoil it.
        let member = candidates.iter().find(|member| member.hash() == review.hash);
        let member = *member.ok_or(TierError::MemberMismatch { receipt_id, field: "hash" })?;
        check_member(receipt, quorum, review, member)?;
        present.push(member);
    }
    let (stated, counted) = (receipt.verdict(), quorum.ruling().verdict);
    if stated != counted {
        return Err(TierError::QuorumMiscounted { stated, counted });
    }
    if let Some(receipt_id) = missing {
        return Err(TierError::MemberMissing(receipt_id));
    }
    // Tests that all members have are not left out.
    match present.first() {
        Some(first) if common_tests(present.iter().copied()) != receipt.hashes().tests => {
            Err(TierError::MemberMismatch { receipt_id: first.receipt_id(), field: "hashes.tests" })
        }
        _ => Ok(present),
    }
}

/// Whether a member verifies, is as listed, and is of the same work.
fn check_member(receipt: &Receipt, quorum: &Quorum, review: &Review, member: &Receipt) -> Result<(), TierError> {
    let receipt_id = review.receipt_id;
    let verification = verify_receipt(member, Profile::Vrf, &[]);
    let Some(signer) = verification.signer else {
        let cause = verification.answer.cause().unwrap_or_default();
        return Err(TierError::MemberInvalid { receipt_id, cause });
    };
    let tests = receipt.hashes().tests;
    let differs = match () {
        () if signer != review.signer => Some("signer"),
        () if member.verdict() != review.verdict => Some("verdict"),
        () if member.tier() != review.tier => Some("tier"),
        () if review.outcomes.is_some_and(|listed| listed != outcomes(member)) => Some("outcomes"),
        () if tests.is_some() && member.hashes().tests != tests => Some("hashes.tests"),
        () if !repeats(member.metadata(), quorum.challenge) => Some("metadata.challenge"),
        () => other_work(member.hashes(), receipt.hashes()),
    };
    if let Some(field) = differs {
        return Err(TierError::MemberMismatch { receipt_id, field });
    }
    // Otherwise an approval of one action would serve as a judgment of work.
    match judgment(member) {
        Some(Err(error)) => Err(TierError::MemberInvalid { receipt_id, cause: error.to_string() }),
        Some(Ok(_)) | None => Ok(()),
    }
}

/// The judgment that a member of tier 3 is.
pub(crate) fn judgment(member: &Receipt) -> Option<Result<Judgment, TierError>> {
    (member.tier() > TIER).then(|| Judgment::read(member))
}
