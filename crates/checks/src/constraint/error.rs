//! Why a constraint cannot be used, or is not checked.

use proofmark_predicate::Failure;

/// Why a constraint is invalid, and what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct ConstraintError {
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl ConstraintError {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> ConstraintError {
        ConstraintError { message: message.into(), help: Some(help.into()) }
    }
}

/// Why a constraint is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooMuch {
    /// It alone would take too long.
    ForOne,
    /// All constraints together would, or the caller no longer waits.
    Together(Failure),
}

impl From<Failure> for TooMuch {
    fn from(failure: Failure) -> Self {
        Self::Together(failure)
    }
}
