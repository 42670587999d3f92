use proofmark_receipt::{
    ChainHead, Draft, Hashes, Profile, Receipt, ReceiptId, SignatureStatus, SignerId, Timestamp, Verdict, object,
    verify_receipt,
};
use thiserror::Error;

use crate::challenge::Challenge;
use crate::error::TierError;
use crate::form;
use crate::judgment::Judgment;
use crate::outcomes::outcomes;
use crate::quorum::{
    AgreeOn, ChainRecord, MAX_REVIEWS, MIN_REVIEWS, NAME, Quorum, Review, TIER, is_size, is_threshold,
};
use crate::work::{common_tests, other_work, repeats};

/// A quorum to be composed. Who composes it only collects: the members travel with it, and every reader counts again.
#[derive(Clone, Debug)]
pub struct Composition<'a> {
    /// In any order.
    pub members: &'a [Member<'a>],
    /// How many have to agree: more than half of the members.
    pub threshold: usize,
    pub agree_on: AgreeOn,
    /// What every reviewer was given, and repeats.
    pub challenge: Option<Challenge>,
}

/// A review: the receipt of a verification or of a judgment.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    pub receipt: &'a Receipt,
    /// The end of the reviewer's own chain, signed by the same key.
    pub head: Option<&'a ChainHead>,
}

/// Why receipts cannot be composed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ComposeError {
    #[error("compose the quorum: {0} reviews, expected {MIN_REVIEWS} to {MAX_REVIEWS}")]
    Size(usize),
    #[error("compose the quorum: {threshold} of {reviews} reviews are not a majority")]
    Threshold { threshold: usize, reviews: usize },
    #[error("compose the quorum: the receipt `{receipt_id}` does not verify: {}", status.cause().unwrap_or_default())]
    NotValid { receipt_id: ReceiptId, status: SignatureStatus },
    #[error("compose the quorum: the receipt `{0}` is of a quorum itself")]
    Quorum(ReceiptId),
    /// Of tier 3, but not a judgment: an approval is of one action, and does not serve as a judgment.
    #[error("compose the quorum: the receipt `{receipt_id}`: {error}")]
    Judgment { receipt_id: ReceiptId, error: Box<TierError> },
    #[error("compose the quorum: the receipt `{0}` is given twice")]
    ReceiptTwice(ReceiptId),
    #[error("compose the quorum: the signer `{0}` has two reviews")]
    SignerTwice(SignerId),
    #[error("compose the quorum: the receipt `{0}` is of other work than the others: its `{1}` differs")]
    OtherWork(ReceiptId, &'static str),
    #[error("compose the quorum: the receipt `{0}` does not repeat the challenge")]
    Challenge(ReceiptId),
    #[error("compose the quorum: the head of the chain beside the receipt `{0}` is not one that its signer signed")]
    Head(ReceiptId),
}

impl ComposeError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::Threshold { reviews, .. } => {
                return Some(format!("write a threshold from {} to {reviews}", reviews / 2 + 1));
            }
            Self::NotValid { status, .. } => return status.help(),
            Self::Judgment { error, .. } => return error.help(),
            Self::Quorum(_) => "give its members instead",
            Self::ReceiptTwice(_) | Self::SignerTwice(_) => "give one receipt of each reviewer",
            Self::Challenge(_) => "have the reviewer repeat it as `metadata.challenge`",
            Self::Head(_) => "leave the head out, or fetch it from the reviewer",
            Self::Size(_) => {
                return Some(format!("name {MIN_REVIEWS} to {MAX_REVIEWS} receipts, one for each reviewer"));
            }
            Self::OtherWork(..) => return None,
        };
        Some(help.to_owned())
    }
}

