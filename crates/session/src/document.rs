//! Events as entries of a session's chain.

use std::sync::Arc;

use proofmark_receipt::{
    ChainEnd, ChainTip, Json, Link, Object, ReceiptId, SignError, SigningKey, object, sign_document,
};

use crate::event::Event;

/// What `record_type` of a session's entry is.
pub const SESSION_ENTRY: &str = "proofmark_session_entry";
/// What `receipt_type` of a decision receipt is.
const DECISION_RECEIPT: &str = "verifiedx_decision_receipt";

/// An event and when it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The time of the store, as RFC 3339.
    pub at: String,
    pub event: Event,
}

impl Entry {
    /// Reads the event of an entry; `None` for a kind that this version does not know.
    #[must_use]
    pub fn read(document: &Object) -> Option<Self> {
        let text = |name: &str| document.get(name).and_then(Json::as_str).unwrap_or_default();
        Some(Self { at: text("at").to_owned(), event: Event::read(text("kind"), document)? })
    }

    /// The document of this entry, which is neither linked nor signed yet.
    #[must_use]
    pub fn to_document(&self, id: ReceiptId, session: &str) -> Object {
        let mut document = object! {
            "record_type": SESSION_ENTRY,
            "entry_id": id.to_string(),
            "session": session,
            "kind": self.event.kind().as_str(),
            "at": self.at.as_str(),
        };
        self.event.write(&mut document);
        document.insert("metadata", Object::new());
        document
    }
}

/// Links the document of an entry to the end of its session, and signs it.
///
/// # Errors
/// [`SignError`] when it has a value that cannot be signed.
pub fn sign_entry<'a>(
    mut document: Object,
    end: impl Into<ChainEnd<'a>>,
    key: &Arc<SigningKey>,
) -> Result<Object, SignError> {
    if let Some(Json::Object(metadata)) = document.get_mut("metadata") {
        ChainTip::write_link(end, metadata);
    }
    sign_document(&mut document, key)?;
    Ok(document)
}

/// A signed entry of a guarded session. It is linked to the one before it as receipts are.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionDocument {
    id: ReceiptId,
    document: Object,
}

impl SessionDocument {
    /// Whether a document says that it is such an entry. With `vrf_version` it is a VRF receipt, and with the type of
    /// decision receipts a decision receipt, whatever else it holds.
    #[must_use]
    pub fn claimed_by(document: &Object) -> bool {
        let says = |name: &str, what: &str| document.get(name).and_then(Json::as_str) == Some(what);
        says("record_type", SESSION_ENTRY)
            && !document.contains("vrf_version")
            && !says("receipt_type", DECISION_RECEIPT)
    }

    /// Reads an entry. Its signature is not verified.
    ///
    /// `None` for a document that is none.
    #[must_use]
    pub fn read(document: Json) -> Option<Self> {
        let Json::Object(document) = document else { return None };
        let id = document.get("entry_id").and_then(Json::as_str)?.parse().ok()?;
        Self::claimed_by(&document).then_some(Self { id, document })
    }

    /// The document.
    #[must_use]
    pub fn document(&self) -> &Object {
        &self.document
    }

    /// The event and when it was; `None` for a kind that this version does not know.
    #[must_use]
    pub fn entry(&self) -> Option<Entry> {
        Entry::read(&self.document)
    }

    /// The event; `None` for a kind that this version does not know.
    #[must_use]
    pub fn event(&self) -> Option<Event> {
        Event::read(self.text("kind"), &self.document)
    }

    /// The word of its kind, which another version may know.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.text("kind")
    }

    /// When it was, as it says.
    #[must_use]
    pub fn at(&self) -> &str {
        self.text("at")
    }

    /// The session that it is an entry of.
    #[must_use]
    pub fn session(&self) -> &str {
        self.text("session")
    }

    /// It as a link of its session's chain.
    #[must_use]
    pub fn link(&self) -> Link<'_> {
        Link { id: self.id, document: &self.document }
    }

    fn text(&self, name: &str) -> &str {
        self.document.get(name).and_then(Json::as_str).unwrap_or_default()
    }
}
