//! The signers that texts stand for: signer ids and public keys, and files of these.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use proofmark_evidence::DatedKey;
use proofmark_receipt::document::{DocumentError, shown};
use proofmark_receipt::{Json, SignerId};
use ssh_key::PublicKey;

use crate::keyring::KeyringError;

/// A public key, a key set or a trust store is small; what is larger is something else.
pub(crate) const MAX_TRUST_FILE: u64 = 1 << 20;
/// How OpenSSH's public Ed25519 keys begin.
const OPENSSH: &str = "ssh-ed25519 ";

/// Why a text does not name a signer to trust, or the trust store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read.
    #[error("read the trusted key `{}` ({error})", path.display())]
    Io { path: PathBuf, error: std::io::Error },
    /// Neither a signer id, nor a name, nor a file.
    #[error("find the signer `{}`: it is not a signer id, a name in the trust store, a key of yours or a file", shown(.0))]
    Unknown(String),
    /// The file holds something else.
    #[error("find the signer `{}`: the file holds no Ed25519 public key", .0.display())]
    NoKey(PathBuf),
    /// Begins as a signer id does, and is not one.
    #[error("find the signer `{}`: it begins like a signer id and is not one", shown(.0))]
    Damaged(String),
    /// Not a signer.
    #[error("find the signer `{}`: it is neither a public key (PEM, JWK or JWK set) nor a signer id", shown(.0))]
    Unnamed(String),
    /// A name of the trust store is a key's name too.
    #[error("find the signer `{0}`: it is a name in the trust store and a key of yours")]
    Ambiguous(String),
    /// The key is encrypted, and was not used since public halves are stored.
    #[error("find the signer `{0}`: the key is encrypted, and its public half is not stored yet")]
    NotUnlocked(String),
    /// The keys cannot be read.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The trust store is not of the known form.
    #[error("read the trust store `{}`: {error}", path.display())]
    Store { path: PathBuf, error: DocumentError },
    /// Others could add signers.
    #[error("use the trust store: others may write to `{}`", .0.display())]
    Writable(PathBuf),
    /// A key without a name, and nobody said for what it is trusted.
    #[error("trust `{}`: it is not said for what", shown(.0))]
    ForWhat(String),
    /// Not a name.
    #[error("use `{}` as a name in the trust store", shown(.0))]
    Name(String),
    /// The note is empty or too long.
    #[error("add to the trust store: the note is empty or has more than 1024 bytes")]
    Note,
    /// Names are never given to another signer.
    #[error("add `{0}` to the trust store: the name is there already")]
    NameTaken(String),
    /// A signer has one name.
    #[error("add `{name}` to the trust store: this signer is there already, as `{known}`")]
    SignerTaken { name: String, known: String },
    /// The trust store, or a name in it, has as many signers as it can have.
    #[error("add to the trust store: too many signers")]
    Full,
    /// Nobody of this name is trusted.
    #[error("remove `{}` from the trust store: there is no such name", shown(.0))]
    NoSuchName(String),
}

impl TrustError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let text = match self {
            Self::Damaged(text) => {
                return Some(format!("correct it, or write a file of that name as `./{}`", shown(text)));
            }
            Self::Unknown(text) if is_name(text) => {
                return Some(format!(
                    "list the names with `proofmark trust list` and `proofmark key list`, or write a file of that name as \
                     `./{}`",
                    shown(text)
                ));
            }
            Self::Unknown(_) | Self::NoKey(_) => {
                "give a signer id, a name, or a public key file (PEM, OpenSSH, JWK or JWK set)"
            }
            Self::ForWhat(text) => {
                return Some(format!(
                    "write `verification={}`, or what else it may sign: acceptance, approval, decision",
                    shown(text)
                ));
            }
            Self::Unnamed(_) => "write one of them out",
            Self::Ambiguous(_) => "write the signer id",
            Self::NotUnlocked(name) => return Some(format!("use it once, as in `proofmark key show {name}`")),
            Self::Keyring(error) => return error.help(),
            Self::Store { error, .. } => return error.help(),
            Self::Writable(_) => "check what it holds, and take the permission away with `chmod go-w`",
            Self::Name(_) => "write 1 to 64 letters, digits, `-` and `_`, not beginning with `-` or like a signer id",
            Self::Note => "leave it out, or write a shorter one",
            Self::NameTaken(name) => {
                return Some(format!("choose another name, or run `proofmark trust remove {name}` first"));
            }
            Self::SignerTaken { .. } | Self::Full => "remove what you no longer trust with `proofmark trust remove`",
            Self::NoSuchName(_) => "list the names with `proofmark trust list`",
            Self::Io { .. } => return None,
        };
        Some(text.to_owned())
    }
}

