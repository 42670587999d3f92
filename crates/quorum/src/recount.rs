//! A quorum counted again, offline: from its receipt, its members and the reader's own reviewers.

use proofmark_receipt::{Answer, Profile, Receipt, SignerId, Timestamp, verify_receipt};

use crate::error::TierError;
use crate::quorum::Quorum;
use crate::status::QuorumStatus;
use crate::votes::{QuorumDemand, Votes};

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
        let votes = Votes::of(receipt, quorum, &members.iter().collect::<Vec<_>>())?;
        let Some(demand) = demand else { return Ok(()) };
        self.operators = votes.operators(demand, now).into_iter().map(str::to_owned).collect();
        self.quorum = QuorumStatus::NotMet;
        votes.meet(demand, now)?;
        self.quorum = QuorumStatus::Met;
        Ok(())
    }
}