impl Composition<'_> {
    /// The receipt of tier 2 for the composer to sign, with the verdict that the rule comes to. The caller adds what it says of
    /// itself: the task, and `metadata.verifier`.
    ///
    /// # Errors
    /// [`ComposeError`] names the receipt that cannot be a member.
    pub fn draft(&self, receipt_id: ReceiptId, verified_at: Timestamp) -> Result<Draft, ComposeError> {
        let count = self.members.len();
        let Some(first) = self.members.first().filter(|_| is_size(count)) else {
            return Err(ComposeError::Size(count));
        };
        if !is_threshold(self.threshold, count) {
            return Err(ComposeError::Threshold { threshold: self.threshold, reviews: count });
        }
        let reviews = self.members.iter().map(|member| self.review(member, &verified_at)).collect::<Result<_, _>>()?;
        let hashes = self.hashes(first.receipt.hashes())?;
        let quorum = self.quorum(reviews)?;
        let verdict = quorum.ruling().verdict;
        let metadata = object! {
            // Without it, readers of kinds would take the receipt for a verification.
            "kind": NAME,
            "structural": quorum.is_structural(),
            "quorum": quorum.to_json(),
            "fault"?: (verdict == Verdict::Error).then_some(form::FAULT),
        };
        let results = quorum.results(verdict);
        Ok(Draft { receipt_id, verified_at, tier: TIER, verdict, task: None, results, hashes, metadata })
    }

    fn review(&self, member: &Member<'_>, now: &Timestamp) -> Result<Review, ComposeError> {
        let receipt = member.receipt;
        let receipt_id = receipt.receipt_id();
        let verification = verify_receipt(receipt, Profile::Vrf, &[]);
        let Some(signer) = verification.signer else {
            return Err(ComposeError::NotValid { receipt_id, status: verification.answer });
        };
        match receipt.tier() {
            TIER => return Err(ComposeError::Quorum(receipt_id)),
            tier if tier > TIER => Judgment::read(receipt)
                .and_then(|judgment| judgment.not_expired(now))
                .map_err(|error| ComposeError::Judgment { receipt_id, error: Box::new(error) })?,
            _ => {}
        }
        if !repeats(receipt.metadata(), self.challenge) {
            return Err(ComposeError::Challenge(receipt_id));
        }
        let record = match member.head {
            Some(head) if head.verify(&[]).signer == Some(signer) => Some(ChainRecord::of(head)),
            Some(_) => return Err(ComposeError::Head(receipt_id)),
            None => None,
        };
        Ok(Review {
            receipt_id,
            hash: receipt.hash(),
            signer,
            verdict: receipt.verdict(),
            tier: receipt.tier(),
            outcomes: (self.agree_on == AgreeOn::Outcomes).then(|| outcomes(receipt)),
            record,
        })
    }

    /// The hashes of every member; `tests` only where all have the same.
    fn hashes(&self, first: &Hashes) -> Result<Hashes, ComposeError> {
        for Member { receipt, .. } in self.members {
            if let Some(field) = other_work(receipt.hashes(), first) {
                return Err(ComposeError::OtherWork(receipt.receipt_id(), field));
            }
        }
        Ok(Hashes { tests: common_tests(self.members.iter().map(|member| member.receipt)), ..*first })
    }

    fn quorum(&self, mut reviews: Vec<Review>) -> Result<Quorum, ComposeError> {
        reviews.sort_by_key(|review| review.hash);
        let twice = |same: fn(&Review, &Review) -> bool| {
            let later = |place: usize| reviews.iter().skip(place + 1);
            reviews.iter().enumerate().find(|(place, review)| later(*place).any(|other| same(review, other)))
        };
        if let Some((_, review)) = twice(|one, other| one.receipt_id == other.receipt_id) {
            return Err(ComposeError::ReceiptTwice(review.receipt_id));
        }
        if let Some((_, review)) = twice(|one, other| one.signer == other.signer) {
            return Err(ComposeError::SignerTwice(review.signer));
        }
        Ok(Quorum { threshold: self.threshold, agree_on: self.agree_on, reviews, challenge: self.challenge })
    }
}
