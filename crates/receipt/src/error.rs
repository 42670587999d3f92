use thiserror::Error;

use crate::digest::ParseDigestError;
use crate::json::JsonError;
use crate::receipt_id::ParseReceiptIdError;
use crate::results::{UnknownWordError, Verdict};
use crate::timestamp::ParseTimestampError;

/// Why a document is not a VRF 1.0 receipt (or, with [`ReceiptError::WrongFormat`], not a chain head).
///
/// `field` is the place, as in `results.details[2].name`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReceiptError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("missing field `{field}`")]
    MissingField { field: String },
    #[error("`{field}`: expected {expected}, found {found}")]
    WrongType { field: String, expected: &'static str, found: &'static str },
    /// A member of `signature` beside its four, which no signature covers.
    #[error("`{field}` is not covered by the signature")]
    UnsignedMember { field: String },
    #[error("`vrf_version` is `{0}`, expected `1.0`")]
    UnsupportedVersion(String),
    #[error("`format` is `{found}`, expected `{expected}`")]
    WrongFormat { found: String, expected: &'static str },
    #[error("`receipt_id`: {0}")]
    ReceiptId(#[source] ParseReceiptIdError),
    #[error("`{field}`: {error}")]
    Timestamp { field: String, error: ParseTimestampError },
    #[error("`tier` is {0}, expected 0, 1, 2 or 3")]
    TierOutOfRange(String),
    #[error("`verdict`: {0}")]
    UnknownVerdict(#[source] UnknownWordError),
    #[error("`{field}`: {error}")]
    UnknownStatus { field: String, error: UnknownWordError },
    #[error("`{field}`: {error}")]
    UnknownDecided { field: String, error: UnknownWordError },
    #[error("`{field}`: {error}")]
    Hash { field: String, error: ParseDigestError },
    #[error("`{field}` is {found}, expected an integer from 0 to 2^64−1")]
    CountOutOfRange { field: String, found: String },
    #[error("`results.total` is {total}, but passed {passed}, failed {failed} and errors {errors} do not add up to it")]
    TotalMismatch { total: u64, passed: u64, failed: u64, errors: u64 },
    /// The details list more checks of a status than the count says. Fewer are fine: they may leave checks out.
    #[error("`results.details` lists {shown} checks with status `{status}`, but the count says {counted}")]
    DetailsMismatch { status: &'static str, shown: u64, counted: u64 },
    /// `pass` means that all checks passed, and `partial` that some did (VRF 1.0, "Verdict Semantics").
    #[error("`verdict` is `{verdict}`, but `results` say that {passed} of {total} checks passed")]
    VerdictMismatch { verdict: Verdict, passed: u64, total: u64 },
}

impl ReceiptError {
    /// A stable name for programs. For [`ReceiptError::Json`], that of the JSON error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Json(error) => error.code(),
            Self::MissingField { .. } => "missing_field",
            Self::WrongType { .. } => "wrong_type",
            Self::UnsignedMember { .. } => "unsigned_member",
            Self::UnsupportedVersion(_) => "unsupported_version",
            Self::WrongFormat { .. } => "wrong_format",
            Self::ReceiptId(_) => "invalid_receipt_id",
            Self::Timestamp { .. } => "invalid_timestamp",
            Self::TierOutOfRange(_) => "tier_out_of_range",
            Self::UnknownVerdict(_) => "unknown_verdict",
            Self::UnknownStatus { .. } => "unknown_status",
            Self::UnknownDecided { .. } => "unknown_decided",
            Self::Hash { .. } => "invalid_hash",
            Self::CountOutOfRange { .. } => "count_out_of_range",
            Self::TotalMismatch { .. } => "total_mismatch",
            Self::DetailsMismatch { .. } => "details_mismatch",
            Self::VerdictMismatch { .. } => "verdict_mismatch",
        }
    }

    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Json(error) => error.help(),
            Self::UnsignedMember { .. } => Some("remove it".to_owned()),
            Self::ReceiptId(error) => error.help(),
            Self::Timestamp { error, .. } => error.help(),
            Self::UnknownVerdict(error) | Self::UnknownStatus { error, .. } | Self::UnknownDecided { error, .. } => {
                error.help()
            }
            Self::Hash { error, .. } => error.help(),
            Self::MissingField { .. }
            | Self::WrongType { .. }
            | Self::UnsupportedVersion(_)
            | Self::WrongFormat { .. }
            | Self::TierOutOfRange(_)
            | Self::CountOutOfRange { .. }
            | Self::TotalMismatch { .. }
            | Self::VerdictMismatch { .. }
            | Self::DetailsMismatch { .. } => None,
        }
    }
}
