use proofmark_receipt::document::DocumentError;
use proofmark_receipt::{Answer, ReceiptId, SignatureStatus, Timestamp, Verdict, shown};
use thiserror::Error;

/// What is wrong with a receipt of tier 2 or 3, or why it does not count for its reader.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TierError {
    /// The receipt itself does not verify. The code is that of the status.
    #[error("{}", .0.cause().unwrap_or_default())]
    Receipt(SignatureStatus),
    #[error("invalid quorum: {0}")]
    MalformedQuorum(DocumentError),
    #[error("the receipt `{0}` of a review was not given")]
    MemberMissing(ReceiptId),
    /// Also a receipt that a judgment names, which is not the one that was given.
    #[error("the receipt `{receipt_id}` is not the one that is listed: its `{field}` differs")]
    MemberMismatch { receipt_id: ReceiptId, field: &'static str },
    /// What the person was shown is not what the reader gives. The code is `member_mismatch`.
    #[error("what was shown is not what the judgment says was shown")]
    ShownMismatch,
    #[error("the receipt `{receipt_id}` of a review does not verify: {cause}")]
    MemberInvalid { receipt_id: ReceiptId, cause: String },
    #[error("the verdict is `{stated}`, but the reviews come to `{counted}`")]
    QuorumMiscounted { stated: Verdict, counted: Verdict },
    #[error("reviewers of {operators} operators agree, and {at_least} are demanded")]
    QuorumNotMet { operators: usize, at_least: usize },
    #[error("no review is by the operator `{}`", shown(.operator))]
    QuorumIncomplete { operator: String },
    #[error("invalid judgment: {0}")]
    MalformedJudgment(DocumentError),
    #[error("the signer does not hold the role `{}`: {why}", shown(.role))]
    RoleNotHeld { role: String, why: &'static str },
    #[error("the judgment expired at {0}")]
    Expired(Timestamp),
}

impl TierError {
    /// A stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            // A valid signature has no code. Only others become an error.
            Self::Receipt(status) => status.code().unwrap_or("valid"),
            Self::MalformedQuorum(_) => "malformed_quorum",
            Self::MemberMissing(_) => "member_missing",
            Self::MemberMismatch { .. } | Self::ShownMismatch => "member_mismatch",
            Self::MemberInvalid { .. } => "member_invalid",
            Self::QuorumMiscounted { .. } => "quorum_miscounted",
            Self::QuorumNotMet { .. } => "quorum_not_met",
            Self::QuorumIncomplete { .. } => "quorum_incomplete",
            Self::MalformedJudgment(_) => "malformed_judgment",
            Self::RoleNotHeld { .. } => "role_not_held",
            Self::Expired(_) => "expired",
        }
    }

    /// The answer about the receipt. It stays valid where the reader's own policy is not met.
    #[must_use]
    pub fn answer(&self) -> Answer {
        match self {
            Self::Receipt(status) => Answer::from(status),
            Self::MalformedQuorum(_) | Self::MalformedJudgment(_) => Answer::Undecidable,
            Self::MemberMismatch { .. }
            | Self::ShownMismatch
            | Self::MemberInvalid { .. }
            | Self::QuorumMiscounted { .. } => Answer::Invalid,
            Self::MemberMissing(_)
            | Self::QuorumNotMet { .. }
            | Self::QuorumIncomplete { .. }
            | Self::RoleNotHeld { .. }
            | Self::Expired(_) => Answer::Valid,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::Receipt(status) => return status.help(),
            Self::MalformedQuorum(error) | Self::MalformedJudgment(error) => return error.help(),
            Self::MemberMissing(_) => "give the receipts of all reviews",
            Self::MemberMismatch { .. } => "use the original receipt, unchanged",
            Self::ShownMismatch => "give the bytes that were on the screen",
            Self::QuorumNotMet { .. } | Self::QuorumIncomplete { .. } => "ask more of the reviewers",
            Self::Expired(_) => "ask for a new judgment",
            Self::MemberInvalid { .. } | Self::QuorumMiscounted { .. } | Self::RoleNotHeld { .. } => return None,
        };
        Some(help.to_owned())
    }
}
