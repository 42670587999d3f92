//! The text of key files: plain and encrypted PKCS#8, and OpenSSH's own form.

use pkcs8::der::Decode;
use pkcs8::{EncryptedPrivateKeyInfoRef, PrivateKeyInfoRef, SecretDocument};
use proofmark_receipt::{KeyError, SigningKey};
use ssh_key::Kdf;
use ssh_key::private::{KeypairData, PrivateKey};
use zeroize::Zeroizing;

/// A passphrase that does not linger in memory.
pub type Passphrase = Zeroizing<String>;

const ENCRYPTED_LABEL: &str = "ENCRYPTED PRIVATE KEY";
const OPENSSH_LABEL: &str = "OPENSSH PRIVATE KEY";
/// The most rounds of bcrypt for a passphrase. The file names the number, and 2^32 of them would never end.
const MAX_BCRYPT_ROUNDS: u32 = 2_048;

/// Why a text is not a usable key.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// Neither PKCS#8 nor OpenSSH, or not Ed25519.
    #[error("read the key: {0}")]
    Key(#[from] KeyError),
    /// Encrypted, and no passphrase was given.
    #[error("read the key: it is encrypted")]
    NoPassphrase,
    /// The passphrase does not fit.
    #[error("decrypt the key: the passphrase is wrong or the file is damaged")]
    WrongPassphrase,
    /// The key could not be encrypted.
    #[error("encrypt the key ({0})")]
    Encrypt(pkcs8::Error),
    /// OpenSSH's form, damaged.
    #[error("read the OpenSSH key ({0})")]
    OpenSsh(ssh_key::Error),
    /// OpenSSH's key derivation would take too long.
    #[error(
        "read the OpenSSH key: its passphrase takes {0} rounds to check, and at most {MAX_BCRYPT_ROUNDS} are allowed"
    )]
    OpenSshRounds(u32),
    /// An OpenSSH key of another algorithm.
    #[error("read the OpenSSH key: it is `{0}`, and only ssh-ed25519 keys sign receipts")]
    OpenSshAlgorithm(String),
}

impl KeyFileError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::NoPassphrase => Some("give its passphrase with `--passphrase-file` or PROOFMARK_PASSPHRASE"),
            Self::OpenSshRounds(_) => Some("set its passphrase again with `ssh-keygen -p -a 100`"),
            Self::OpenSshAlgorithm(_) => Some("make one with `proofmark key new`"),
            Self::Key(_) | Self::WrongPassphrase | Self::Encrypt(_) | Self::OpenSsh(_) => None,
        }
    }
}

/// Reads a private key: PKCS#8 PEM (RFC 5958, as openssl writes it), encrypted
/// PKCS#8 (PBES2), or an OpenSSH private key.
///
/// # Errors
/// [`KeyFileError`]: it is something else, or needs a passphrase.
pub(crate) fn read(text: &str, passphrase: Option<&Passphrase>) -> Result<SigningKey, KeyFileError> {
    if text.contains(OPENSSH_LABEL) {
        return read_openssh(text, passphrase);
    }
    if text.contains(ENCRYPTED_LABEL) {
        let passphrase = passphrase.ok_or(KeyFileError::NoPassphrase)?;
        return read_encrypted(text, passphrase);
    }
    Ok(SigningKey::from_pkcs8_pem(text)?)
}

/// Writes a private key as PKCS#8 PEM, encrypted where a passphrase is given.
pub(crate) fn write(key: &SigningKey, passphrase: Option<&Passphrase>) -> Result<Zeroizing<String>, KeyFileError> {
    let plain = key.to_pkcs8_pem();
    let Some(passphrase) = passphrase else { return Ok(plain) };
    let (_, document) = SecretDocument::from_pem(&plain).map_err(|e| KeyFileError::Encrypt(e.into()))?;
    let info = PrivateKeyInfoRef::from_der(document.as_bytes()).map_err(|e| KeyFileError::Encrypt(e.into()))?;
    let encrypted = info.encrypt(passphrase.as_bytes()).map_err(KeyFileError::Encrypt)?;
    encrypted.to_pem(ENCRYPTED_LABEL, pkcs8::LineEnding::LF).map_err(|e| KeyFileError::Encrypt(e.into()))
}

fn read_encrypted(text: &str, passphrase: &Passphrase) -> Result<SigningKey, KeyFileError> {
    // One error for all: PBES2 has no check of its own that tells a wrong passphrase from damage.
    let wrong = |_| KeyFileError::WrongPassphrase;
    let (_, document) = SecretDocument::from_pem(text).map_err(|_| KeyFileError::WrongPassphrase)?;
    let info = EncryptedPrivateKeyInfoRef::from_der(document.as_bytes()).map_err(|_| KeyFileError::WrongPassphrase)?;
    let plain = info.decrypt(passphrase.as_bytes()).map_err(wrong)?;
    let pem = plain.to_pem("PRIVATE KEY", pkcs8::LineEnding::LF).map_err(|_| KeyFileError::WrongPassphrase)?;
    Ok(SigningKey::from_pkcs8_pem(&pem)?)
}

fn read_openssh(text: &str, passphrase: Option<&Passphrase>) -> Result<SigningKey, KeyFileError> {
    let key = PrivateKey::from_openssh(text).map_err(KeyFileError::OpenSsh)?;
    let key = match (key.is_encrypted(), key.kdf()) {
        (false, _) => key,
        (true, Kdf::Bcrypt { rounds, .. }) if *rounds > MAX_BCRYPT_ROUNDS => {
            return Err(KeyFileError::OpenSshRounds(*rounds));
        }
        (true, _) => {
            let passphrase = passphrase.ok_or(KeyFileError::NoPassphrase)?;
            // The format has no check of its own that tells a wrong passphrase from damage.
            key.decrypt(passphrase.as_bytes()).map_err(|_| KeyFileError::WrongPassphrase)?
        }
    };
    match key.key_data() {
        KeypairData::Ed25519(pair) => Ok(SigningKey::from_seed(pair.private.to_bytes())),
        _ => Err(KeyFileError::OpenSshAlgorithm(key.algorithm().to_string())),
    }
}
