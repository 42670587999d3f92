use crate::error::ReceiptError;
use crate::json::{Json, Object};
use crate::link::ChainTip;
use crate::members::Members;
use crate::safe::SignError;
use crate::signature::{Signature, sign_document, verify_document};
use crate::verification::Verification;
use crate::{Sha256Digest, SignerId, SigningKey, Timestamp, object, shown};

const FORMAT: &str = "proofmark-chain-head/1";

/// A signed statement of a chain's length and last receipt, without which a missing end would not show.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainHead {
    document: Object,
    length: u64,
    tip: Sha256Digest,
    signature: Signature,
}

impl ChainHead {
    /// Signs that `chain` ends in `tip` at the time `signed_at`.
    ///
    /// # Errors
    /// [`SignError`] when a value is outside the safe set, or the document is too large.
    pub fn sign(chain: &str, tip: &ChainTip, signed_at: &Timestamp, key: &SigningKey) -> Result<Self, SignError> {
        let mut document = object! {
            "format": FORMAT,
            "chain": chain,
            "length": tip.position.saturating_add(1),
            "tip": tip.hash.to_string(),
            "signed_at": signed_at.as_str(),
        };
        sign_document(&mut document, key)?;
        Ok(Self::from_document(Json::Object(document))?)
    }

    /// Reads a chain head; the signature is not verified.
    ///
    /// # Errors
    /// [`ReceiptError`] names the broken rule and the field.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReceiptError> {
        Self::from_document(Json::parse(bytes)?)
    }

    /// The number of receipts.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The hash of the last receipt.
    pub fn tip(&self) -> Sha256Digest {
        self.tip
    }

    /// The signer that `signature` names, unverified.
    pub fn signer_id(&self) -> &str {
        &self.signature.signer_id
    }

    /// The document.
    pub fn document(&self) -> &Object {
        &self.document
    }

    /// The document on one line.
    pub fn to_text(&self) -> String {
        self.document.to_text()
    }

    /// When it was signed, as its signer says.
    pub fn signed_at(&self) -> Option<Timestamp> {
        self.document.get("signed_at")?.as_str()?.parse().ok()
    }

    /// Verifies the signature, as [`crate::verify`] does that of a receipt.
    pub fn verify(&self, trusted: &[SignerId]) -> Verification {
        verify_document(&self.document, trusted)
    }

    fn from_document(document: Json) -> Result<Self, ReceiptError> {
        let top = Members::top(&document)?;
        let format = top.string("format")?;
        if format != FORMAT {
            return Err(ReceiptError::WrongFormat { found: shown(format), expected: FORMAT });
        }
        // Receipts do not name their chain, so there is nothing to compare it with: `tip` says which chain is meant.
        top.string("chain")?;
        top.timestamp("signed_at")?;
        let (length, tip) = (top.count("length")?, top.digest("tip")?);
        let signature = Signature::read(top.object("signature")?)?;
        match document {
            Json::Object(document) => Ok(Self { document, length, tip, signature }),
            other => Err(ReceiptError::WrongType {
                field: "document".to_owned(),
                expected: "an object",
                found: other.type_name(),
            }),
        }
    }
}
