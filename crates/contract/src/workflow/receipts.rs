//! Rules about receipts.

use proofmark_evidence::{Path, ReceiptDemand};
use proofmark_receipt::Sha256Digest;
use proofmark_receipt::document::{Cause, DocumentError, Field, shown};

use super::verification::{Names, read_message, read_path};
use crate::vocabulary;

/// A rule that asks for a receipt.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiptRule {
    /// The rule's name, unique in the step.
    pub id: String,
    /// What the receipt must be.
    pub demand: ReceiptDemand,
    /// The bytes it must be about.
    pub output: Option<Binding>,
    /// The specification it must be for: of a step acceptance, the digest of the contract.
    pub specification: Option<Sha256Digest>,
    /// What to say when there is none.
    pub reject_message: Option<String>,
}

/// The digest of the bytes a receipt must be about.
#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    /// This one.
    Digest(Sha256Digest),
    /// The one at this place in the payload.
    Payload(Path),
}

impl ReceiptRule {
    pub(super) fn read(field: &Field<'_>, names: &mut Names) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::RECEIPT)?;
        Ok(Self {
            id: names.take(&fields, "receipt")?,
            demand: ReceiptDemand::read(&fields)?,
            output: fields.get("output").map(|field| read_binding(&field)).transpose()?,
            specification: fields.get("specification").map(|field| read_specification(&field)).transpose()?,
            reject_message: read_message(&fields)?,
        })
    }
}

/// Never a place in the payload: the agent would choose what its work is held to.
fn read_specification(field: &Field<'_>) -> Result<Sha256Digest, DocumentError> {
    let text = field.text()?;
    text.parse().map_err(|_| {
        let message = format!("`{}` is not a digest; write `sha256:` and 64 lower-case hex digits", shown(text));
        field.error(Cause::InvalidValue, message)
    })
}

fn read_binding(field: &Field<'_>) -> Result<Binding, DocumentError> {
    let text = field.text()?;
    if let Some(path) = text.strip_prefix("payload.") {
        return Ok(Binding::Payload(read_path(field, path)?));
    }
    text.parse().map(Binding::Digest).map_err(|_| {
        let message =
            format!("`{}` names no bytes; write `payload.` and a path, or `sha256:` and a digest", shown(text));
        field.error(Cause::InvalidValue, message)
    })
}
