use std::fmt;

use ed25519_dalek::ed25519::pkcs8::KeypairBytes;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePrivateKey};
use ed25519_dalek::{Signer, SigningKey as Ed25519Key};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::SignerId;

/// An Ed25519 private key. Its memory is wiped on drop, and `Debug` shows the public key only.
#[derive(Clone)]
pub struct SigningKey(Ed25519Key);

/// The text is not an Ed25519 private key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not an Ed25519 private key in PKCS#8 PEM")]
pub struct KeyError;

impl KeyError {
    /// What to do instead.
    pub fn help(&self) -> Option<String> {
        Some("make a key with `openssl genpkey -algorithm ed25519`".to_owned())
    }
}

impl SigningKey {
    /// The key with this seed (RFC 8032, section 5.1.5): 32 bytes of good randomness.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(Ed25519Key::from_bytes(&seed))
    }

    /// Reads PKCS#8 PEM (RFC 5958, RFC 8410), with or without the public key in it.
    ///
    /// # Errors
    /// [`KeyError`] when it is another kind of key, encrypted, or damaged.
    pub fn from_pkcs8_pem(text: &str) -> Result<Self, KeyError> {
        Ed25519Key::from_pkcs8_pem(text.trim()).map(Self).map_err(|_| KeyError)
    }

    /// PKCS#8 PEM without the public key (RFC 8410, section 7), which every version of OpenSSL reads.
    pub fn to_pkcs8_pem(&self) -> Zeroizing<String> {
        let pair = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        #[expect(clippy::expect_used, reason = "fixed-size fields: their DER and PEM are always written")]
        pair.to_pkcs8_pem(LineEnding::LF).expect("an Ed25519 key is written as PEM")
    }

    /// The public key.
    pub fn signer(&self) -> SignerId {
        SignerId::from_bytes(self.0.verifying_key().to_bytes())
    }

    /// Ed25519(key, `message`), RFC 8032 section 5.1.6.
    ///
    /// A caller begins the message with the mark of its format, so that no signature of one format is one of another. Receipts and
    /// documents sign 64 hex digits.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey of {}", self.signer().fingerprint())
    }
}
