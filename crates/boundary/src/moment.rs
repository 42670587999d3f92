//! When a decision is made, and what went before: both are arguments, since nothing here has a clock or a memory.

use proofmark_receipt::{Json, Object, Timestamp};

/// When a decision is made, and what went before.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    pub now: Timestamp,
    pub history: History,
}

/// What the keeper of decisions knows of this action's past.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// How often the action with this fingerprint was denied in this run.
    pub denied: u64,
    /// A human's denial of the same action, asked for by the same agent in the same environment, that has not ended.
    pub denial: Option<Denial>,
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
    /// Reads `{decision_id, reviewer, note, until}`; `None` when it is of another form.
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
        let mut object = Object::new();
        object.insert("decision_id", self.decision_id.as_str());
        object.insert("reviewer", self.reviewer.as_str());
        object.insert("note", self.note.as_str());
        object.insert("until", self.until.as_str());
        object.into()
    }
}
