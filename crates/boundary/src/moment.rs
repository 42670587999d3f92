//! The time and the history of a decision. Both are arguments: this crate has no clock and no memory.

use proofmark_receipt::{Json, Timestamp, object};

use crate::counted::Counted;

/// The time and the history of a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    pub now: Timestamp,
    pub history: History,
}

/// What the store of decisions knows about the same action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// How often an action with this fingerprint was denied since it was last allowed.
    pub denied: u64,
    /// A human's denial of the same action, by the same agent in the same environment, that has not expired.
    pub denial: Option<Denial>,
    /// What the limits of the policy had counted. A limit whose count is missing does not allow the action.
    pub counted: Vec<Counted>,
}

/// A human's denial of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub decision_id: String,
    pub reviewer: String,
    pub note: String,
    pub until: Timestamp,
}

impl Denial {
    /// Reads `{decision_id, reviewer, note, until}`; `None` for anything else.
    pub(crate) fn read(json: &Json) -> Option<Self> {
        let text = |name: &str| json.as_object()?.get(name)?.as_str();
        Some(Self {
            decision_id: text("decision_id")?.to_owned(),
            reviewer: text("reviewer")?.to_owned(),
            note: text("note")?.to_owned(),
            until: text("until")?.parse().ok()?,
        })
    }

    /// What [`Denial::read`] reads.
    pub(crate) fn to_json(&self) -> Json {
        object! {
            "decision_id": self.decision_id.as_str(),
            "reviewer": self.reviewer.as_str(),
            "note": self.note.as_str(),
            "until": self.until.as_str(),
        }
        .into()
    }
}
