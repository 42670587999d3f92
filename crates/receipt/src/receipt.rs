mod error;
mod read;

pub use error::ReceiptError;

use crate::chain::{ChainTip, Link};
use crate::digest::Sha256Digest;
use crate::json::{Json, Object};
use crate::receipt_id::ReceiptId;
use crate::results::{Results, Verdict};
use crate::signature::Signature;
use crate::timestamp::Timestamp;

/// What the work was for (VRF 1.0, `task`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// The id of the task elsewhere.
    pub task_id: Option<String>,
    /// Its category.
    pub task_type: Option<String>,
    /// A summary for people.
    pub description: Option<String>,
}

/// What exactly was verified (VRF 1.0, `hashes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hashes {
    /// Of the task's specification.
    pub specification: Sha256Digest,
    /// Of the submitted output.
    pub output: Sha256Digest,
    /// Of the suite or check definitions.
    pub tests: Option<Sha256Digest>,
}

/// A VRF 1.0 receipt that keeps every rule of the format, with its document exactly as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    document: Json,
    fields: Fields,
}

#[derive(Clone, Debug, PartialEq)]
struct Fields {
    receipt_id: ReceiptId,
    verified_at: Timestamp,
    tier: u8,
    verdict: Verdict,
    task: Option<Task>,
    results: Results,
    hashes: Hashes,
    signature: Option<Signature>,
}

impl Receipt {
    /// Reads a receipt. Members the format does not know are kept; the signature is not checked.
    ///
    /// # Errors
    /// [`ReceiptError`] names the rule that is broken and the field.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReceiptError> {
        Self::from_document(Json::parse(bytes)?)
    }

    /// The receipt `document` is.
    ///
    /// # Errors
    /// [`ReceiptError`] names the rule that is broken and the field.
    pub fn from_document(document: Json) -> Result<Self, ReceiptError> {
        let fields = read::fields(&document)?;
        Ok(Self { document, fields })
    }

    /// The receipt's id.
    pub fn receipt_id(&self) -> ReceiptId {
        self.fields.receipt_id
    }

    /// When the work was verified, by the issuer's clock.
    pub fn verified_at(&self) -> &Timestamp {
        &self.fields.verified_at
    }

    /// How deep the verification went: 0 to 3.
    pub fn tier(&self) -> u8 {
        self.fields.tier
    }

    /// What it came to.
    pub fn verdict(&self) -> Verdict {
        self.fields.verdict
    }

    /// What the work was for.
    pub fn task(&self) -> Option<&Task> {
        self.fields.task.as_ref()
    }

    /// The checks.
    pub fn results(&self) -> &Results {
        &self.fields.results
    }

    /// What exactly was verified.
    pub fn hashes(&self) -> &Hashes {
        &self.fields.hashes
    }

    /// The metadata, known keys and unknown ones; empty when the receipt has none.
    pub fn metadata(&self) -> &Object {
        static EMPTY: Object = Object::new();
        let metadata = self.object().get("metadata");
        metadata.and_then(Json::as_object).unwrap_or(&EMPTY)
    }

    /// The signature, unchecked.
    pub fn signature(&self) -> Option<&Signature> {
        self.fields.signature.as_ref()
    }

    /// The whole document, as written.
    pub fn document(&self) -> &Json {
        &self.document
    }

    /// The receipt on one line: members in document order, numbers as written.
    pub fn to_text(&self) -> String {
        self.document.to_text()
    }

    /// SHA-256 of the whole receipt, signature included, in canonical form `vrf`: what the next receipt of a chain pins.
    pub fn hash(&self) -> Sha256Digest {
        Sha256Digest::of(&self.document.canonical_vrf())
    }

    /// SHA-256 of the receipt without its signature, in canonical form `vrf`: what a receipt that counts once is known by.
    ///
    /// The signature covers neither its own spelling nor what stands beside it, so one receipt can be written in several
    /// ways; this is the same for all of them.
    pub fn content(&self) -> Sha256Digest {
        let mut unsigned = self.object().clone();
        unsigned.remove("signature");
        Sha256Digest::of(&Json::Object(unsigned).canonical_vrf())
    }

    /// This receipt as the end of its chain; none without a readable `metadata.chain_position`.
    pub fn tip(&self) -> Option<ChainTip> {
        self.link().tip()
    }

    /// This receipt as a link of a chain.
    pub fn link(&self) -> Link<'_> {
        Link { id: self.receipt_id(), document: self.object() }
    }

    pub(crate) fn object(&self) -> &Object {
        static EMPTY: Object = Object::new();
        self.document.as_object().unwrap_or(&EMPTY)
    }
}
