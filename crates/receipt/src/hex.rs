//! Hexadecimal, exact lengths only.

const DIGITS: [u8; 16] = *b"0123456789abcdef";
/// What stands for the value of a byte that is not a digit.
const NO_DIGIT: u8 = 0xFF;

/// The bytes in lower case.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0'));
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 0xF));
    }
    text
}

/// Exactly `N` bytes, in lower case only: what is signed as text has one spelling.
#[must_use]
pub fn decode_lower<const N: usize>(text: &str) -> Option<[u8; N]> {
    // Without an early end the loop looks at many bytes at a time.
    let capital = text.bytes().fold(false, |found, byte| found | byte.is_ascii_uppercase());
    if capital { None } else { decode(text) }
}

/// Exactly `N` bytes, in either case.
#[must_use]
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; N];
    let mut seen = 0;
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let (high, low) = (value(*high), value(*low));
        seen |= high | low;
        *byte = high << 4 | low & 0xF;
    }
    // Every digit is below 16. Without an early end the loop looks at many digits at a time.
    if seen < 16 { Some(bytes) } else { None }
}

fn value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        b'A'..=b'F' => digit - b'A' + 10,
        _ => NO_DIGIT,
    }
}
