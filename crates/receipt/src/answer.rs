use crate::verification::SignatureStatus;

/// The answer that verifying a document gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    Valid,
    Invalid,
    /// Nothing could be verified.
    Undecidable,
}

impl Answer {
    /// `valid`, `invalid` or `undecidable`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Undecidable => "undecidable",
        }
    }
}

impl From<&SignatureStatus> for Answer {
    fn from(status: &SignatureStatus) -> Self {
        match status {
            SignatureStatus::Valid => Self::Valid,
            SignatureStatus::Invalid(_) => Self::Invalid,
            SignatureStatus::Undecidable(_) => Self::Undecidable,
        }
    }
}
