use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

use proofmark_receipt::{Profile, Receipt, SignerId, Timestamp, verify_receipt};

use crate::error::TierError;
use crate::members::{judgment, members_of};
use crate::quorum::Quorum;
use crate::reviewers::Reviewers;

/// What a reader demands of a quorum.
#[derive(Clone, Debug)]
pub struct QuorumDemand<'a> {
    /// Whose reviews count.
    pub of: &'a Reviewers,
    /// How many operators have to agree.
    pub at_least: NonZeroUsize,
    /// Whether every operator has to be among the reviews, so that nobody can leave a dissent out.
    pub complete: bool,
    /// When the reviews that agree have to be dated, in milliseconds since 1970: who collects them can date the quorum anew.
    pub dated: RangeInclusive<i64>,
}

/// Who voted in a quorum, counted again. Whose votes count is for the reader to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Votes {
    /// The votes that agree on the verdict of the quorum; none where it is `error`.
    pub agreeing: Vec<Vote>,
    /// The signers of the other reviews.
    pub others: Vec<SignerId>,
}

/// A vote for the verdict of a quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    pub signer: SignerId,
    /// When the work was verified or judged, as the reviewer says.
    pub verified_at: Timestamp,
    /// From when on it does not count, where it is a judgment that says so.
    pub expires_at: Option<Timestamp>,
}

impl QuorumDemand<'_> {
    /// Reviews of any date.
    pub const ANY_TIME: RangeInclusive<i64> = i64::MIN..=i64::MAX;
}

impl Votes {
    /// Counts again, without a reader: the receipt, its form, every member, and the rule. Of `members`, receipts that the quorum does
    /// not list are ignored.
    ///
    /// # Errors
    /// [`TierError`] of the first of these that does not hold, [`TierError::MemberMissing`] included.
    pub fn count(receipt: &Receipt, members: &[&Receipt]) -> Result<Self, TierError> {
        let verification = verify_receipt(receipt, Profile::Vrf, &[]);
        if verification.signer.is_none() {
            return Err(TierError::Receipt(verification.answer));
        }
        Self::of(receipt, &Quorum::read(receipt)?, members)
    }

    /// The votes of a receipt whose signature is valid.
    pub(crate) fn of(receipt: &Receipt, quorum: &Quorum, members: &[&Receipt]) -> Result<Self, TierError> {
        let mut votes = Self::default();
        let agree = quorum.ruling().agreeing;
        for (place, member) in members_of(receipt, quorum, members)?.into_iter().enumerate() {
            let expires_at = judgment(member).transpose()?.and_then(|judgment| judgment.expires_at);
            votes.take(quorum, &agree, place, (member.verified_at(), expires_at));
        }
        Ok(votes)
    }

    /// What the receipt of a quorum claims, before any member is looked at. Its votes are dated as the receipt is.
    ///
    /// # Errors
    /// [`TierError::MalformedQuorum`].
    pub fn claimed(receipt: &Receipt) -> Result<Self, TierError> {
        let quorum = Quorum::read(receipt)?;
        let mut votes = Self::default();
        let agree = quorum.ruling().agreeing;
        for place in 0..quorum.reviews.len() {
            votes.take(&quorum, &agree, place, (receipt.verified_at(), None));
        }
        Ok(votes)
    }

    /// Adds the review at this place, with its date and its end.
    fn take(
        &mut self,
        quorum: &Quorum,
        agree: &[usize],
        place: usize,
        (verified_at, expires_at): (&Timestamp, Option<Timestamp>),
    ) {
        let Some(signer) = quorum.reviews.get(place).map(|review| review.signer) else { return };
        if agree.contains(&place) {
            self.agreeing.push(Vote { signer, verified_at: verified_at.clone(), expires_at });
        } else {
            self.others.push(signer);
        }
    }

    /// Whether they meet the demand at `now`.
    ///
    /// # Errors
    /// [`TierError::QuorumNotMet`] and [`TierError::QuorumIncomplete`].
    pub fn meet(&self, demand: &QuorumDemand<'_>, now: &Timestamp) -> Result<(), TierError> {
        let (operators, at_least) = (self.operators(demand, now).len(), demand.at_least.get());
        if operators < at_least {
            return Err(TierError::QuorumNotMet { operators, at_least });
        }
        let among: BTreeSet<&str> = self.signers().filter_map(|signer| demand.of.operator(signer)).collect();
        let absent = demand.of.operators().into_iter().find(|operator| demand.complete && !among.contains(operator));
        match absent {
            Some(operator) => Err(TierError::QuorumIncomplete { operator: operator.to_owned() }),
            None => Ok(()),
        }
    }

    /// The operators whose votes agree on the verdict, are dated as the demand says, and have not expired.
    pub(crate) fn operators<'d>(&self, demand: &QuorumDemand<'d>, now: &Timestamp) -> BTreeSet<&'d str> {
        let counting = self.agreeing.iter().filter(|vote| vote.has_not_expired(now));
        let counting = counting.filter(|vote| demand.dated.contains(&vote.verified_at.unix_millis()));
        counting.filter_map(|vote| demand.of.operator(&vote.signer)).collect()
    }

    /// Who signed the reviews.
    pub fn signers(&self) -> impl Iterator<Item = &SignerId> {
        self.agreeing.iter().map(|vote| &vote.signer).chain(&self.others)
    }
}

impl Vote {
    /// Whether it has not expired.
    #[must_use]
    pub fn has_not_expired(&self, now: &Timestamp) -> bool {
        self.expires_at.as_ref().is_none_or(|end| now.unix_millis() < end.unix_millis())
    }
}
