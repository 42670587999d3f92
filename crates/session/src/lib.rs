//! Entries of guarded sessions, as documents.

use proofmark_boundary::DecisionReceipt;
use proofmark_receipt::{Json, Link, Object, ReceiptId};

/// What `record_type` of a session's entry is.
pub const SESSION_ENTRY: &str = "proofmark_session_entry";

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
        document.get("record_type").and_then(Json::as_str) == Some(SESSION_ENTRY)
            && !document.contains("vrf_version")
            && !DecisionReceipt::claimed_by(document)
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

    /// A text at the top.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.document.get(name)?.as_str()
    }

    /// It as a link of its session's chain.
    #[must_use]
    pub fn link(&self) -> Link<'_> {
        Link { id: self.id, document: &self.document }
    }
}
