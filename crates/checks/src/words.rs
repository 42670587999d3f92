//! Texts as the modes that compare text see them. White space is that of ASCII.

fn is_space(byte: &u8) -> bool {
    // Not `u8::is_ascii_whitespace`, which leaves out the vertical tab.
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// The text without the white space at its end.
pub(crate) fn trimmed(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_space(byte)).map_or(0, |last| last + 1);
    text.get(..end).unwrap_or(text)
}

/// The words between white space.
pub(crate) fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    text.split(is_space).filter(|token| !token.is_empty())
}
