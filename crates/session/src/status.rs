//! How calls end.

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    Succeeded,
    Failed,
    /// The result reads like an error, but the trace has a mark for errors and does not set it here. Such a call proves
    /// nothing, and may have changed something.
    Doubtful,
    /// It was not allowed to run.
    Blocked,
    /// It has no result.
    Pending,
}

impl CallStatus {
    /// All statuses.
    pub const ALL: [Self; 5] = [Self::Succeeded, Self::Failed, Self::Doubtful, Self::Blocked, Self::Pending];

    /// The word: `succeeded`, `failed`, `doubtful`, `blocked` or `pending`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Doubtful => "doubtful",
            Self::Blocked => "blocked",
            Self::Pending => "pending",
        }
    }

    /// The status with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether the call may have changed something: everything but a call that failed or was blocked.
    #[must_use]
    pub fn may_have_acted(self) -> bool {
        match self {
            Self::Succeeded | Self::Doubtful | Self::Pending => true,
            Self::Failed | Self::Blocked => false,
        }
    }

    /// Whether the end of the call is unknown, so that it proves nothing.
    #[must_use]
    pub fn is_unsettled(self) -> bool {
        match self {
            Self::Doubtful | Self::Pending => true,
            Self::Succeeded | Self::Failed | Self::Blocked => false,
        }
    }
}
