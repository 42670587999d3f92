//! Why a policy is refused.

use proofmark_evidence::ConditionError;
use proofmark_predicate::CompileError;
use proofmark_receipt::document::DocumentError;

/// Why a policy is refused, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionPolicyError {
    /// A field is missing, unknown or invalid.
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error("`{at}`: {error}\n{}", .error.caret())]
    Predicate { at: String, error: Box<CompileError> },
}

impl From<ConditionError> for ActionPolicyError {
    fn from(error: ConditionError) -> Self {
        match error {
            ConditionError::Document(error) => Self::Document(error),
            ConditionError::Predicate { at, error } => Self::Predicate { at, error },
        }
    }
}

impl ActionPolicyError {
    /// A stable name for programs.
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
            Self::Document(error) => error.help(),
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
