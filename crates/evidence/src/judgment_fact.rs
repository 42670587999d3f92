//! A person's judgment of work.

use proofmark_quorum::Judgment;
use proofmark_receipt::{Json, Object, Receipt, Timestamp, object};

/// What a judgment says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgmentFact {
    pub role: String,
    /// From when on it does not count.
    pub expires_at: Option<Timestamp>,
}

impl JudgmentFact {
    /// Reads it from a receipt; `None` where the receipt does not have the form of a judgment.
    #[must_use]
    pub fn of(receipt: &Receipt) -> Option<Self> {
        let judgment = Judgment::read(receipt).ok()?;
        Some(Self { role: judgment.role, expires_at: judgment.expires_at })
    }

    /// As decisions record it: `{role, expires_at}`.
    #[must_use]
    pub fn to_object(&self) -> Object {
        object! { "role": self.role.as_str(), "expires_at"?: self.expires_at.as_ref().map(Timestamp::as_str) }
    }

    /// Reads it back; `None` for another form.
    #[must_use]
    pub fn read(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        let expires_at = match object.get("expires_at") {
            Some(end) => Some(end.as_str()?.parse().ok()?),
            None => None,
        };
        Some(Self { role: object.get("role")?.as_str()?.to_owned(), expires_at })
    }
}
