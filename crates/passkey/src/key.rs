//! The public key of a passkey.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::VerifyingKey as Ed25519Key;
use p256::ecdsa::VerifyingKey as P256Key;
use p256::ecdsa::signature::Verifier as _;
use proofmark_receipt::hex;

use crate::error::PasskeyError;

/// The words of the algorithms.
const ES256: &str = "es256";
const EDDSA: &str = "eddsa";

/// The public key of a passkey, in one of the two algorithms that are accepted. One that is no point of its curve verifies
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// ECDSA over P-256 with SHA-256 (COSE algorithm -7): the coordinates x and y of a point of the curve.
    Es256([u8; 64]),
    /// Ed25519 (COSE algorithm -8).
    Eddsa([u8; 32]),
}

impl PublicKey {
    /// Whether the key has signed the message. `signature` is r and s, or R and S, as 64 bytes.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        match self {
            Self::Es256(point) => {
                let signature = p256::ecdsa::Signature::from_slice(signature);
                point_of(point)
                    .zip(signature.ok())
                    .is_some_and(|(key, signature)| key.verify(message, &signature).is_ok())
            }
            Self::Eddsa(key) => {
                let signature = ed25519_dalek::Signature::from_bytes(signature);
                // Strictly: under a key of small order one signature is valid for many messages.
                Ed25519Key::from_bytes(key).is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
            }
        }
    }
}

fn point_of(coordinates: &[u8; 64]) -> Option<P256Key> {
    P256Key::from_sec1_bytes(&[&[4][..], coordinates].concat()).ok()
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Es256(point) => write!(f, "{ES256}:{}", hex::encode(point)),
            Self::Eddsa(key) => write!(f, "{EDDSA}:{}", hex::encode(key)),
        }
    }
}

impl FromStr for PublicKey {
    type Err = PasskeyError;

    fn from_str(text: &str) -> Result<Self, PasskeyError> {
        let key = match text.split_once(':') {
            Some((ES256, digits)) => hex::decode_lower(digits).map(Self::Es256),
            Some((EDDSA, digits)) => hex::decode_lower(digits).map(Self::Eddsa),
            _ => None,
        };
        key.ok_or(PasskeyError::Key)
    }
}
