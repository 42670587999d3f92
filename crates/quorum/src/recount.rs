//! A quorum counted again, offline: from its receipt, its members and the reader's own reviewers.

use std::collections::HashMap;

use proofmark_receipt::{Answer, Profile, Receipt, ReceiptId, SignerId, Timestamp, verify_receipt};

use crate::error::TierError;
use crate::judgment::Judgment;
use crate::outcomes::outcomes;
use crate::quorum::{Quorum, Review, TIER};
use crate::status::QuorumStatus;
use crate::votes::{QuorumDemand, Vote, Votes};
use crate::work::{common_tests, other_work, repeats};

/// The result of counting a quorum again.
#[derive(Clone, Debug, PartialEq)]
pub struct Recount {
    /// About the receipt.
    pub answer: Answer,
    pub quorum: QuorumStatus,
    /// Why the answer is not valid, or why the quorum is not met or unknown. An unknown one without an error is one that nobody
    /// demanded anything of.
    pub error: Option<TierError>,
    /// Who signed the receipt, where its signature is valid. The composer's word counts for nothing.
    pub composer: Option<SignerId>,
    /// What the receipt says, where it has the form.
    pub stated: Option<Quorum>,
    /// The operators whose reviews agree on the verdict, sorted; empty without a demand.
    pub operators: Vec<String>,
}

/// Counts again: the receipt, its form, every member, the rule, and the operators that `demand` counts. Of `members`, receipts that
/// the quorum does not list are ignored. Judgments that have expired at `now` do not count for a demand.
#[must_use]
pub fn recount(receipt: &Receipt, members: &[Receipt], demand: Option<&QuorumDemand<'_>>, now: &Timestamp) -> Recount {
    let verification = verify_receipt(receipt, Profile::Vrf, &[]);
    let mut recount = Recount {
        answer: Answer::from(&verification.answer),
        quorum: QuorumStatus::Unknown,
        error: None,
        composer: verification.signer,
        stated: None,
        operators: Vec::new(),
    };
    if verification.signer.is_none() {
        recount.error = Some(TierError::Receipt(verification.answer));
        return recount;
    }
    if let Err(error) = recount.count(receipt, members, demand, now) {
        recount.answer = error.answer();
        recount.error = Some(error);
    }
    recount
}

impl Recount {
    /// Counts the quorum of a receipt whose signature is valid.
    fn count(
        &mut self,
        receipt: &Receipt,
        members: &[Receipt],
        demand: Option<&QuorumDemand<'_>>,
        now: &Timestamp,
    ) -> Result<(), TierError> {
        let quorum = self.stated.insert(Quorum::read(receipt)?);
        let votes = votes_of(receipt, quorum, &members.iter().collect::<Vec<_>>())?;
        let Some(demand) = demand else { return Ok(()) };
        self.operators = votes.operators(demand, now).into_iter().map(str::to_owned).collect();
        self.quorum = QuorumStatus::NotMet;
        votes.meet(demand, now)?;
        self.quorum = QuorumStatus::Met;
        Ok(())
    }
}

/// The votes of a receipt whose signature is valid.
pub(crate) fn votes_of(receipt: &Receipt, quorum: &Quorum, members: &[&Receipt]) -> Result<Votes, TierError> {
    let present = members_of(receipt, quorum, members)?;
    let agree = quorum.ruling().agreeing;
    let mut votes = Votes::default();
    for (place, (review, member)) in quorum.reviews.iter().zip(present).enumerate() {
        if agree.contains(&place) {
            let expires_at = judgment(member).transpose()?.and_then(|judgment| judgment.expires_at);
            votes.agreeing.push(Vote { signer: review.signer, verified_at: member.verified_at().clone(), expires_at });
        } else {
            votes.others.push(review.signer);
        }
    }
    Ok(votes)
}

/// The member of each review, in their order, after all are as the receipt says and the rule comes to its verdict.
fn members_of<'m>(receipt: &Receipt, quorum: &Quorum, members: &[&'m Receipt]) -> Result<Vec<&'m Receipt>, TierError> {
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
fn judgment(member: &Receipt) -> Option<Result<Judgment, TierError>> {
    (member.tier() > TIER).then(|| Judgment::read(member))
}
