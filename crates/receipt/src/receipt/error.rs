use thiserror::Error;

use crate::digest::ParseDigestError;
use crate::json::JsonError;
use crate::receipt_id::ParseReceiptIdError;
use crate::results::UnknownWordError;
use crate::timestamp::ParseTimestampError;

/// Why a document is not a VRF 1.0 receipt (or, with [`ReceiptError::WrongFormat`], not a chain head).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReceiptError {
    /// Not a JSON document.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A required field is not there.
    #[error("`{field}` is missing; add it")]
    MissingField {
        /// Its place, as in `results.details[2].name`.
        field: String,
    },
    /// A field of another type than the format says.
    #[error("`{field}` is a {found} where a {expected} is due")]
    WrongType {
        /// Its place.
        field: String,
        /// The type due.
        expected: &'static str,
        /// The type found.
        found: &'static str,
    },
    /// A member of `signature` beside the four it has: no signature covers it.
    #[error("`{field}` is not covered by the signature; remove it")]
    UnsignedMember {
        /// Its place.
        field: String,
    },
    /// Not the version of the format this reads.
    #[error("`vrf_version` is `{0}`; only `1.0` is known")]
    UnsupportedVersion(String),
    /// Not a document of this format.
    #[error("`format` is `{found}` where `{expected}` is due")]
    WrongFormat {
        /// The format found.
        found: String,
        /// The format due.
        expected: &'static str,
    },
    /// `receipt_id` is not a UUID version 4.
    #[error("`receipt_id`: {0}")]
    ReceiptId(#[source] ParseReceiptIdError),
    /// A time that is not ISO 8601 in UTC.
    #[error("`{field}`: {error}")]
    Timestamp {
        /// Its place.
        field: String,
        /// What is wrong.
        error: ParseTimestampError,
    },
    /// `tier` is beyond 0 to 3.
    #[error("`tier` is {0}; it must be 0, 1, 2 or 3")]
    TierOutOfRange(String),
    /// `verdict` is none of the four.
    #[error("`verdict`: {0}")]
    UnknownVerdict(#[source] UnknownWordError),
    /// A check's `status` is none of the three.
    #[error("`{field}`: {error}")]
    UnknownStatus {
        /// Its place.
        field: String,
        /// What is wrong.
        error: UnknownWordError,
    },
    /// A digest that is not `sha256:` and 64 lower-case hex digits.
    #[error("`{field}`: {error}")]
    Hash {
        /// Its place.
        field: String,
        /// What is wrong.
        error: ParseDigestError,
    },
    /// A count below zero or past 2^64−1.
    #[error("`{field}` is {found}; it must be an integer from 0 to 2^64−1")]
    CountOutOfRange {
        /// Its place.
        field: String,
        /// The token found.
        found: String,
    },
    /// `total` is not the sum of the others.
    #[error("`results.total` is {total}, but passed {passed}, failed {failed} and errors {errors} do not add up to it")]
    TotalMismatch {
        /// As written.
        total: u64,
        /// As written.
        passed: u64,
        /// As written.
        failed: u64,
        /// As written.
        errors: u64,
    },
    /// `details` shows more checks of a status than the count says.
    #[error("`results.details` shows {shown} checks with status `{status}`, but the count says {counted}")]
    DetailsMismatch {
        /// The status.
        status: &'static str,
        /// How many the details show.
        shown: u64,
        /// How many there are, by the count.
        counted: u64,
    },
}

impl ReceiptError {
    /// The name of the refusal, for programs; stable. For [`ReceiptError::Json`], that of the JSON refusal.
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
            Self::Hash { .. } => "invalid_hash",
            Self::CountOutOfRange { .. } => "count_out_of_range",
            Self::TotalMismatch { .. } => "total_mismatch",
            Self::DetailsMismatch { .. } => "details_mismatch",
        }
    }
}
