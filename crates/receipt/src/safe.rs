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
    check_members(document).map_err(|(place, refused)| refused(place))
}

/// Where a value is that cannot be signed, and the error that names the place.
type Unsafe = (String, fn(String) -> SignError);

fn check_members(object: &Object) -> Result<(), Unsafe> {
    object.iter().try_for_each(|(name, value)| {
        // ASCII sorts alike by code point (`vrf`, Python) and by UTF-16 unit (RFC 8785).
        if !name.is_ascii() {
            return Err((name.to_owned(), SignError::UnsafeKey as fn(String) -> SignError));
        }
        // The place is put together on the way out: nearly all documents are safe, and need none.
        check_value(value).map_err(|(below, refused)| match below.as_str() {
            "" => (name.to_owned(), refused),
            below => (format!("{name}.{below}"), refused),
        })
    })
}

fn check_value(value: &Json) -> Result<(), Unsafe> {
    match value {
        Json::Null | Json::Bool(_) | Json::String(_) => Ok(()),
        Json::Number(number) if number.is_safe() => Ok(()),
        Json::Number(_) => Err((String::new(), SignError::UnsafeNumber)),
        Json::Array(items) => items.iter().try_for_each(check_value),
        Json::Object(object) => check_members(object),
    }
}

/// Refuses a document that a reader would refuse once it is written: one too large or nested too deep. What
/// [`check_safe`] lets through is otherwise read back as it is.
pub(crate) fn check_readable(document: &Object) -> Result<(), SignError> {
    let text = document.to_text();
    check_length(&text)?;
    check_depth(document)
}

/// Refuses the text of a document that is longer than a reader accepts.
pub(crate) fn check_length(text: &str) -> Result<(), SignError> {
    if text.len() > json::MAX_BYTES { Err(SignError::TooLarge(text.len())) } else { Ok(()) }
}

/// Refuses a document that is nested deeper than a reader accepts.
pub(crate) fn check_depth(document: &Object) -> Result<(), SignError> {
    if depth(&mut document.iter().map(|(_, value)| value)) > json::MAX_DEPTH {
        // The reader says where.
        Json::parse(document.to_text().as_bytes()).map_err(ReceiptError::from)?;
    }
    Ok(())
}

/// How many levels an object or array with these items has.
fn depth(items: &mut dyn Iterator<Item = &Json>) -> usize {
    1 + items
        .map(|value| match value {
            Json::Array(items) => depth(&mut items.iter()),
            Json::Object(object) => depth(&mut object.iter().map(|(_, value)| value)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
        })
        .max()
        .unwrap_or_default()
}
