use proofmark_receipt::Sha256Digest;
use thiserror::Error;

use crate::TILE_HASHES;

/// How many bytes an entry has in a bundle: two of its length, and a digest.
pub const BUNDLE_ENTRY_BYTES: usize = 34;

/// The length of every entry of this log, as a bundle writes it.
const LENGTH: [u8; 2] = [0, 32];

/// The bytes are not a bundle of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BundleError {
    #[error("a bundle of {0} bytes is not one of 1 to 256 entries of 34 bytes")]
    Length(usize),
    #[error("entry {0} of the bundle is not 32 bytes long")]
    Entry(usize),
}

/// A bundle of these entries (C2SP tlog-tiles, "Log entries").
#[must_use]
pub fn bundle<'a>(entries: impl IntoIterator<Item = &'a Sha256Digest>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in entries {
        bytes.extend_from_slice(&LENGTH);
        bytes.extend_from_slice(entry.as_bytes());
    }
    bytes
}

/// The entries of a bundle, at most 256.
///
/// # Errors
/// [`BundleError`] when an entry has another length than those of this log.
pub fn read_bundle(bytes: &[u8]) -> Result<Vec<Sha256Digest>, BundleError> {
    let (records, rest) = bytes.as_chunks::<BUNDLE_ENTRY_BYTES>();
    if !rest.is_empty() || records.is_empty() || records.len() > TILE_HASHES {
        return Err(BundleError::Length(bytes.len()));
    }
    let mut entries = Vec::with_capacity(records.len());
    for (index, record) in records.iter().enumerate() {
        let digest = record.strip_prefix(&LENGTH).and_then(|digest| digest.try_into().ok());
        entries.push(Sha256Digest::from_bytes(digest.ok_or(BundleError::Entry(index))?));
    }
    Ok(entries)
}
