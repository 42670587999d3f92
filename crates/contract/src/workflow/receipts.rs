//! Rules about receipts.

use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};
use proofmark_receipt::{Json, Sha256Digest, SignerId, Verdict};

use super::failure::count;
use super::verification::{Names, read_message, read_path};
use crate::duration;
use crate::path::Path;
use crate::vocabulary;

/// The deepest tier of VRF 1.0.
const MAX_TIER: u64 = 3;

/// A rule that asks for a receipt.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiptRule {
    /// The rule's name, unique in the step.
    pub id: String,
    /// The verdict it must have.
    pub verdict: Verdict,
    /// The tiers it may have; any where there are none.
    pub tiers: Vec<u8>,
    /// The bytes it must be about.
    pub output: Option<Binding>,
    /// Who must have signed it.
    pub signer: Signer,
    /// How old it may be, in milliseconds.
    pub max_age_ms: Option<u64>,
    /// Whether it may not have been used before.
    pub single_use: bool,
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

/// Who must have signed a receipt.
#[derive(Clone, Debug, PartialEq)]
pub enum Signer {
    /// One the caller trusts.
    Trusted,
    /// Anyone, as long as the signature is valid.
    Any,
    /// This one.
    Key(SignerId),
}

impl ReceiptRule {
    pub(super) fn read(field: &Field<'_>, names: &mut Names) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::RECEIPT)?;
        Ok(Self {
            id: names.take(&fields, "receipt")?,
            verdict: fields.get("verdict").map_or(Ok(Verdict::Pass), |field| read_verdict(&field))?,
            tiers: fields.get("tier").map_or(Ok(Vec::new()), |field| read_tiers(&field))?,
            output: fields.get("output").map(|field| read_binding(&field)).transpose()?,
            signer: fields.get("signer").map_or(Ok(Signer::Trusted), |field| read_signer(&field))?,
            max_age_ms: fields.get("max_age").map(|field| duration::read(&field)).transpose()?,
            single_use: read_single_use(&fields)?,
            reject_message: read_message(&fields)?,
        })
    }
}

fn read_single_use(fields: &Fields<'_>) -> Result<bool, DocumentError> {
    fields.get("single_use").map_or(Ok(false), |field| field.boolean())
}

fn read_verdict(field: &Field<'_>) -> Result<Verdict, DocumentError> {
    field.choice(&[
        ("pass", Verdict::Pass),
        ("partial", Verdict::Partial),
        ("fail", Verdict::Fail),
        ("error", Verdict::Error),
    ])
}

fn read_tiers(field: &Field<'_>) -> Result<Vec<u8>, DocumentError> {
    let tier = |field: &Field<'_>| Ok(u8::try_from(count(field, MAX_TIER)?).unwrap_or(u8::MAX));
    match field.json {
        Json::Array(items) if items.is_empty() => {
            Err(field.error(Cause::Empty, "there is no tier; write one, or leave the field out"))
        }
        Json::Array(_) => field.items()?.iter().map(tier).collect(),
        _ => Ok(vec![tier(field)?]),
    }
}

fn read_signer(field: &Field<'_>) -> Result<Signer, DocumentError> {
    match field.text()? {
        "trusted" => Ok(Signer::Trusted),
        "any" => Ok(Signer::Any),
        key => key.parse().map(Signer::Key).map_err(|_| {
            let message = format!("`{}` is no signer; write `trusted`, `any` or a public key", shown(key));
            field.error(Cause::InvalidValue, message)
        }),
    }
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
