//! The signers a caller trusts: key files, key sets and signer ids.

use std::fs;
use std::path::{Path, PathBuf};

use proofmark_receipt::document::shown;
use proofmark_receipt::{Json, SignerId};

/// A public key or key set is small; what is larger is something else.
const MAX_TRUST_FILE: u64 = 1 << 20;

/// Why a text does not name a signer to trust.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read.
    #[error("read the trusted key `{}` ({error})", path.display())]
    Io { path: PathBuf, error: std::io::Error },
    /// Neither a signer id nor a file.
    #[error("trust `{}`: it is neither a signer id nor a file (public key in PEM, JWK or JWK set)", shown(.0))]
    Unknown(String),
    /// Begins as a signer id does, and is not one.
    #[error("trust `{}`: it begins like a signer id and is not one", shown(.0))]
    Damaged(String),
    /// Not a signer.
    #[error("trust `{}`: it is neither a public key (PEM, JWK or JWK set) nor a signer id", shown(.0))]
    Unnamed(String),
}

impl TrustError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Damaged(text) => Some(format!("correct it, or write a file of that name as `./{}`", shown(text))),
            Self::Unnamed(_) => Some("write one of them out".to_owned()),
            Self::Io { .. } | Self::Unknown(_) => None,
        }
    }
}

/// How a signer id begins, in the forms that no file is likely to be named like.
const SIGNER_ID_PREFIXES: [&str; 3] = ["MCowBQYDK2VwAyEA", "ed25519:", "did:key:"];

/// The signers that `text` stands for: a signer id, or the path of a PEM public key, JWK or JWK set (RFC 7517).
///
/// A signer id is never a path, so that a file of that name cannot stand in for the key. Such a file is written `./…`.
///
/// # Errors
/// When it is none of these.
pub fn trusted_signers(text: &str) -> Result<Vec<SignerId>, TrustError> {
    if let Ok(signer) = text.parse() {
        return Ok(vec![signer]);
    }
    // A mistyped signer id must not become the path of a file that somebody else has placed there.
    if SIGNER_ID_PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
        return Err(TrustError::Damaged(text.to_owned()));
    }
    let path = Path::new(text);
    if !path.is_file() {
        return Err(TrustError::Unknown(text.to_owned()));
    }
    let io = |error| TrustError::Io { path: path.to_owned(), error };
    if fs::metadata(path).map_err(io)?.len() > MAX_TRUST_FILE {
        return Err(io(std::io::Error::other("larger than any key set")));
    }
    let content = fs::read_to_string(path).map_err(io)?;
    let signers = read(content.trim());
    if signers.is_empty() { Err(TrustError::Unknown(text.to_owned())) } else { Ok(signers) }
}

/// The signers a text itself names: a PEM public key, JWK, JWK set or signer id. No file is read.
///
/// # Errors
/// When it is none of these.
pub fn signers_in(text: &str) -> Result<Vec<SignerId>, TrustError> {
    let signers = read(text.trim());
    if signers.is_empty() { Err(TrustError::Unnamed(text.to_owned())) } else { Ok(signers) }
}

fn read(content: &str) -> Vec<SignerId> {
    if content.starts_with("-----BEGIN") {
        return SignerId::from_public_pem(content).into_iter().collect();
    }
    let Ok(json) = Json::parse(content.as_bytes()) else {
        return content.parse().into_iter().collect();
    };
    let Some(object) = json.as_object() else { return Vec::new() };
    match object.get("keys").and_then(Json::as_array) {
        // A set may hold keys of other kinds; those sign no receipts.
        Some(keys) => keys.iter().filter_map(Json::as_object).filter_map(|key| SignerId::from_jwk(key).ok()).collect(),
        None => SignerId::from_jwk(object).into_iter().collect(),
    }
}
