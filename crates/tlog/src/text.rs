//! What all forms of the log have in common: numbers and base64 with one spelling each.

use base64ct::{Base64, Encoding};

/// A number in decimal, without sign, leading zeros or spaces.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    let has_one_spelling = text == "0" || !text.starts_with('0');
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if has_one_spelling && is_digits { text.parse().ok() } else { None }
}

/// Standard base64 with padding. The decoder refuses stray bits in the last character, which would be further spellings.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    Base64::decode_vec(text).ok()
}

pub(crate) fn to_base64(bytes: &[u8]) -> String {
    Base64::encode_string(bytes)
}

/// The text before the first line feed, and what follows it. `None` when no line ends.
pub(crate) fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = bytes.split_at_checked(end)?;
    Some((line, rest.get(1..)?))
}
