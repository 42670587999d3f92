mod read;

use crate::digest::Sha256Digest;
use crate::error::ReceiptError;
use crate::json::{Json, Object, canonical_vrf_without};
use crate::link::{ChainTip, Link};
use crate::receipt_id::ReceiptId;
use crate::results::{Results, Verdict};
use crate::signature::Signature;
use crate::timestamp::Timestamp;

/// What the work was for (VRF 1.0, `task`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// The task's id in the client's system.
    pub task_id: Option<String>,
    pub task_type: Option<String>,
    /// A summary for people.
    pub description: Option<String>,
}

/// What exactly was verified (VRF 1.0, `hashes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hashes {
    pub specification: Sha256Digest,
    /// Of the submission.
    pub output: Sha256Digest,
    /// Of the suite or the definitions of checks.
    pub tests: Option<Sha256Digest>,
}

/// A valid VRF 1.0 receipt with its document exactly as written.
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
    /// Reads a receipt. Members that the format does not define are retained; the signature is not verified.
    ///
    /// # Errors
    /// [`ReceiptError`] names the broken rule and the field.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReceiptError> {
        Self::from_document(Json::parse(bytes)?)
    }

    /// As [`Receipt::parse`], from a parsed document.
    ///
    /// # Errors
    /// [`ReceiptError`] names the broken rule and the field.
    pub fn from_document(document: Json) -> Result<Self, ReceiptError> {
        let fields = read::fields(&document)?;
        Ok(Self { document, fields })
    }

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

    pub fn verdict(&self) -> Verdict {
        self.fields.verdict
    }

    /// What the work was for.
    pub fn task(&self) -> Option<&Task> {
        self.fields.task.as_ref()
    }

    pub fn results(&self) -> &Results {
        &self.fields.results
    }

    /// What exactly was verified.
    pub fn hashes(&self) -> &Hashes {
        &self.fields.hashes
    }

    /// All metadata; empty when the receipt has none.
    pub fn metadata(&self) -> &Object {
        static EMPTY: Object = Object::new();
        let metadata = self.object().get("metadata");
        // Never another type than an object: `read::fields` has refused that.
        metadata.and_then(Json::as_object).unwrap_or(&EMPTY)
    }

    /// The signature, not verified.
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

    /// SHA-256(canonical_vrf(receipt)), signature included: what the next receipt of a chain pins.
    pub fn hash(&self) -> Sha256Digest {
        Sha256Digest::of(&self.document.canonical_vrf())
    }

    /// SHA-256(canonical_vrf(receipt without `signature`)): the identity of a receipt that counts once.
    ///
    /// A signature does not cover itself, so a receipt can be signed again or respelled; this hash stays the same.
    pub fn content(&self) -> Sha256Digest {
        Sha256Digest::of(&canonical_vrf_without(self.object(), "signature"))
    }

    /// This receipt as the end of its chain. `None` without a valid `metadata.chain_position`.
    pub fn tip(&self) -> Option<ChainTip> {
        self.link().tip()
    }

    /// This receipt as a link of a chain.
    pub fn link(&self) -> Link<'_> {
        Link { id: self.receipt_id(), document: self.object() }
    }

    pub(crate) fn object(&self) -> &Object {
        static EMPTY: Object = Object::new();
        // Always an object: `read::fields` has refused anything else.
        self.document.as_object().unwrap_or(&EMPTY)
    }
}
