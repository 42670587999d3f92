use proofmark_receipt::SignatureStatus;

/// What checking a receipt of tier 2 or 3 comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The receipt is what its signer signed, and says what its members say.
    Valid,
    Invalid,
    /// Nothing could be checked.
    Undecidable,
}

/// Whether enough of the reader's reviewers agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuorumStatus {
    Met,
    NotMet,
    /// The reader gave no reviewers, a member is missing, or the receipt is not valid.
    Unknown,
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

impl QuorumStatus {
    /// `met`, `not_met` or `unknown`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not_met",
            Self::Unknown => "unknown",
        }
    }
}
