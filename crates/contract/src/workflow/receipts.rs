//! Rules about receipts.

use proofmark_evidence::{LogPolicy, Path, ReceiptDemand};
use proofmark_receipt::Sha256Digest;
use proofmark_receipt::document::{Cause, DocumentError, Field, shown};

use crate::read::{RuleIds, read_message, read_path};
use crate::vocabulary;

/// A rule that asks for a receipt.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiptRule {
    /// Unique in the step.
    pub id: String,
    pub demand: ReceiptDemand,
    pub output: Option<Binding>,
    /// The specification it must be for; for a step acceptance, the digest of the contract.
    pub specification: Option<Sha256Digest>,
    pub reject_message: Option<String>,
}

/// The digest of the bytes a receipt must be about.
#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    Digest(Sha256Digest),
    Payload(Path),
}

impl ReceiptRule {
    pub(super) fn read(
        field: &Field<'_>,
        logs: Option<&LogPolicy>,
        names: &mut RuleIds,
    ) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::RECEIPT)?;
        Ok(Self {
            id: names.take(&fields, "receipt")?,
            demand: ReceiptDemand::read(&fields, logs)?,
            output: fields.get("output").map(|field| read_binding(&field)).transpose()?,
            specification: fields.get("specification").map(|field| read_specification(&field)).transpose()?,
            reject_message: read_message(&fields)?,
        })
    }
}

/// A digest, never a place in the payload: else the agent would choose what its work is held to.
fn read_specification(field: &Field<'_>) -> Result<Sha256Digest, DocumentError> {
    let text = field.text()?;
    text.parse().map_err(|_| {
        let message = format!("`{}` is not a digest", shown(text));
        field.error(Cause::InvalidValue, message).with_help("write `sha256:` and 64 lower-case hex digits")
    })
}

fn read_binding(field: &Field<'_>) -> Result<Binding, DocumentError> {
    let text = field.text()?;
    if let Some(path) = text.strip_prefix("payload.") {
        return Ok(Binding::Payload(read_path(field, path)?));
    }
    text.parse().map(Binding::Digest).map_err(|_| {
        let message = format!("`{}` is neither a path nor a digest", shown(text));
        field
            .error(Cause::InvalidValue, message)
            .with_help("write `payload.` and a path, or `sha256:` and 64 lower-case hex digits")
    })
}
