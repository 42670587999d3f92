//! A recorded tool call, and how it ended.

use proofmark_receipt::{Json, object};

/// A recorded tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What the trace names the call, where it names calls.
    pub id: Option<String>,
    pub tool: String,
    /// `null` when they were not recorded.
    pub arguments: Json,
    /// A text that is a JSON object or array is read as that.
    pub result: Option<Json>,
    pub status: CallStatus,
    /// The time, as recorded.
    pub at: Option<String>,
    /// Whether it was made without the decision that it needed, as far as the trace says that.
    pub undecided: bool,
    /// Its index among the calls.
    pub index: usize,
    /// Its position in the trace; a call with a greater position began later.
    pub began: usize,
    /// The position of its result in the trace.
    pub ended: Option<usize>,
}

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

impl Call {
    /// The call as predicates read it; `name` equals `tool`.
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
