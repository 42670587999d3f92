//! `metadata.quorum`: the reviews that a receipt of tier 2 rests on.

mod read;

use proofmark_receipt::{
    ChainHead, Detail, Json, Receipt, ReceiptId, Results, Sha256Digest, SignerId, Status, Verdict, object,
};

use crate::challenge::Challenge;
use crate::error::TierError;
use crate::rule::{Ballot, Ruling, Tally, rule};

/// The fewest reviews of a quorum.
pub const MIN_REVIEWS: usize = 2;
/// The most reviews of a quorum.
pub const MAX_REVIEWS: usize = 64;

pub(crate) const NAME: &str = "quorum";
/// The tier of a quorum.
pub(crate) const TIER: u8 = 2;
const FORMAT: &str = "proofmark-quorum/1";

/// What the reviews of a quorum have to agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgreeOn {
    /// The verdict.
    Verdict,
    /// The verdict and the status of every check.
    Outcomes,
}

/// The reviews that a receipt of tier 2 rests on, and how they are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quorum {
    /// How many have to agree: more than half of the reviews.
    pub threshold: usize,
    pub agree_on: AgreeOn,
    /// From [`MIN_REVIEWS`] to [`MAX_REVIEWS`], sorted by their hashes. No receipt and no signer is there twice.
    pub reviews: Vec<Review>,
    pub challenge: Option<Challenge>,
}

/// One review: a receipt of a verification or a judgment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    pub receipt_id: ReceiptId,
    /// Of the whole receipt, its signature included ([`Receipt::hash`]).
    pub hash: Sha256Digest,
    pub signer: SignerId,
    pub verdict: Verdict,
    /// 0, 1 or 3: a quorum of quorums would hide who counted.
    pub tier: u8,
    /// With [`AgreeOn::Outcomes`], what its checks came to ([`crate::outcomes`]).
    pub outcomes: Option<Sha256Digest>,
    /// The reviewer's own chain, to be fetched and counted.
    pub record: Option<ChainRecord>,
}

/// The signed head of a chain, by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainRecord {
    /// SHA-256 of the canonical form `vrf` of the whole head, its signature included.
    pub head: Sha256Digest,
    /// The number of receipts.
    pub length: u64,
}

impl ChainRecord {
    /// What a review lists of this head.
    #[must_use]
    pub fn of(head: &ChainHead) -> Self {
        Self { head: Sha256Digest::of(&head.document().canonical_vrf()), length: head.length() }
    }
}

impl AgreeOn {
    /// `verdict` or `outcomes`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Outcomes => "outcomes",
        }
    }

    /// What has this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Verdict, Self::Outcomes].into_iter().find(|agree_on| agree_on.as_str() == word)
    }
}

impl Quorum {
    /// Whether the receipt says that it is one of a quorum: only then is [`Quorum::read`] about it.
    #[must_use]
    pub fn is_stated(receipt: &Receipt) -> bool {
        receipt.metadata().contains(NAME)
    }

    /// Reads the quorum of a receipt, and checks that the rest of the receipt has the form of one. No member and no signature is
    /// looked at.
    ///
    /// # Errors
    /// [`TierError::MalformedQuorum`] names the field.
    pub fn read(receipt: &Receipt) -> Result<Self, TierError> {
        read::quorum(receipt).map_err(TierError::MalformedQuorum)
    }

    /// The result of the rule.
    #[must_use]
    pub fn ruling(&self) -> Ruling {
        let ballot = |review: &Review| Ballot { verdict: review.verdict, outcomes: review.outcomes };
        rule(self.threshold, &self.reviews.iter().map(ballot).collect::<Vec<_>>())
    }

    /// How many reviews have which vote, whatever their outcomes.
    #[must_use]
    pub fn tally(&self) -> Tally {
        Tally::of(self.reviews.iter().map(|review| review.verdict))
    }

    /// Whether every review is a verification, and none a person's judgment.
    pub(crate) fn is_structural(&self) -> bool {
        self.reviews.iter().all(|review| review.tier < TIER)
    }

    /// The one check of a receipt with this verdict, so that `pass` means here, too, that all checks passed.
    pub(crate) fn results(&self, verdict: Verdict) -> Results {
        let status = match verdict {
            Verdict::Pass => Status::Pass,
            Verdict::Fail | Verdict::Partial => Status::Fail,
            Verdict::Error => Status::Error,
        };
        let expected = Some(format!("{} of {} agree", self.threshold, self.reviews.len()));
        Results::from_details(vec![Detail {
            expected,
            actual: Some(self.tally().to_string()),
            ..Detail::new(NAME, status)
        }])
    }

    /// The form that [`Quorum::read`] reads.
    pub(crate) fn to_json(&self) -> Json {
        let reviews: Vec<Json> = self.reviews.iter().map(Review::to_json).collect();
        let quorum = object! {
            "format": FORMAT,
            "threshold": self.threshold as u64,
            "agree_on": self.agree_on.as_str(),
            "challenge"?: self.challenge.map(|challenge| challenge.to_string()),
            "reviews": reviews,
        };
        quorum.into()
    }
}

impl Review {
    fn to_json(&self) -> Json {
        let review = object! {
            "receipt_id": self.receipt_id.to_string(),
            "hash": self.hash.to_string(),
            "signer": self.signer.to_string(),
            "verdict": self.verdict.as_str(),
            "tier": u64::from(self.tier),
            "outcomes"?: self.outcomes.map(|outcomes| outcomes.to_string()),
            "head"?: self.record.map(|record| record.head.to_string()),
            "length"?: self.record.map(|record| record.length),
        };
        review.into()
    }
}

/// Whether a quorum may have this number of reviews.
pub(crate) fn is_size(reviews: usize) -> bool {
    (MIN_REVIEWS..=MAX_REVIEWS).contains(&reviews)
}

/// Whether this number of reviews suffices: more than half, so that two answers cannot both win.
pub(crate) fn is_threshold(threshold: usize, reviews: usize) -> bool {
    threshold <= reviews && threshold > reviews / 2
}
