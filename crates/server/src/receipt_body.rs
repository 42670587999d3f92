//! Receipts to check and terms of redeeming, as HTTP and MCP clients send them.

use proofmark_decider::{Subject, Terms};
use proofmark_evidence::{Capabilities, Signers};
use proofmark_keys::{TrustError, signers_in};
use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::{Json, ParseDigestError, Sha256Digest, Verdict};

use crate::attempt_body::as_text;

/// A receipt to check, and the signers to trust in place of the server's own.
pub(crate) struct ReceiptBody {
    pub(crate) receipt: String,
    pub(crate) trust: Option<Signers>,
}

/// Why a body cannot be read, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReceiptBodyError {
    #[error("read the arguments: {0}")]
    Fields(#[from] DocumentError),
    #[error(transparent)]
    Trust(#[from] TrustError),
}

impl ReceiptBodyError {
    /// A short stable name.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Fields(error) => error.code(),
            Self::Trust(_) => "invalid_signer",
        }
    }

    /// What to do about it.
    pub(crate) fn help(&self) -> Option<String> {
        match self {
            Self::Fields(error) => error.help(),
            Self::Trust(error) => error.help(),
        }
    }
}

/// What a caller who redeems a receipt may accept beside a `pass` by a trusted signer; `untrusted` stands for any signer.
const ACCEPTED: [(&str, Option<Verdict>); 4] = [
    ("fail", Some(Verdict::Fail)),
    ("partial", Some(Verdict::Partial)),
    ("error", Some(Verdict::Error)),
    ("untrusted", None),
];

impl ReceiptBody {
    /// Reads `{receipt, trust?}`.
    pub(crate) fn read(arguments: &Json) -> Result<Self, ReceiptBodyError> {
        let fields = Field::root(arguments).fields()?;
        fields.only(&["receipt", "trust"])?;
        let receipt = fields.need("receipt", "write the receipt, best as its text, which keeps every byte")?;
        let receipt = as_text(receipt.json);
        let Some(trust) = fields.get("trust") else { return Ok(Self { receipt, trust: None }) };
        let mut signers = Signers::default();
        for item in trust.items()? {
            // Only what the text itself names: a path would let a client read files of this host.
            for key in signers_in(item.text()?)? {
                // They are named for this one receipt, whatever its kind.
                signers = signers.with(key, Capabilities::ALL);
            }
        }
        Ok(Self { receipt, trust: Some(signers) })
    }

    /// Reads a receipt by itself, or `{receipt, trust?}`.
    pub(crate) fn read_either(body: &Json) -> Result<Self, ReceiptBodyError> {
        if body.as_object().is_some_and(|body| body.contains("receipt")) {
            Self::read(body)
        } else {
            Ok(Self { receipt: body.to_text(), trust: None })
        }
    }
}

/// Reads `{accept?, task_id?, specification?, tests?, output?}`.
pub(crate) fn terms(arguments: &Json) -> Result<Terms, ReceiptBodyError> {
    let fields = Field::root(arguments).fields()?;
    fields.only(&["accept", "task_id", "specification", "tests", "output"])?;
    let digest = |name: &str| fields.get(name).map(|field| read_digest(&field)).transpose();
    let about = Subject {
        task_id: fields.get("task_id").map(|field| field.text().map(str::to_owned)).transpose()?,
        specification: digest("specification")?,
        tests: digest("tests")?,
        output: digest("output")?,
    };
    let mut terms = Terms { about, ..Terms::default() };
    for word in fields.get("accept").map(|field| field.items()).transpose()?.unwrap_or_default() {
        match word.choice(&ACCEPTED)? {
            Some(verdict) => terms.verdicts.push(verdict),
            None => terms.untrusted = true,
        }
    }
    Ok(terms)
}

fn read_digest(field: &Field<'_>) -> Result<Sha256Digest, DocumentError> {
    let text = field.text()?;
    text.parse().map_err(|error: ParseDigestError| field.error(Cause::InvalidValue, error.to_string()))
}
