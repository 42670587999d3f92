//! The end of a session at which a decision was made, as the receipt of the decision binds it.

use proofmark_receipt::{ChainTip, Json, Object, Sha256Digest, object};

/// How much of a session there was when a decision was made in it. The receipt of a decision is signed and linked to other decisions, so
/// it tells of entries that were deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionHead {
    /// The name of the session.
    pub session: String,
    /// How many entries it had; what is recorded of the decision itself comes after them.
    pub entries: u64,
    /// The hash of the last of them, as the next entry has it; `None` where there was none.
    pub last_entry: Option<Sha256Digest>,
}

impl SessionHead {
    /// The head of a session that ends with this entry.
    #[must_use]
    pub(crate) fn of(session: &str, tip: Option<&ChainTip>) -> Self {
        let entries = tip.map_or(0, |tip| tip.position.saturating_add(1));
        Self { session: session.to_owned(), entries, last_entry: tip.map(|tip| tip.hash) }
    }

    /// As receipts have it.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let last_entry = self.last_entry.map(|hash| hash.to_string());
        object! { "name": self.session.as_str(), "entries": self.entries, "last_entry"?: last_entry }.into()
    }

    /// Reads what a receipt has; `None` where it is not of this form.
    #[must_use]
    pub fn read(json: &Json) -> Option<Self> {
        let head: &Object = json.as_object()?;
        let session = head.get("name")?.as_str()?.to_owned();
        let entries = head.get("entries")?.as_number().filter(|number| number.is_safe())?.as_u64()?;
        let last_entry = match head.get("last_entry") {
            Some(hash) => Some(hash.as_str()?.parse().ok()?),
            None => None,
        };
        (last_entry.is_some() == (entries > 0)).then_some(Self { session, entries, last_entry })
    }
}
