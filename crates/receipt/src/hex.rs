//! Hexadecimal, exact lengths only.

/// The bytes in lower case.
pub(crate) fn encode(bytes: &[u8]) -> String {
    // A nibble is below 16, so it always has a digit.
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xF)]).collect()
}

/// Exactly `N` bytes, in lower case only: what is signed as text has one spelling.
pub(crate) fn decode_lower<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    decode(text)
}

/// Exactly `N` bytes, in either case.
pub(crate) fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    // A byte beyond ASCII becomes a character of Latin-1, which is not a hex digit either.
    let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(bytes)
}
