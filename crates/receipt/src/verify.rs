use std::fmt;

use thiserror::Error;

use crate::json::{CanonicalError, Profile};
use crate::signer::ParseSignerError;
use crate::{Receipt, ReceiptError, SignerId};

/// What checking a signature came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureStatus {
    /// The document is exactly what its signer signed.
    Valid,
    /// It is not.
    Invalid(InvalidCause),
    /// There is nothing that could be checked.
    Undecidable(UndecidableCause),
}

/// Why a signature is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidCause {
    /// The document's hash is another than `signature.content_hash`.
    #[error(
        "the content does not match `signature.content_hash`: it was changed after signing, or hashed in another canonical form"
    )]
    ContentHash,
    /// The signature is not the signer's of `content_hash`.
    #[error("the signature is not that of `signature.signer_id` over `signature.content_hash`")]
    Signature,
    /// The signed `issuer_key` is another text than `signer_id`.
    #[error(
        "the signed `issuer_key` is not the same text as `signature.signer_id`: somebody else signed the same content, or respelt the key"
    )]
    IssuerKey,
}

/// Why a signature cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UndecidableCause {
    /// Not a document of this format.
    #[error(transparent)]
    Malformed(ReceiptError),
    /// There is no signature.
    #[error("there is no `signature`: an unsigned claim")]
    Unsigned,
    /// Signed with an algorithm this does not know.
    #[error("`signature.algorithm` is `{0}`; only `ed25519` is known")]
    UnknownAlgorithm(String),
    /// The signer is not a public key this can read.
    #[error("`signature.signer_id`: {0}")]
    SignerId(ParseSignerError),
    /// The signer is a public key in another spelling than the one the profile `vrf` knows.
    #[error(
        "`signature.signer_id` is not in the one spelling of profile `vrf`, base64 of the key's SubjectPublicKeyInfo: the receipt is of another issuer, or somebody respelt it"
    )]
    SignerSpelling,
    /// Signed, but not a document of its format, as the reader of that format says.
    #[error("{message}")]
    Format {
        /// The name of the refusal.
        code: &'static str,
        /// What is wrong.
        message: String,
    },
    /// `content_hash` is no SHA-256.
    #[error("`signature.content_hash` is not 64 lower-case hex digits")]
    MalformedContentHash,
    /// `signature` is not a signature.
    #[error("`signature.signature` is not 128 lower-case hex digits")]
    MalformedSignature,
    /// The profile has no canonical form of the document.
    #[error(transparent)]
    NoCanonicalForm(CanonicalError),
}

impl SignatureStatus {
    /// The word: `valid`, `invalid` or `undecidable`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid(_) => "invalid",
            Self::Undecidable(_) => "undecidable",
        }
    }

    /// The name of the cause, for programs; stable. `None` when valid.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::Valid => None,
            Self::Invalid(cause) => Some(match cause {
                InvalidCause::ContentHash => "content_hash_mismatch",
                InvalidCause::Signature => "signature_mismatch",
                InvalidCause::IssuerKey => "issuer_key_mismatch",
            }),
            Self::Undecidable(cause) => Some(match cause {
                UndecidableCause::Malformed(error) => error.code(),
                UndecidableCause::Unsigned => "unsigned",
                UndecidableCause::UnknownAlgorithm(_) => "unknown_algorithm",
                UndecidableCause::SignerId(_) | UndecidableCause::SignerSpelling => "invalid_signer_id",
                UndecidableCause::Format { code, .. } => code,
                UndecidableCause::MalformedContentHash => "invalid_content_hash",
                UndecidableCause::MalformedSignature => "invalid_signature",
                UndecidableCause::NoCanonicalForm(error) => error.code(),
            }),
        }
    }

    /// The cause, for people. `None` when valid.
    pub fn cause(&self) -> Option<String> {
        match self {
            Self::Valid => None,
            Self::Invalid(cause) => Some(cause.to_string()),
            Self::Undecidable(cause) => Some(cause.to_string()),
        }
    }
}

