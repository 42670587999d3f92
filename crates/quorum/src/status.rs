/// Whether enough of the reader's reviewers agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuorumStatus {
    Met,
    NotMet,
    /// The reader gave no reviewers, a member is missing, or the receipt is not valid.
    Unknown,
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
