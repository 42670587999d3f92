//! Receipts and approvals as facts: what was found out about each document, and whether it meets a demand.

mod approvals;
mod calls;
mod item;
mod receipts;

use proofmark_receipt::{Answer, Json, Receipt, Sha256Digest, SignerId, Timestamp, Trust, Verdict, Verification};

pub(crate) use approvals::{HUMAN_TIER, approvals, usable};
pub(crate) use calls::{Call, call};
pub use item::{Item, Status};
pub use receipts::outputs_wanted;
pub(crate) use receipts::{Found, Wanted, receipt};

/// How far ahead of the present a document may be dated, in milliseconds: clocks differ.
pub(crate) const MAX_AHEAD_MILLIS: i64 = 60_000;
/// The most refused documents that are named for one rule.
pub(crate) const MAX_REFUSED: usize = 4;

/// What was found out about one receipt. All of it, `valid`, `trust` and `spent` too, is the caller's word.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiptFact {
    /// Its id.
    pub receipt_id: String,
    /// SHA-256 of the document without its signature: what is spent, however the signature is spelt.
    pub content: Sha256Digest,
    /// What the verification came to.
    pub verdict: Verdict,
    /// How deep it went.
    pub tier: u8,
    /// `hashes.output`.
    pub output: Sha256Digest,
    /// `hashes.specification`.
    pub specification: Sha256Digest,
    /// When the work was verified, by the issuer's clock.
    pub verified_at: Timestamp,
    /// Who signed it, when valid.
    pub signer: Option<SignerId>,
    /// Whether the signature is valid.
    pub valid: bool,
    /// Whether the signer is trusted.
    pub trust: Trust,
    /// Whether it allowed another action already.
    pub spent: bool,
    /// What it says as an approval, if it is one.
    pub approval: Option<ApprovalFact>,
}

/// What a receipt says as an approval (`metadata.approval`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalFact {
    /// In which role it was given.
    pub role: String,
    /// The action it is of.
    pub action_hash: Sha256Digest,
    /// Until when it counts.
    pub expires_at: Timestamp,
}

/// Why a document does not meet a demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// It is over other bytes, or approves another action.
    OtherOutput,
    /// It does not verify.
    NotValid,
    /// Its signer is not trusted for this.
    Signer,
    /// It is for another specification.
    OtherSpecification,
    /// It has another verdict.
    Verdict,
    /// It is of another tier.
    Tier,
    /// It is dated in the future.
    InTheFuture,
    /// It is too old.
    TooOld,
    /// It is no longer good.
    Expired,
    /// It allowed another action already.
    Spent,
}

/// All documents that were presented: each once, in an order that does not depend on how they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    documents: Vec<ReceiptFact>,
}

impl ReceiptFact {
    /// What is found out about a receipt from the document and its verification.
    #[must_use]
    pub fn new(receipt: &Receipt, verification: &Verification, spent: bool) -> Self {
        Self {
            receipt_id: receipt.receipt_id().to_string(),
            content: receipt.content(),
            verdict: receipt.verdict(),
            tier: receipt.tier(),
            output: receipt.hashes().output,
            specification: receipt.hashes().specification,
            verified_at: receipt.verified_at().clone(),
            signer: verification.signer,
            valid: verification.answer == Answer::Valid,
            trust: verification.trust,
            spent,
            approval: receipt.metadata().get("approval").and_then(ApprovalFact::read),
        }
    }

    /// Whether it is dated further ahead than clocks may differ.
    pub(crate) fn ahead_of(&self, now: &Timestamp) -> bool {
        self.verified_at.unix_millis() > now.unix_millis().saturating_add(MAX_AHEAD_MILLIS)
    }

    /// Whether it is older than this.
    pub(crate) fn older_than(&self, max_age_millis: Option<i64>, now: &Timestamp) -> bool {
        let age = now.unix_millis().saturating_sub(self.verified_at.unix_millis());
        max_age_millis.is_some_and(|max| age > max)
    }

    pub(crate) fn status(&self) -> Status {
        if self.valid && self.trust != Trust::Untrusted { Status::Verified } else { Status::SelfReported }
    }
}

impl ApprovalFact {
    pub(crate) fn read(json: &Json) -> Option<Self> {
        let text = |name: &str| json.as_object()?.get(name)?.as_str();
        Some(Self {
            role: text("role")?.to_owned(),
            action_hash: text("action_hash")?.parse().ok()?,
            expires_at: text("expires_at")?.parse().ok()?,
        })
    }
}

impl Evidence {
    /// The evidence these documents are. Of several spellings of one document a valid one stays, and it is spent if any
    /// of them was.
    #[must_use]
    pub fn new(mut documents: Vec<ReceiptFact>) -> Self {
        documents.sort_by(|left, right| {
            let key = |fact: &ReceiptFact| (fact.content, !fact.valid, fact.trust != Trust::Trusted, fact.signer);
            key(left).cmp(&key(right))
        });
        documents.dedup_by(|other, kept| {
            let same = other.content == kept.content;
            if same {
                kept.spent |= other.spent;
            }
            same
        });
        Self { documents }
    }

    /// The documents.
    #[must_use]
    pub fn documents(&self) -> &[ReceiptFact] {
        &self.documents
    }
}

impl Refusal {
    /// A short stable name.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::OtherOutput => "other_output",
            Self::NotValid => "not_valid",
            Self::Signer => "signer_not_trusted",
            Self::OtherSpecification => "other_specification",
            Self::Verdict => "other_verdict",
            Self::Tier => "other_tier",
            Self::InTheFuture => "dated_in_the_future",
            Self::TooOld => "too_old",
            Self::Expired => "expired",
            Self::Spent => "spent",
        }
    }

    /// What is the matter, completing "receipt … ".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::OtherOutput => "is over other bytes than this action's",
            Self::NotValid => "does not verify",
            Self::Signer => "is signed by a key that is not trusted for this",
            Self::OtherSpecification => "is for another specification",
            Self::Verdict => "has another verdict",
            Self::Tier => "is of another tier",
            Self::InTheFuture => "is dated in the future",
            Self::TooOld => "is too old",
            Self::Expired => "has expired",
            Self::Spent => "was spent on another action",
        }
    }
}
