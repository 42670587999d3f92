//! COSE receipts (RFC 9942): a log's signature over the root that an entry and its inclusion path lead to.

use proofmark_receipt::{SignerId, SigningKey};

use super::cbor::{Item, KeyOrder, Map};
use super::merkle::{self, Hash, MAX_PATH};
use super::sign1::{self, ALG, CLAIMS, EDDSA, ISS, KID, SUB, Sign1, VDP, VDS};
use crate::ExportError;

/// The largest COSE receipt that is read. One proof takes less than 2.5 KiB.
pub const MAX_RECEIPT_BYTES: usize = 16 << 10;
/// The most inclusion proofs in one receipt; each may cost a verification.
const MAX_PROOFS: usize = 16;

/// `RFC9162_SHA256`, the only verifiable data structure that is known here (RFC 9942).
const RFC9162_SHA256: i128 = 1;
/// The label of inclusion proofs among the proofs.
const INCLUSION: i128 = -1;

/// Where an entry stands in a log, and the hashes beside its way up to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inclusion {
    /// The number of entries in the tree.
    pub tree_size: u64,
    /// From 0.
    pub leaf_index: u64,
    /// From the leaf up.
    pub path: Vec<[u8; 32]>,
}

/// What a log signs a receipt of.
#[derive(Clone, Copy, Debug)]
pub struct Registration<'a> {
    /// The log's origin, as in its checkpoints.
    pub origin: &'a str,
    /// What the entry is about: `sub` of the statement, `hashes.output` of the receipt.
    pub subject: &'a str,
    /// The entry: 32 bytes, of which the leaf is the hash.
    pub entry: &'a [u8; 32],
    /// Where it stands.
    pub inclusion: &'a Inclusion,
    /// The root of the tree.
    pub root: &'a [u8; 32],
}

/// What a COSE receipt that verified says: that the log includes the entry. Neither the place of the entry nor the size of the log is
/// signed, so neither is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoseReceipt {
    /// The log, by its origin, where it names itself.
    pub origin: Option<String>,
    /// What the entry is about, where the log says it. The caller compares it with the document.
    pub subject: Option<String>,
}

/// Signs a receipt with the log's key.
///
/// # Errors
/// [`ExportError::MalformedReceipt`] for a tree of one entry, whose path is empty: the format wants at least one hash.
/// [`ExportError::InclusionMismatch`] when the path does not lead from the entry to the root.
pub fn sign_receipt(registration: &Registration<'_>, key: &SigningKey) -> Result<Vec<u8>, ExportError> {
    let Registration { origin, subject, entry, inclusion, root } = *registration;
    if inclusion.path.is_empty() {
        return Err(ExportError::MalformedReceipt("a log of one entry has no path"));
    }
    if merkle::root(entry, inclusion.leaf_index, inclusion.tree_size, &inclusion.path) != Some(*root) {
        return Err(ExportError::InclusionMismatch);
    }
    let kid = key.signer().key_hash();
    let protected = Map::of([
        (ALG, Item::Int(EDDSA)),
        (KID, Item::Bytes(kid.as_bytes())),
        (CLAIMS, Item::Map(Map::of([(ISS, Item::Text(origin)), (SUB, Item::Text(subject))]))),
        (VDS, Item::Int(RFC9162_SHA256)),
    ]);
    let path = inclusion.path.iter().map(|hash| Item::Bytes(hash)).collect();
    let proof = Item::Array(vec![
        Item::Int(inclusion.tree_size.into()),
        Item::Int(inclusion.leaf_index.into()),
        Item::Array(path),
    ]);
    let proof = proof.to_bytes();
    let proofs = Map::of([(INCLUSION, Item::Array(vec![Item::Bytes(&proof)]))]);
    Ok(sign1::sign(protected, Map::of([(VDP, Item::Map(proofs))]), root, true, key))
}

/// Verifies that the log with the key `log` includes `entry`, by at least one of the receipt's proofs.
///
/// # Errors
/// [`ExportError`] names what is wrong. A wrong entry, a wrong path and a wrong key are one error: in each case the signature is not
/// over the root computed.
pub fn verify_receipt(bytes: &[u8], entry: &[u8; 32], log: &SignerId) -> Result<CoseReceipt, ExportError> {
    let malformed = ExportError::MalformedReceipt;
    if bytes.len() > MAX_RECEIPT_BYTES {
        return Err(malformed("it is larger than 16 KiB"));
    }
    // Other logs order their protected header as they like, and it is signed as they wrote it.
    let (sign1, protected) = Sign1::read(bytes, KeyOrder::Any, malformed)?;
    match protected.get(VDS) {
        Some(Item::Int(RFC9162_SHA256)) => {}
        Some(other) => return Err(ExportError::UnknownStructure(sign1::brief(other))),
        None => return Err(malformed("the protected header has no `vds`")),
    }
    if sign1.payload.is_some() {
        return Err(malformed("the root is attached, so it need not be the one computed"));
    }
    let proofs = proofs(&sign1)?;
    let receipt = claims(&protected)?;
    let mut is_computed = false;
    for Inclusion { tree_size, leaf_index, path } in &proofs {
        let Some(root) = merkle::root(entry, *leaf_index, *tree_size, path) else { continue };
        is_computed = true;
        if sign1.is_signed_by(log, &root) {
            return Ok(receipt);
        }
    }
    Err(if is_computed {
        ExportError::SignatureMismatch("the log did not sign the root that the entry and its path lead to")
    } else {
        ExportError::InclusionMismatch
    })
}

fn claims(protected: &Map<'_>) -> Result<CoseReceipt, ExportError> {
    let none = Map::default();
    let claims = match protected.get(CLAIMS) {
        Some(Item::Map(claims)) => claims,
        Some(_) => return Err(ExportError::MalformedReceipt("the claims are not a map")),
        None => &none,
    };
    let text = |label| match claims.get(label) {
        None => Ok(None),
        Some(Item::Text(text)) => Ok(Some((*text).to_owned())),
        Some(_) => Err(ExportError::MalformedReceipt("a claim is not a text")),
    };
    Ok(CoseReceipt { origin: text(ISS)?, subject: text(SUB)? })
}

/// The inclusion proofs, of which each is wrapped in bytes.
fn proofs(sign1: &Sign1<'_>) -> Result<Vec<Inclusion>, ExportError> {
    let proofs = sign1.unprotected().get(VDP).and_then(Item::as_map).and_then(|proofs| proofs.get(INCLUSION));
    let proofs = proofs.and_then(Item::as_array).filter(|proofs| (1..=MAX_PROOFS).contains(&proofs.len()));
    let proofs = proofs.ok_or(ExportError::MalformedReceipt("it does not have 1 to 16 inclusion proofs"))?;
    let read = proofs.iter().map(|proof| inclusion(proof.as_bytes()?)).collect::<Option<_>>();
    read.ok_or(ExportError::MalformedReceipt("an inclusion proof is not size, index and 1 to 64 hashes of 32 bytes"))
}

fn inclusion(bytes: &[u8]) -> Option<Inclusion> {
    let Item::Array(parts) = Item::read(bytes)? else { return None };
    let [size, index, path] = <[Item<'_>; 3]>::try_from(parts).ok()?;
    let path = path.as_array().filter(|path| (1..=MAX_PATH).contains(&path.len()))?.iter();
    let path = path.map(|hash| Hash::try_from(hash.as_bytes()?).ok()).collect::<Option<_>>()?;
    let number = |item: Item<'_>| u64::try_from(item.as_int()?).ok();
    Some(Inclusion { tree_size: number(size)?, leaf_index: number(index)?, path })
}
