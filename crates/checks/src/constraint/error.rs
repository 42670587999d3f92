//! Why a constraint cannot be used, or is not checked.

use std::fmt;

use proofmark_predicate::Failure;

/// Why a constraint is none, and the mend.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct ConstraintError(pub(super) String);

pub(super) fn bad(why: impl fmt::Display) -> ConstraintError {
    ConstraintError(why.to_string())
}

/// Why a constraint is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooMuch {
    /// It alone would take too long.
    ForOne,
    /// All constraints together would, or nobody waits for them.
    Together(Failure),
}

impl From<Failure> for TooMuch {
    fn from(failure: Failure) -> Self {
        Self::Together(failure)
    }
}
