//! Why a policy is refused.

use proofmark_evidence::ConditionError;
use proofmark_predicate::CompileError;
use proofmark_receipt::document::DocumentError;

/// Why a policy is refused, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A field is missing, unknown, or not what it should be.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A predicate cannot be loaded.
    #[error("`{at}`: {error}\n{}", .error.caret())]
    Predicate {
        /// The place of the predicate in the policy.
        at: String,
        /// What is wrong with it, and where in it.
        error: Box<CompileError>,
    },
}

impl From<ConditionError> for PolicyError {
    fn from(error: ConditionError) -> Self {
        match error {
            ConditionError::Document(error) => Self::Document(error),
            ConditionError::Predicate { at, error } => Self::Predicate { at, error },
        }
    }
}

impl PolicyError {
    /// A short stable name for what is wrong.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Document(error) => error.code(),
            Self::Predicate { error, .. } => error.code(),
        }
    }

    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Document(_) => None,
            Self::Predicate { error, .. } => error.help(),
        }
    }

    /// The place in the policy, as in `` `boundaries[0].when` ``.
    #[must_use]
    pub fn at(&self) -> String {
        match self {
            Self::Document(error) => error.place().to_string(),
            Self::Predicate { at, .. } => format!("`{at}`"),
        }
    }
}