impl fmt::Display for SignatureStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the signer is one the caller trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The signature is valid and its signer among those given.
    Trusted,
    /// The signature is valid and its signer not among those given.
    Untrusted,
    /// No trusted signers were given, or there is no valid signature.
    Unknown,
}

impl Trust {
    /// The word: `trusted`, `untrusted` or `unknown`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Unknown => "unknown",
        }
    }

    /// Trust in the signer of a valid signature.
    pub(crate) fn in_signer(signer: SignerId, trusted: &[SignerId]) -> Self {
        match (trusted.is_empty(), trusted.contains(&signer)) {
            (true, _) => Self::Unknown,
            (false, true) => Self::Trusted,
            (false, false) => Self::Untrusted,
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// All there is to say about a receipt's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Whether it is valid.
    pub answer: SignatureStatus,
    /// Whether its signer is trusted.
    pub trust: Trust,
    /// Who signed it, when valid.
    pub signer: Option<SignerId>,
    /// The profile under which it would verify, when it fails under the one asked for.
    pub hint: Option<Profile>,
}

/// An answer other than valid, as the inner functions hand it up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotValid {
    Invalid(InvalidCause),
    Undecidable(UndecidableCause),
}

impl From<InvalidCause> for NotValid {
    fn from(cause: InvalidCause) -> Self {
        Self::Invalid(cause)
    }
}

impl From<UndecidableCause> for NotValid {
    fn from(cause: UndecidableCause) -> Self {
        Self::Undecidable(cause)
    }
}

impl From<NotValid> for SignatureStatus {
    fn from(verdictless: NotValid) -> Self {
        match verdictless {
            NotValid::Invalid(cause) => Self::Invalid(cause),
            NotValid::Undecidable(cause) => Self::Undecidable(cause),
        }
    }
}

/// Verifies the receipt in `bytes`: the format, then the hash in the canonical form `profile`, then the signature.
///
/// The signer's trust is judged against `trusted`; with none given it is unknown, never trusted.
pub fn verify(bytes: &[u8], profile: Profile, trusted: &[SignerId]) -> Verification {
    match Receipt::parse(bytes) {
        Ok(receipt) => verify_receipt(&receipt, profile, trusted),
        Err(error) => Verification {
            answer: SignatureStatus::Undecidable(UndecidableCause::Malformed(error)),
            trust: Trust::Unknown,
            signer: None,
            hint: None,
        },
    }
}

/// Verifies the signature of a receipt that has been read; as [`verify`].
pub fn verify_receipt(receipt: &Receipt, profile: Profile, trusted: &[SignerId]) -> Verification {
    match check(receipt, profile) {
        Ok(signer) => Verification {
            answer: SignatureStatus::Valid,
            trust: Trust::in_signer(signer, trusted),
            signer: Some(signer),
            hint: None,
        },
        Err(verdictless) => Verification {
            hint: hint(receipt, profile, &verdictless),
            answer: verdictless.into(),
            trust: Trust::Unknown,
            signer: None,
        },
    }
}

fn check(receipt: &Receipt, profile: Profile) -> Result<SignerId, NotValid> {
    let signature = receipt.signature().ok_or(UndecidableCause::Unsigned)?;
    signature.check(receipt.object(), receipt.metadata().get("issuer_key"), profile)
}

/// Another reading never verifies a receipt, but it explains one that fails.
fn hint(receipt: &Receipt, asked: Profile, failed: &NotValid) -> Option<Profile> {
    match failed {
        NotValid::Invalid(InvalidCause::ContentHash)
        | NotValid::Undecidable(UndecidableCause::NoCanonicalForm(_) | UndecidableCause::SignerSpelling) => {
            Profile::ALL.into_iter().find(|profile| *profile != asked && check(receipt, *profile).is_ok())
        }
        NotValid::Invalid(_) | NotValid::Undecidable(_) => None,
    }
}
