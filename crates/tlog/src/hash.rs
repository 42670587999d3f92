use std::fmt;
use std::str::FromStr;

use base64ct::{Base64, Encoding};
use proofmark_receipt::{Sha256Digest, shown};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// How many bytes a hash has.
pub(crate) const HASH_BYTES: usize = 32;

/// What is hashed before an entry, and before two nodes (RFC 9162, section 2.1.1).
const LEAF: [u8; 1] = [0];
const NODE: [u8; 1] = [1];

/// A hash of the tree: of a leaf, of a node, or a root (RFC 9162, section 2.1.1). Written in standard base64 with padding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; HASH_BYTES]);

/// The text is not a hash.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a hash in base64: write 32 bytes in 44 characters")]
pub struct ParseHashError(String);

impl Hash {
    /// The root of the empty tree, SHA-256 of nothing (RFC 9162, section 2.1.1).
    pub const OF_NOTHING: Self = Self([
        0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae,
        0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
    ]);

    /// The hash with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; HASH_BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; HASH_BYTES] {
        &self.0
    }
}

/// `MTH([entry])`, the hash of a leaf (RFC 9162, section 2.1.1). The entries of this log are digests of signed documents.
#[must_use]
pub fn leaf(entry: &Sha256Digest) -> Hash {
    Hash(Sha256::new().chain_update(LEAF).chain_update(entry.as_bytes()).finalize().into())
}

/// The hash of a node with these children (RFC 9162, section 2.1.1).
#[must_use]
pub fn node(left: &Hash, right: &Hash) -> Hash {
    // In one piece: a proof is as many of these as the tree is high, and a hasher that is fed three times takes longer.
    let mut bytes = [0; 1 + 2 * HASH_BYTES];
    let (prefix, children) = bytes.split_at_mut(1);
    let (first, second) = children.split_at_mut(HASH_BYTES);
    prefix.copy_from_slice(&NODE);
    first.copy_from_slice(&left.0);
    second.copy_from_slice(&right.0);
    Hash(Sha256::digest(bytes).into())
}

impl FromStr for Hash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, ParseHashError> {
        let mut bytes = [0; HASH_BYTES];
        // The decoder refuses missing padding and stray bits in the last character, which would be further spellings.
        match Base64::decode(text, &mut bytes) {
            Ok(decoded) if decoded.len() == HASH_BYTES => Ok(Self(bytes)),
            _ => Err(ParseHashError(shown(text))),
        }
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Base64::encode_string(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
