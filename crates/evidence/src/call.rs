//! A recorded tool call, and how it ended.

use proofmark_receipt::{Json, object};

/// One tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// What it was called with; `null` when it was not recorded.
    pub arguments: Json,
    /// What it answered; a text that is a JSON object or array is read as that.
    pub result: Option<Json>,
    /// How it ended.
    pub status: CallStatus,
    /// When, as recorded.
    pub at: Option<String>,
    /// Its place among the calls, from 0.
    pub index: usize,
    /// Where in the record it began; what began at a later place began later.
    pub began: usize,
    /// Where in the record it ended.
    pub ended: Option<usize>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// With a result.
    Succeeded,
    /// With an error.
    Failed,
    /// With a result whose text reads like an error, though the form has a mark for errors and it is not set. Such a
    /// call proves nothing, and may have changed something.
    Doubtful,
    /// It was not allowed to happen.
    Blocked,
    /// Without a result.
    Pending,
}

impl CallStatus {
    /// All of them.
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

    /// Whether it is not known what became of the call, so that it proves nothing.
    #[must_use]
    pub fn is_unsettled(self) -> bool {
        match self {
            Self::Doubtful | Self::Pending => true,
            Self::Succeeded | Self::Failed | Self::Blocked => false,
        }
    }
}

impl Call {
    /// The call as predicates read it. `name` says the same as `tool`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let object = object! {
            "tool": self.tool.as_str(),
            "name": self.tool.as_str(),
            "args": self.arguments.clone(),
            "result"?: self.result.clone(),
            "status": self.status.as_str(),
            "index": self.index as u64,
        };
        object.into()
    }
}
