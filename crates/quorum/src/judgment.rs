//! `metadata.judgment`: what a person found of work, in words.

mod read;

use proofmark_receipt::{
    Detail, Draft, Hashes, Json, Receipt, ReceiptId, Results, Sha256Digest, Status, Task, Timestamp, Verdict, object,
};
use thiserror::Error;

use crate::error::TierError;
use crate::form;
use crate::reference::Reference;

/// The longest statement, in bytes.
pub const MAX_STATEMENT_BYTES: usize = 4_096;
/// The most receipts that a judgment rests on.
pub const MAX_ON: usize = 64;
/// The longest role, in bytes: that of an approval.
const MAX_ROLE_BYTES: usize = 1_024;

const NAME: &str = "judgment";
/// The tier of what a person signed.
const TIER: u8 = 3;
const FORMAT: &str = "proofmark-judgment/1";

/// What a person says of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgment {
    /// In which role. Whether the signer's key may act in it is the reader's to say.
    pub role: String,
    /// The judgment in words, of 1 to [`MAX_STATEMENT_BYTES`] bytes.
    pub statement: String,
    /// Of the bytes that were on the screen: a person signs what they saw.
    pub shown: Option<Sha256Digest>,
    /// The receipts that they judged by, at most [`MAX_ON`], each once and over the same output.
    pub on: Vec<Reference>,
    /// From when on it does not count.
    pub expires_at: Option<Timestamp>,
}

/// What was judged, by which criteria.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The task's id in the client's system.
    pub task_id: Option<String>,
    pub specification: Sha256Digest,
    /// Of the work.
    pub output: Sha256Digest,
    /// At least one.
    pub criteria: Vec<Criterion>,
}

/// One criterion of a judgment: a check of its receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Criterion {
    pub name: String,
    /// `error` where the person would not or could not judge; the verdict is then `error`.
    pub status: Status,
    /// Why.
    pub message: String,
}

/// Why a judgment cannot be drafted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JudgmentError {
    #[error("draft the judgment: the role is empty or longer than {MAX_ROLE_BYTES} bytes")]
    Role,
    #[error("draft the judgment: the statement is empty or longer than {MAX_STATEMENT_BYTES} bytes")]
    Statement,
    #[error("draft the judgment: it has no criteria")]
    Criteria,
    #[error("draft the judgment: it rests on more than {MAX_ON} receipts, or on one twice")]
    On,
    #[error("draft the judgment: it would expire before it is given")]
    Expired,
}

impl JudgmentError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Role => "say in which role you judge",
            Self::Statement => "say in words what you found",
            Self::Criteria => "name what you judged by",
            Self::On => "name each receipt once",
            Self::Expired => "give a later time",
        }
    }
}

impl Judgment {
    /// Whether the receipt says that it is a judgment: only then is [`Judgment::read`] about it.
    #[must_use]
    pub fn is_stated(receipt: &Receipt) -> bool {
        receipt.metadata().contains(NAME)
    }

    /// The receipt of tier 3 for the person to sign, with their own key.
    ///
    /// # Errors
    /// [`JudgmentError`] when it is incomplete.
    pub fn draft(self, judged: Judged, receipt_id: ReceiptId, now: Timestamp) -> Result<Draft, JudgmentError> {
        self.check(&now)?;
        let criteria = judged.criteria.into_iter();
        let detail = |it: Criterion| Detail { message: Some(it.message), ..Detail::new(it.name, it.status) };
        let results = Results::from_details(criteria.map(detail).collect());
        if results.total == 0 {
            return Err(JudgmentError::Criteria);
        }
        let verdict = verdict(&results);
        let metadata = object! {
            // Without it, readers of kinds would take the receipt for a verification.
            "kind": NAME,
            "structural": false,
            "judgment": self.to_json(),
            "fault"?: (verdict == Verdict::Error).then_some(form::FAULT),
        };
        Ok(Draft {
            receipt_id,
            verified_at: now,
            tier: TIER,
            verdict,
            task: Some(Task { task_id: judged.task_id, task_type: Some(NAME.to_owned()), description: None }),
            results,
            hashes: Hashes { specification: judged.specification, output: judged.output, tests: None },
            metadata,
        })
    }

    /// Reads the judgment of a receipt, and checks that the rest of the receipt has the form of one. No signature is looked at.
    ///
    /// # Errors
    /// [`TierError::MalformedJudgment`] names the field.
    pub fn read(receipt: &Receipt) -> Result<Self, TierError> {
        read::judgment(receipt).map_err(TierError::MalformedJudgment)
    }

    /// Refuses a judgment that has expired at `now`.
    pub(crate) fn not_expired(&self, now: &Timestamp) -> Result<(), TierError> {
        match &self.expires_at {
            Some(end) if end.unix_millis() <= now.unix_millis() => Err(TierError::Expired(end.clone())),
            Some(_) | None => Ok(()),
        }
    }

    fn check(&self, now: &Timestamp) -> Result<(), JudgmentError> {
        if self.role.trim().is_empty() || self.role.len() > MAX_ROLE_BYTES {
            return Err(JudgmentError::Role);
        }
        if self.statement.trim().is_empty() || self.statement.len() > MAX_STATEMENT_BYTES {
            return Err(JudgmentError::Statement);
        }
        if self.on.len() > MAX_ON || read::unique("on", &self.on).is_err() {
            return Err(JudgmentError::On);
        }
        self.not_expired(now).map_err(|_| JudgmentError::Expired)
    }

    fn to_json(&self) -> Json {
        let on: Vec<Json> = self.on.iter().map(|reference| reference.to_json()).collect();
        let judgment = object! {
            "format": FORMAT,
            "role": self.role.as_str(),
            "statement": self.statement.as_str(),
            "shown"?: self.shown.map(|digest| digest.to_string()),
            "on"?: (!on.is_empty()).then_some(on),
            "expires_at"?: self.expires_at.as_ref().map(|end| end.as_str()),
        };
        judgment.into()
    }
}

/// The verdict of a judgment. A criterion that was not judged leaves the work without a verdict.
fn verdict(results: &Results) -> Verdict {
    match results {
        Results { errors: 1.., .. } | Results { total: 0, .. } => Verdict::Error,
        Results { passed, total, .. } if passed == total => Verdict::Pass,
        Results { passed: 0, .. } => Verdict::Fail,
        _ => Verdict::Partial,
    }
}
