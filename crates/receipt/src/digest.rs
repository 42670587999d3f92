use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::{hex, shown};

/// How many bytes are read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// A SHA-256 digest, written `sha256:` and 64 lower-case hex digits (VRF 1.0, `hashes`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Digest([u8; 32]);

/// The text is not a digest.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a SHA-256 digest")]
pub struct ParseDigestError(String);

impl ParseDigestError {
    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        Some("write `sha256:` and 64 lower-case hex digits".to_owned())
    }
}

impl Sha256Digest {
    const PREFIX: &'static str = "sha256:";

    /// SHA-256(`bytes`).
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// SHA-256 of what is read, which may be larger than memory.
    ///
    /// # Errors
    /// That of the reader.
    pub fn read(reader: &mut impl Read) -> io::Result<Self> {
        let mut hasher = Sha256::new();
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match reader.read(&mut piece) {
                Ok(0) => return Ok(Self(hasher.finalize().into())),
                Ok(length) => hasher.update(piece.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The digest with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 64 hex digits without the prefix, as `content_hash` holds them.
    pub fn bare_hex(&self) -> String {
        hex::encode(&self.0)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads `content_hash`: 64 lower-case hex digits, with or without the prefix.
    pub(crate) fn from_content_hash(text: &str) -> Option<Self> {
        // Proofmark writes the bare digits; other issuers write the prefix, too, and sign it with them.
        let digits = text.strip_prefix(Self::PREFIX).unwrap_or(text);
        hex::decode_lower(digits).map(Self)
    }
}

impl FromStr for Sha256Digest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let digits = text.strip_prefix(Self::PREFIX);
        let bytes = digits.and_then(hex::decode_lower);
        bytes.map(Self).ok_or_else(|| ParseDigestError(shown(text)))
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.bare_hex())
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
