use proofmark_receipt::SignatureStatus;
use thiserror::Error;

/// Why a document cannot be exported, or why an exported one does not verify.
///
/// Each is a code that `receipt verify` prints, and belongs to one of its answers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExportError {
    /// Neither a signed statement (RFC 9943) nor an in-toto statement of the form that is written here.
    #[error("not a statement of this form: {0}")]
    MalformedStatement(&'static str),
    /// Not a COSE receipt (RFC 9942) of the form that is written here.
    #[error("not a COSE receipt of this form: {0}")]
    MalformedReceipt(&'static str),
    /// Not a DSSE envelope.
    #[error("not a DSSE envelope: {0}")]
    MalformedEnvelope(&'static str),
    /// The `alg` of a COSE header is not Ed25519.
    #[error("`alg` is {0}, expected -8 (EdDSA) or -19 (Ed25519)")]
    UnknownAlgorithm(String),
    /// The `vds` of a COSE receipt is not `RFC9162_SHA256`.
    #[error("`vds` is {0}, expected 1 (RFC9162_SHA256)")]
    UnknownStructure(String),
    /// The signed `payloadType` of an envelope is not one of in-toto statements.
    #[error("`payloadType` is `{0}`, expected `application/vnd.in-toto+json`")]
    UnknownPayloadType(String),
    /// The key's signature does not fit. For a COSE receipt: over the root computed from entry and path.
    #[error("{0}")]
    SignatureMismatch(&'static str),
    /// The index is past the end of the tree, or the path has another length than index and size need.
    #[error("the inclusion path does not fit the index and the size of the tree")]
    InclusionMismatch,
    /// The claim `sub` is not what the document inside is of.
    #[error("the claim `sub` is not the digest of what the document inside is about")]
    SubjectMismatch,
    /// The claim `iss` is not who signed the document inside.
    #[error("the statement is not issued by the signer of the document inside")]
    IssuerMismatch,
    /// The document inside, or to be exported, is not valid by its own rules.
    #[error("the document inside is {}: {}", .0, .0.cause().unwrap_or_default())]
    Document(Box<SignatureStatus>),
    /// The document has no judgment that the format can say.
    #[error("{0}")]
    NoJudgment(&'static str),
    /// The verdict is `error`.
    #[error("the verdict is `error`: the work could not be judged, which is not a score")]
    NoScore,
}

impl ExportError {
    /// The stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::MalformedStatement(_) => "malformed_statement",
            Self::MalformedReceipt(_) => "malformed_receipt",
            Self::MalformedEnvelope(_) => "malformed_envelope",
            Self::UnknownAlgorithm(_) => "unknown_algorithm",
            Self::UnknownStructure(_) => "unknown_structure",
            Self::UnknownPayloadType(_) => "unknown_payload_type",
            Self::SignatureMismatch(_) => "signature_mismatch",
            Self::InclusionMismatch => "inclusion_mismatch",
            Self::SubjectMismatch => "subject_mismatch",
            Self::IssuerMismatch => "issuer_mismatch",
            // Never `None`: only what is not valid becomes an error.
            Self::Document(status) => status.code().unwrap_or("malformed_statement"),
            Self::NoJudgment(_) => "no_judgment",
            Self::NoScore => "no_score",
        }
    }

    /// The answer: `invalid` or `undecidable`, as of receipts. An export without a judgment is undecidable.
    #[must_use]
    pub fn answer(&self) -> &'static str {
        match self {
            Self::SignatureMismatch(_) | Self::InclusionMismatch | Self::SubjectMismatch | Self::IssuerMismatch => {
                "invalid"
            }
            Self::Document(status) => status.as_str(),
            Self::MalformedStatement(_)
            | Self::MalformedReceipt(_)
            | Self::MalformedEnvelope(_)
            | Self::UnknownAlgorithm(_)
            | Self::UnknownStructure(_)
            | Self::UnknownPayloadType(_)
            | Self::NoJudgment(_)
            | Self::NoScore => "undecidable",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Document(status) => status.help(),
            Self::SignatureMismatch(_) => {
                Some("check that the key is its signer's, and that the file is whole".to_owned())
            }
            Self::IssuerMismatch => Some("only the signer of a document exports it: use that key".to_owned()),
            Self::NoJudgment(_) => Some("export it as `cose`, which can hold any verdict".to_owned()),
            Self::NoScore => Some("verify the work again, and export that receipt".to_owned()),
            _ => None,
        }
    }
}
