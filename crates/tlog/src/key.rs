use std::fmt;
use std::str::FromStr;

use ed25519_dalek::pkcs8::DecodePrivateKey;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use proofmark_receipt::{Sha256Digest, shown};
use thiserror::Error;

use crate::Code;
use crate::text::{base64, to_base64};

/// How many bytes an Ed25519 key, a seed and a signature have.
const KEY_BYTES: usize = 32;
const SIGNATURE_BYTES: usize = 64;

/// What a key signs (C2SP signed-note, "Signature types").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// `01`: Ed25519 over the text of a note, as logs sign.
    Note,
    /// `04`: Ed25519 over a checkpoint and a time, as witnesses and mirrors sign.
    Cosignature,
}

/// A name that no key can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not the name of a key: it is empty, or has a space, a plus sign or a control character")]
pub struct KeyNameError(String);

/// The text is not a verifier key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VkeyError {
    #[error("`{0}` is not a verifier key: write `<name>+<key id>+<base64>`")]
    Parts(String),
    #[error(transparent)]
    Name(KeyNameError),
    #[error("`{0}` is not a type and an Ed25519 key in base64")]
    Key(String),
    #[error("the type {0} of the key is not known: it is 1 for a log, and 4 for a witness or a mirror")]
    Type(u8),
    #[error("the key id `{found}` is not that of this name and key, `{expected}`")]
    WrongId { found: String, expected: String },
}

/// The text is not an Ed25519 private key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PrivateKeyError {
    #[error(transparent)]
    Name(KeyNameError),
    #[error("not an Ed25519 private key in PKCS#8 PEM: make one with `openssl genpkey -algorithm ed25519`")]
    Pem,
}

impl VkeyError {
    /// Its code.
    #[must_use]
    pub fn code(&self) -> Code {
        Code::MalformedVkey
    }
}

/// A verifier key: the name, the type and the public key of a log, a witness or a mirror (C2SP signed-note, "Verifier keys").
///
/// Written `<name>+<key id>+<base64 of type and key>`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Vkey {
    name: String,
    key_type: KeyType,
    public_key: [u8; KEY_BYTES],
    id: KeyId,
}

/// The first four bytes of SHA-256(name, line feed, type, public key).
pub(crate) type KeyId = [u8; 4];

impl Vkey {
    /// The verifier key of this name and public key.
    ///
    /// # Errors
    /// [`KeyNameError`] when no key can have the name.
    pub fn new(name: &str, key_type: KeyType, public_key: [u8; KEY_BYTES]) -> Result<Self, KeyNameError> {
        if !is_key_name(name) {
            return Err(KeyNameError(shown(name)));
        }
        let type_and_key = type_and_key(key_type, &public_key);
        let hashed = [name.as_bytes(), b"\n", &type_and_key].concat();
        let [a, b, c, d, ..] = *Sha256Digest::of(&hashed).as_bytes();
        Ok(Self { name: name.to_owned(), key_type, public_key, id: [a, b, c, d] })
    }

    /// The name; that of a log is its origin.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it signs.
    #[must_use]
    pub fn key_type(&self) -> KeyType {
        self.key_type
    }

    /// The Ed25519 public key (RFC 8032, section 5.1.5).
    #[must_use]
    pub fn public_key(&self) -> &[u8; KEY_BYTES] {
        &self.public_key
    }

    /// The key id in 8 lower-case hex digits.
    #[must_use]
    pub fn id_hex(&self) -> String {
        hex(self.id)
    }

    pub(crate) fn id(&self) -> KeyId {
        self.id
    }

    /// Ed25519-verify-strict(key, `message`, `signature`): a key of small order verifies nothing.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let Ok(signature) = <[u8; SIGNATURE_BYTES]>::try_from(signature) else { return false };
        let key = VerifyingKey::from_bytes(&self.public_key);
        key.is_ok_and(|key| key.verify_strict(message, &Signature::from_bytes(&signature)).is_ok())
    }
}

impl FromStr for Vkey {
    type Err = VkeyError;

    fn from_str(text: &str) -> Result<Self, VkeyError> {
        // The base64 may have plus signs of its own, so only the first two part.
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(id), Some(encoded)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(VkeyError::Parts(shown(text)));
        };
        let bytes = base64(encoded).ok_or_else(|| VkeyError::Key(shown(encoded)))?;
        let Some((type_byte, key)) = bytes.split_first() else { return Err(VkeyError::Key(shown(encoded))) };
        let key_type = KeyType::of(*type_byte).ok_or(VkeyError::Type(*type_byte))?;
        let key = key.try_into().map_err(|_| VkeyError::Key(shown(encoded)))?;
        let vkey = Self::new(name, key_type, key).map_err(VkeyError::Name)?;
        let expected = vkey.id_hex();
        if id == expected { Ok(vkey) } else { Err(VkeyError::WrongId { found: shown(id), expected }) }
    }
}

impl fmt::Display for Vkey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = to_base64(&type_and_key(self.key_type, &self.public_key));
        write!(f, "{}+{}+{key}", self.name, self.id_hex())
    }
}

impl fmt::Debug for Vkey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl KeyType {
    fn byte(self) -> u8 {
        match self {
            Self::Note => 1,
            Self::Cosignature => 4,
        }
    }

    fn of(byte: u8) -> Option<Self> {
        [Self::Note, Self::Cosignature].into_iter().find(|key_type| key_type.byte() == byte)
    }
}

/// A private key with its name. Its memory is wiped on drop, and `Debug` shows the verifier key only.
#[derive(Clone)]
pub(crate) struct PrivateKey {
    vkey: Vkey,
    key: SigningKey,
}

impl PrivateKey {
    pub(crate) fn from_seed(name: &str, key_type: KeyType, seed: &[u8; KEY_BYTES]) -> Result<Self, KeyNameError> {
        Self::new(name, key_type, SigningKey::from_bytes(seed))
    }

    pub(crate) fn from_pkcs8_pem(name: &str, key_type: KeyType, pem: &str) -> Result<Self, PrivateKeyError> {
        let key = SigningKey::from_pkcs8_pem(pem.trim()).map_err(|_| PrivateKeyError::Pem)?;
        Self::new(name, key_type, key).map_err(PrivateKeyError::Name)
    }

    fn new(name: &str, key_type: KeyType, key: SigningKey) -> Result<Self, KeyNameError> {
        let vkey = Vkey::new(name, key_type, key.verifying_key().to_bytes())?;
        Ok(Self { vkey, key })
    }

    pub(crate) fn vkey(&self) -> &Vkey {
        &self.vkey
    }

    /// Ed25519(key, `message`), RFC 8032 section 5.1.6.
    pub(crate) fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.key.sign(message).to_bytes()
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "private key of {}", self.vkey)
    }
}

/// Whether a key can have this name (C2SP signed-note, "Format").
pub(crate) fn is_key_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '+')
}

fn type_and_key(key_type: KeyType, public_key: &[u8; KEY_BYTES]) -> Vec<u8> {
    [&[key_type.byte()], public_key.as_slice()].concat()
}

fn hex(id: KeyId) -> String {
    format!("{:08x}", u32::from_be_bytes(id))
}
