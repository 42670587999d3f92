//! What can be wrong with an execution.

use proofmark_receipt::Timestamp;
use proofmark_store::{Finding, NEVER_REPORTED};

/// The longest name of a decision or a call that is stored with a finding, in characters: others choose it.
const MAX_NAME: usize = 200;

/// What can be wrong with an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingCode {
    ExecutedBlocked,
    ExecutedUndecided,
    ExecutedOtherArguments,
    ExecutedTwice,
    ExecutedAfterExpiry,
    NeverReported,
}

/// What is found, in a word and in a sentence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) code: FindingCode,
    pub(crate) message: &'static str,
}

impl FindingCode {
    /// All codes.
    pub const ALL: [Self; 6] = [
        Self::ExecutedBlocked,
        Self::ExecutedUndecided,
        Self::ExecutedOtherArguments,
        Self::ExecutedTwice,
        Self::ExecutedAfterExpiry,
        Self::NeverReported,
    ];

    /// The word, as findings have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ExecutedBlocked => "executed_blocked",
            Self::ExecutedUndecided => "executed_undecided",
            Self::ExecutedOtherArguments => "executed_other_arguments",
            Self::ExecutedTwice => "executed_twice",
            Self::ExecutedAfterExpiry => "executed_after_expiry",
            Self::NeverReported => NEVER_REPORTED,
        }
    }

    /// The code with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == word)
    }
}

impl Found {
    pub(crate) const BLOCKED: Self =
        Self { code: FindingCode::ExecutedBlocked, message: "it was executed though it was not allowed" };

    /// The finding to store, about this decision or call.
    pub(crate) fn about(self, name: &str, now: &Timestamp) -> Finding {
        Finding {
            decision_id: name.chars().take(MAX_NAME).collect(),
            code: self.code.as_str().to_owned(),
            message: self.message.to_owned(),
            found_at: now.unix_millis(),
        }
    }
}