/// How a signer id begins, in the forms that no file is likely to be named like.
const SIGNER_ID_PREFIXES: [&str; 3] = ["MCowBQYDK2VwAyEA", "ed25519:", "did:key:"];

/// Whether the text begins like a signer id, in a form that no file or name is likely to have.
pub(crate) fn begins_like_signer(text: &str) -> bool {
    SIGNER_ID_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

/// Whether the text is a name rather than a path, which has a dot or a slash.
pub(crate) fn is_name(text: &str) -> bool {
    !text.contains(['.', '/'])
}

/// The signers that `text` stands for: a signer id, an OpenSSH public key, or the path of a public key in PEM or in
/// OpenSSH's form, of a JWK or of a JWK set (RFC 7517).
///
/// A signer id is never a path, so that a file of that name cannot stand in for the key, and neither is a text without a
/// dot and a slash: it is a name. Such a file is written `./…`.
///
/// # Errors
/// When it is none of these.
pub fn trusted_signers(text: &str) -> Result<Vec<DatedKey>, TrustError> {
    if let Some(signer) = written_out(text)? {
        return Ok(vec![DatedKey::endless(signer)]);
    }
    let path = Path::new(text);
    if is_name(text) || !path.is_file() {
        return Err(TrustError::Unknown(text.to_owned()));
    }
    let io = |error| TrustError::Io { path: path.to_owned(), error };
    let mut content = String::new();
    // One byte more than allowed shows that the file is too long.
    File::open(path).and_then(|file| file.take(MAX_TRUST_FILE + 1).read_to_string(&mut content)).map_err(io)?;
    if content.len() as u64 > MAX_TRUST_FILE {
        return Err(io(std::io::Error::other("larger than any key set")));
    }
    let signers = read(content.trim());
    if signers.is_empty() { Err(TrustError::NoKey(path.to_owned())) } else { Ok(signers) }
}

/// The signer that the text itself is, if it looks like one.
pub(crate) fn written_out(text: &str) -> Result<Option<SignerId>, TrustError> {
    if let Ok(signer) = text.parse() {
        return Ok(Some(signer));
    }
    let damaged = || TrustError::Damaged(text.to_owned());
    if text.starts_with(OPENSSH) {
        return openssh(text).map(Some).ok_or_else(damaged);
    }
    // A mistyped signer id must not become the path of a file that somebody else has placed there.
    if begins_like_signer(text) { Err(damaged()) } else { Ok(None) }
}

/// The signers a text itself names: a PEM or OpenSSH public key, JWK, JWK set or signer id. No file is read.
///
/// # Errors
/// When it is none of these.
pub fn signers_in(text: &str) -> Result<Vec<DatedKey>, TrustError> {
    let signers = read(text.trim());
    if signers.is_empty() { Err(TrustError::Unnamed(text.to_owned())) } else { Ok(signers) }
}

fn openssh(line: &str) -> Option<SignerId> {
    let key = PublicKey::from_openssh(line).ok()?;
    let encoded = |line: &str| line.trim_end().split(' ').nth(1).map(str::to_owned);
    // `ssh-key` takes any declared length that is not less than the 32 bytes of the key.
    if encoded(line) != encoded(&key.to_openssh().ok()?) {
        return None;
    }
    key.key_data().ed25519().map(|key| SignerId::from_bytes(key.0))
}

fn read(content: &str) -> Vec<DatedKey> {
    let endless = |signer: Option<SignerId>| signer.map(DatedKey::endless).into_iter().collect();
    if content.starts_with("-----BEGIN") {
        return endless(SignerId::from_public_pem(content).ok());
    }
    if content.starts_with(OPENSSH) {
        // One key: of the lines of an `authorized_keys`, only some may be meant.
        return endless(openssh(content));
    }
    let Ok(json) = Json::parse(content.as_bytes()) else {
        return endless(content.parse().ok());
    };
    let Some(object) = json.as_object() else { return Vec::new() };
    match object.get("keys").and_then(Json::as_array) {
        // A set may hold keys of other kinds; those sign no receipts.
        Some(keys) => keys.iter().filter_map(Json::as_object).filter_map(DatedKey::from_jwk).collect(),
        None => DatedKey::from_jwk(object).into_iter().collect(),
    }
}
