//! Texts of a policy.

use proofmark_receipt::document::{Cause, DocumentError, Field};

/// The longest text for people, in bytes.
const MAX_TEXT_BYTES: usize = 1_024;

/// A name, or a text for people: not empty, not too long.
pub(super) fn text<'a>(field: &Field<'a>) -> Result<&'a str, DocumentError> {
    let text = field.text()?;
    if text.trim().is_empty() {
        return Err(field.error(Cause::Empty, "the text is empty").with_help("write something"));
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err(field
            .error(Cause::TooLarge, format!("the text is longer than {MAX_TEXT_BYTES} bytes"))
            .with_help("shorten it"));
    }
    Ok(text)
}
