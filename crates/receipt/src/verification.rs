//! The result of verifying a signature.

use std::fmt;

use thiserror::Error;

use crate::SignerId;
use crate::error::ReceiptError;
use crate::json::{CanonicalError, Profile};
use crate::signer::ParseSignerError;

/// The status of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureStatus {
    /// The document is exactly what its signer signed.
    Valid,
    Invalid(InvalidCause),
    /// Nothing could be verified.
    Undecidable(UndecidableCause),
}

/// Why a signature is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidCause {
    #[error(
        "the content does not match `signature.content_hash`: it was changed after signing, or hashed in another canonical form"
    )]
    ContentHash,
    #[error("the signature is not that of `signature.signer_id` over `signature.content_hash`")]
    Signature,
    #[error(
        "the signed `issuer_key` is not the same text as `signature.signer_id`: another key signed the same content, or the key was respelled"
    )]
    IssuerKey,
    /// Of an approval that names a passkey, which has not signed it.
    #[error("the passkey that the approval names has not signed it: {0}")]
    Passkey(String),
    /// Of an approval whose `shown` is not the digest of the action that it approves.
    #[error("the approval is of another action than its reviewer was shown")]
    Shown,
    /// Of a document in another format, such as a signed statement.
    #[error("{message}")]
    Format { code: &'static str, message: String },
}

/// Why a signature cannot be verified.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UndecidableCause {
    /// Not a document of this format.
    #[error(transparent)]
    Malformed(ReceiptError),
    #[error("no `signature`: an unsigned claim")]
    Unsigned,
    #[error("`signature.algorithm` is `{0}`, expected `ed25519`")]
    UnknownAlgorithm(String),
    #[error("`signature.signer_id`: {0}")]
    SignerId(ParseSignerError),
    /// A public key in another spelling than that of the profile `vrf`.
    #[error(
        "`signature.signer_id` is not in the one spelling of profile `vrf`, base64 of the key's SubjectPublicKeyInfo: the receipt is of another issuer, or the key was respelled"
    )]
    SignerSpelling,
    /// Signed, but refused by the reader of its format.
    #[error("{message}")]
    Format { code: &'static str, message: String },
    #[error("`signature.content_hash` is not 64 lower-case hex digits")]
    MalformedContentHash,
    #[error("`signature.signature` is not 128 lower-case hex digits")]
    MalformedSignature,
    /// The profile cannot write the document exactly.
    #[error(transparent)]
    NoCanonicalForm(CanonicalError),
}

impl UndecidableCause {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Malformed(error) => error.help(),
            Self::SignerId(error) => error.help(),
            Self::NoCanonicalForm(error) => error.help(),
            Self::Unsigned
            | Self::UnknownAlgorithm(_)
            | Self::SignerSpelling
            | Self::Format { .. }
            | Self::MalformedContentHash
            | Self::MalformedSignature => None,
        }
    }
}

impl SignatureStatus {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid(_) => "invalid",
            Self::Undecidable(_) => "undecidable",
        }
    }

    /// A stable name of the cause, for programs. `None` when valid.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::Valid => None,
            Self::Invalid(cause) => Some(match cause {
                InvalidCause::ContentHash => "content_hash_mismatch",
                InvalidCause::Signature => "signature_mismatch",
                InvalidCause::IssuerKey => "issuer_key_mismatch",
                InvalidCause::Passkey(_) => "passkey_mismatch",
                InvalidCause::Shown => "shown_mismatch",
                InvalidCause::Format { code, .. } => code,
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

    /// What to do about the cause.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Undecidable(cause) => cause.help(),
            Self::Valid | Self::Invalid(_) => None,
        }
    }
}

impl fmt::Display for SignatureStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the caller trusts the signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The signature is valid and its signer is among the trusted ones.
    Trusted,
    /// The signature is valid and its signer is not among the trusted ones.
    Untrusted,
    /// No trusted signers were given, or the signature is not valid.
    Unknown,
}

impl Trust {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Unknown => "unknown",
        }
    }

    /// Trust in the signer of a valid signature. Without trusted signers it is unknown, never trusted.
    pub(crate) fn in_signer(signer: SignerId, trusted: &[SignerId]) -> Self {
        // Where nobody is named, nobody asked for trust: `Untrusted` would be a refusal that no one stated.
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

/// The result of verifying a document's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    pub answer: SignatureStatus,
    pub trust: Trust,
    /// The signer, when valid.
    pub signer: Option<SignerId>,
    /// Another profile under which the signature would be valid.
    pub hint: Option<Profile>,
}

/// A status other than valid: the error of the inner functions.
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
    fn from(cause: NotValid) -> Self {
        match cause {
            NotValid::Invalid(cause) => Self::Invalid(cause),
            NotValid::Undecidable(cause) => Self::Undecidable(cause),
        }
    }
}
