//! What may be signed: documents that every reader and every canonical form treats alike.

use thiserror::Error;

use crate::error::ReceiptError;
use crate::json::{self, CanonicalError, Json, Object};

/// Why a document cannot be signed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SignError {
    /// A number that other implementations may read differently.
    #[error("`{0}` holds a number other than an integer within ±(2^53−1), which not every reader keeps exactly")]
    UnsafeNumber(String),
    /// A key that canonical forms may sort differently.
    #[error("the key `{0}` is not ASCII, so canonical forms may sort it differently")]
    UnsafeKey(String),
    /// Larger than a reader accepts.
    #[error("the document has {0} bytes, more than the {max} a reader accepts", max = json::MAX_BYTES)]
    TooLarge(usize),
    /// The document breaks a rule of its format, or is nested deeper than a reader accepts.
    #[error(transparent)]
    Rule(#[from] ReceiptError),
    /// Does not occur: the profile `vrf` writes every document.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

impl SignError {
    /// What to do instead.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::UnsafeNumber(_) => Some("write the number as a string".to_owned()),
            Self::UnsafeKey(_) => Some("use an ASCII key".to_owned()),
            Self::TooLarge(_) => Some("verify or decide on something smaller".to_owned()),
            Self::Rule(error) => error.help(),
            Self::Canonical(error) => error.help(),
        }
    }
}

/// Refuses a document that some implementation could read or write differently.
pub(crate) fn check_safe(document: &Object) -> Result<(), SignError> {
    check_members(document, "")
}

fn check_members(object: &Object, place: &str) -> Result<(), SignError> {
    object.iter().try_for_each(|(name, value)| {
        let below = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
        // ASCII sorts alike by code point (`vrf`, Python) and by UTF-16 unit (RFC 8785).
        match name.is_ascii() {
            true => check_value(value, &below),
            false => Err(SignError::UnsafeKey(below)),
        }
    })
}

fn check_value(value: &Json, place: &str) -> Result<(), SignError> {
    match value {
        Json::Null | Json::Bool(_) | Json::String(_) => Ok(()),
        Json::Number(number) if number.is_safe() => Ok(()),
        Json::Number(_) => Err(SignError::UnsafeNumber(place.to_owned())),
        Json::Array(items) => items.iter().try_for_each(|item| check_value(item, place)),
        Json::Object(object) => check_members(object, place),
    }
}

/// Writes the document and reads it back, so that nothing is issued that a reader would refuse.
pub(crate) fn read_back(document: Object) -> Result<Json, SignError> {
    let text = Json::Object(document).to_text();
    // Before it is parsed, for an error that says what to do about it.
    if text.len() > json::MAX_BYTES {
        return Err(SignError::TooLarge(text.len()));
    }
    Ok(Json::parse(text.as_bytes()).map_err(ReceiptError::from)?)
}
