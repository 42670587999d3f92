//! `COSE_Sign1` (RFC 9052, section 4.2) with Ed25519, which statements and receipts are.

use proofmark_receipt::{SignerId, SigningKey, shown};

use super::cbor::{Item, KeyOrder, Map};
use crate::ExportError;

/// The tag of a `COSE_Sign1`.
const TAG: u64 = 18;

/// Labels of header parameters (RFC 9052, section 3.1; RFC 9597; RFC 9942).
pub(super) const ALG: i128 = 1;
pub(super) const CRIT: i128 = 2;
pub(super) const CONTENT_TYPE: i128 = 3;
pub(super) const KID: i128 = 4;
pub(super) const CLAIMS: i128 = 15;
pub(super) const RECEIPTS: i128 = 394;
pub(super) const VDS: i128 = 395;
pub(super) const VDP: i128 = 396;

/// Labels of claims (RFC 8392, section 4).
pub(super) const ISS: i128 = 1;
pub(super) const SUB: i128 = 2;
pub(super) const IAT: i128 = 6;

/// What is understood of a protected header, and so may be critical.
const UNDERSTOOD: [i128; 5] = [ALG, CONTENT_TYPE, KID, CLAIMS, VDS];

/// `EdDSA` (RFC 9053). It is written because `pycose` and `scitt-cose` do not read the one that RFC 9864 has for Ed25519 alone.
pub(super) const EDDSA: i128 = -8;
/// `Ed25519` (RFC 9864).
const ED25519: i128 = -19;

/// A `COSE_Sign1`, read.
#[derive(Debug)]
pub(super) struct Sign1<'a> {
    protected_bytes: &'a [u8],
    unprotected: Map<'a>,
    /// `None` when it is detached.
    pub(super) payload: Option<&'a [u8]>,
    signature: &'a [u8; 64],
}

/// How what is read calls itself malformed.
pub(super) type Malformed = fn(&'static str) -> ExportError;

impl<'a> Sign1<'a> {
    /// Reads a tagged `COSE_Sign1` in deterministic CBOR, and its protected header, whose keys are in this order. Nothing is
    /// verified.
    ///
    /// # Errors
    /// `malformed` names what is wrong; or the algorithm is not known.
    pub(super) fn read(bytes: &'a [u8], order: KeyOrder, malformed: Malformed) -> Result<(Self, Map<'a>), ExportError> {
        let item = Item::read(bytes).ok_or_else(|| malformed("the bytes are not deterministic CBOR"))?;
        let Item::Tag(TAG, inner) = item else { return Err(malformed("the tag 18 (COSE_Sign1) is missing")) };
        let Item::Array(parts) = *inner else { return Err(malformed("a COSE_Sign1 is an array")) };
        let Ok([protected, unprotected, payload, signature]) = <[Item<'a>; 4]>::try_from(parts) else {
            return Err(malformed("a COSE_Sign1 has four parts"));
        };
        let protected_bytes = protected.as_bytes().ok_or_else(|| malformed("the protected header is not bytes"))?;
        let Some(Item::Map(protected)) = Item::read_in(protected_bytes, order) else {
            return Err(malformed("the protected header is not a map in deterministic CBOR"));
        };
        let Item::Map(unprotected) = unprotected else {
            return Err(malformed("the unprotected header is not a map"));
        };
        let payload = match payload {
            Item::Bytes(payload) => Some(payload),
            Item::Null => None,
            _ => return Err(malformed("the payload is neither bytes nor null")),
        };
        // Only what is signed chooses the algorithm.
        let alg = protected.get(ALG).ok_or_else(|| malformed("the protected header has no `alg`"))?;
        if !matches!(alg, Item::Int(EDDSA | ED25519)) {
            return Err(ExportError::UnknownAlgorithm(brief(alg)));
        }
        // After the algorithm, on which the length depends.
        let signature = signature.as_bytes().and_then(|bytes| bytes.try_into().ok());
        let signature = signature.ok_or_else(|| malformed("the signature does not have 64 bytes"))?;
        check_critical(&protected).map_err(malformed)?;
        if protected.0.iter().any(|(label, _)| matches!(label, Item::Int(label) if unprotected.get(*label).is_some())) {
            return Err(malformed("a header parameter is both protected and unprotected"));
        }
        Ok((Self { protected_bytes, unprotected, payload, signature }, protected))
    }

    pub(super) fn unprotected(&self) -> &Map<'a> {
        &self.unprotected
    }

    /// Whether `signer` signed this with `payload`.
    pub(super) fn is_signed_by(&self, signer: &SignerId, payload: &[u8]) -> bool {
        signer.verify(&to_be_signed(self.protected_bytes, payload), self.signature)
    }

    /// The bytes with another unprotected header, which no signature covers.
    pub(super) fn with_unprotected(&self, unprotected: Map<'a>) -> Vec<u8> {
        let payload = self.payload.map_or(Item::Null, Item::Bytes);
        whole(self.protected_bytes, unprotected, payload, self.signature)
    }
}

/// Signs `payload` under a protected header; with `detached` the payload is left out.
pub(super) fn sign(
    protected: Map<'_>,
    unprotected: Map<'_>,
    payload: &[u8],
    detached: bool,
    key: &SigningKey,
) -> Vec<u8> {
    let protected = Item::Map(protected).to_bytes();
    let signature = key.sign(&to_be_signed(&protected, payload));
    let attached = if detached { Item::Null } else { Item::Bytes(payload) };
    whole(&protected, unprotected, attached, &signature)
}

/// The text of a value, for messages.
pub(super) fn brief(item: &Item<'_>) -> String {
    match item {
        Item::Int(value) => value.to_string(),
        Item::Text(text) => format!("`{}`", shown(text)),
        _ => "neither a number nor a text".to_owned(),
    }
}

fn whole(protected: &[u8], unprotected: Map<'_>, payload: Item<'_>, signature: &[u8; 64]) -> Vec<u8> {
    let parts = vec![Item::Bytes(protected), Item::Map(unprotected), payload, Item::Bytes(signature)];
    Item::Tag(TAG, Box::new(Item::Array(parts))).to_bytes()
}

/// `Sig_structure` (RFC 9052, section 4.4) without external data. Its first bytes are those of no other format that is signed here.
fn to_be_signed(protected: &[u8], payload: &[u8]) -> Vec<u8> {
    Item::Array(vec![Item::Text("Signature1"), Item::Bytes(protected), Item::Bytes(&[]), Item::Bytes(payload)])
        .to_bytes()
}

/// Refuses a header with a critical parameter that is not understood here, or is not there (RFC 9052, section 3.1).
fn check_critical(protected: &Map<'_>) -> Result<(), &'static str> {
    let Some(critical) = protected.get(CRIT) else { return Ok(()) };
    let labels = critical.as_array().filter(|labels| !labels.is_empty());
    let labels = labels.ok_or("`crit` is not a list of labels")?;
    let is_met = |label: &Item<'_>| {
        label.as_int().is_some_and(|label| UNDERSTOOD.contains(&label) && protected.get(label).is_some())
    };
    if labels.iter().all(is_met) { Ok(()) } else { Err("`crit` names a parameter that is unknown or missing") }
}

#[cfg(test)]
mod tests;
