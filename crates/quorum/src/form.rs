//! Reads values of metadata, each with the place that errors name.

use std::collections::HashSet;
use std::hash::Hash;
use std::str::FromStr;

use proofmark_receipt::document::{Cause, DocumentError, Field, Place};
use proofmark_receipt::{Receipt, ReceiptId, Sha256Digest, SignerId, shown};

/// The member `name` of the receipt's metadata, with its place.
pub(crate) fn metadata<'r>(receipt: &'r Receipt, name: &str) -> Option<Field<'r>> {
    Some(Field { at: format!("metadata.{name}"), json: receipt.metadata().get(name)? })
}

/// The error that the receipt's field at `place` is another one than the format demands.
pub(crate) fn wrong(place: &str, message: impl Into<String>) -> DocumentError {
    DocumentError::new(Place::Field(place.to_owned()), Cause::InvalidValue, message)
}

/// Refuses unless `holds`.
pub(crate) fn demand(holds: bool, place: &str, message: &str) -> Result<(), DocumentError> {
    if holds { Ok(()) } else { Err(wrong(place, message)) }
}

/// The members of metadata by which a receipt says what it is.
const MARKS: [&str; 3] = ["approval", "judgment", "quorum"];

/// Of the marks, metadata has that of this kind alone, which `metadata.kind` names if it is there. `metadata.structural` is this, and
/// `metadata.fault` is `verifier` where the verdict is `error`, and absent elsewhere.
pub(crate) fn common(receipt: &Receipt, kind: &str, structural: bool, is_error: bool) -> Result<(), DocumentError> {
    // An approval is of one action and is spent, a judgment is of work and is not: none of them serves as another.
    if let Some(field) = MARKS.into_iter().filter(|mark| *mark != kind).find_map(|mark| metadata(receipt, mark)) {
        return Err(field.error(Cause::ConflictingFields, format!("a {kind} is nothing else")));
    }
    if let Some(field) = metadata(receipt, "kind") {
        demand(field.text()? == kind, &field.at, &format!("expected `{kind}`"))?;
    }
    let stated = metadata(receipt, "structural").map(|field| field.boolean()).transpose()?;
    demand(stated == Some(structural), "metadata.structural", &format!("expected `{structural}`"))?;
    let fault = metadata(receipt, "fault").map(|field| field.text()).transpose()?;
    match is_error {
        true => demand(fault == Some(FAULT), "metadata.fault", "expected `verifier`, since the verdict is `error`"),
        false => demand(fault.is_none(), "metadata.fault", "a fault without the verdict `error`"),
    }
}

/// Whose fault the verdict `error` is here: never that of the work.
pub(crate) const FAULT: &str = "verifier";

pub(crate) fn digest(field: &Field<'_>) -> Result<Sha256Digest, DocumentError> {
    parsed(field, "a SHA-256 digest", "write `sha256:` and 64 lower-case hex digits")
}

pub(crate) fn receipt_id(field: &Field<'_>) -> Result<ReceiptId, DocumentError> {
    parsed(field, "a UUID version 4", "write the `receipt_id` of the receipt")
}

/// A key in the one spelling that receipts have under the profile `vrf`.
pub(crate) fn signer(field: &Field<'_>) -> Result<SignerId, DocumentError> {
    let (expected, help) = ("a signer", "write the `signer_id` of the receipt");
    let signer: SignerId = parsed(field, expected, help)?;
    if signer.to_string() == field.text()? { Ok(signer) } else { Err(not(field, expected, help)) }
}

/// A value that is read from a text.
pub(crate) fn parsed<T: FromStr>(field: &Field<'_>, expected: &str, help: &str) -> Result<T, DocumentError> {
    field.text()?.parse().map_err(|_| not(field, expected, help))
}

/// A text of 1 to `longest` bytes.
pub(crate) fn text(field: &Field<'_>, longest: usize) -> Result<String, DocumentError> {
    let text = field.text()?;
    if (1..=longest).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    let (cause, message) = match text {
        "" => (Cause::Empty, "the text is empty".to_owned()),
        _ => (Cause::TooLarge, format!("the text is longer than {longest} bytes")),
    };
    Err(field.error(cause, message).with_help(format!("write 1 to {longest} bytes")))
}

/// Refuses the second of two items with the same value.
pub(crate) fn unique<T: Hash + Eq>(
    values: impl IntoIterator<Item = (String, T)>,
    what: &str,
) -> Result<(), DocumentError> {
    let mut seen = HashSet::new();
    match values.into_iter().find_map(|(at, value)| (!seen.insert(value)).then_some(at)) {
        None => Ok(()),
        Some(at) => {
            Err(DocumentError::new(Place::Field(at), Cause::DuplicateName, format!("the {what} is listed twice")))
        }
    }
}

fn not(field: &Field<'_>, expected: &str, help: &str) -> DocumentError {
    let text = field.json.as_str().map(shown).unwrap_or_default();
    field.error(Cause::InvalidValue, format!("`{text}` is not {expected}")).with_help(help)
}
