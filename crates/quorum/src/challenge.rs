use std::fmt;
use std::str::FromStr;

use proofmark_receipt::{Sha256Digest, shown};
use thiserror::Error;

/// What every reviewer of a quorum repeats as `metadata.challenge`: 32 bytes, written as 64 lower-case hex digits. It shows that
/// no review is older than the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Challenge([u8; 32]);

/// The text is not a challenge.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a challenge")]
pub struct ParseChallengeError(String);

impl ParseChallengeError {
    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> &'static str {
        "write 64 lower-case hex digits"
    }
}

impl Challenge {
    /// The challenge with these bytes, which nobody could guess before.
    #[must_use]
    pub fn from_random_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl FromStr for Challenge {
    type Err = ParseChallengeError;

    fn from_str(text: &str) -> Result<Self, ParseChallengeError> {
        // The digits of a digest, in the same one spelling.
        let read = format!("sha256:{text}").parse::<Sha256Digest>();
        read.map(|bytes| Self(*bytes.as_bytes())).map_err(|_| ParseChallengeError(shown(text)))
    }
}

impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Sha256Digest::from_bytes(self.0).bare_hex())
    }
}
