//! A recorded tool call.

use proofmark_receipt::{Json, Object, object};
use proofmark_session::{CallStatus, copy_provenance};

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
    pub given: Given,
    pub status: CallStatus,
    /// The time, as recorded.
    pub at: Option<String>,
    /// Where it comes from ([`proofmark_session::PROVENANCE`]), as far as the trace says that.
    pub provenance: Object,
    /// Whether the agent's host was started again since.
    pub earlier: bool,
    /// Whether it was made without the decision that it needed, as far as the trace says that.
    pub undecided: bool,
    /// Its index among the calls.
    pub index: usize,
    /// Its position in the trace; a call with a greater position began later.
    pub began: usize,
    /// The position of its result in the trace.
    pub ended: Option<usize>,
}

/// What the agent got as the result of a call, where the record says more of it than `result`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// The recorded content, unchanged: texts are not joined or parsed as JSON.
    pub content: Option<Json>,
    /// The signs of steering that were found in it.
    pub signs: Option<Vec<String>>,
    /// The labels that its values got.
    pub labels: Option<Object>,
    /// The hash of the policy that gave these labels.
    pub labelled_by: Option<String>,
    /// Whether the agent did not get it.
    pub withheld: bool,
}

impl Call {
    /// The call as predicates read it; `name` equals `tool`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut object = object! {
            "tool": self.tool.as_str(),
            "name": self.tool.as_str(),
            "args": self.arguments.clone(),
            "result"?: self.result.clone(),
            "status": self.status.as_str(),
            "index": self.index as u64,
            "earlier"?: self.earlier.then_some(true),
        };
        copy_provenance(&self.provenance, &mut object);
        object.into()
    }

    /// A member of its provenance.
    #[must_use]
    pub fn came_from(&self, member: &str) -> Option<&str> {
        self.provenance.get(member).and_then(Json::as_str)
    }
}
