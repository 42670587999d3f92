//! What a copy leaves in a store: what the store is that cannot be written, and how the database says so.

/// What a store is that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A copy that is not complete.
    Unfinished(Origin),
    /// All of it is in another store.
    Moved { to: String },
}

/// Of what a copy is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The store, without a password.
    pub(crate) place: String,
    /// The latest time that was recorded in it.
    pub(crate) latest: i64,
}

/// What a refusal of the database begins with.
const MOVED: &str = "the store was moved to ";
const UNFINISHED: &str = "the store is an unfinished copy of ";

/// The SQLSTATE of a refusal.
pub(crate) const REFUSED: &str = "PM001";

/// The words of the column `state`.
pub(crate) const UNFINISHED_STATE: &str = "unfinished";
pub(crate) const MOVED_STATE: &str = "moved";

impl Mark {
    /// The mark with these columns.
    pub(crate) fn of_columns(state: &str, place: String, latest: i64) -> Self {
        match state {
            MOVED_STATE => Self::Moved { to: place },
            // Anything else than a complete copy is none.
            _ => Self::Unfinished(Origin { place, latest }),
        }
    }

    /// What the database says when it refuses a change.
    pub(crate) fn refusal(&self) -> String {
        match self {
            Self::Moved { to } => format!("{MOVED}{to}"),
            Self::Unfinished(origin) => format!("{UNFINISHED}{}", origin.place),
        }
    }

    /// The mark whose refusal this is.
    pub(crate) fn of_refusal(message: &str) -> Option<Self> {
        if let Some(to) = message.strip_prefix(MOVED) {
            return Some(Self::Moved { to: to.to_owned() });
        }
        // Which moment of the source it has is not in the text, and nobody asks where this is read.
        let place = message.strip_prefix(UNFINISHED)?.to_owned();
        Some(Self::Unfinished(Origin { place, latest: 0 }))
    }
}
