//! Strings and byte strings as literals.

use super::Notation;

/// A string as a literal. Control, invisible and direction-turning characters are escaped, so that a receipt cannot be
/// made to look like another.
pub(super) fn quoted(points: impl Iterator<Item = u32> + Clone, notation: Notation, out: &mut String) {
    let quote = quote_for(points.clone(), notation);
    out.push(quote);
    for point in points {
        escaped(point, quote, notation, out);
    }
    out.push(quote);
}

/// Bytes as Python's `b'…'`, or as the elements of a `Uint8Array`.
pub(super) fn byte_string(bytes: &[u8], notation: Notation, out: &mut String) {
    if notation != Notation::Python {
        let items: Vec<_> = bytes.iter().map(u8::to_string).collect();
        out.push_str(&format!("Uint8Array({}) [{}]", bytes.len(), items.join(", ")));
        return;
    }
    let quote = quote_for(bytes.iter().map(|byte| u32::from(*byte)), notation);
    out.push('b');
    out.push(quote);
    for byte in bytes {
        match byte {
            0x20..=0x7e | b'\n' | b'\r' | b'\t' => escaped(u32::from(*byte), quote, notation, out),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push(quote);
}

/// Python takes the quote that needs no escape.
fn quote_for(points: impl Iterator<Item = u32> + Clone, notation: Notation) -> char {
    let has = |quote: char| points.clone().any(|point| point == u32::from(quote));
    match notation {
        Notation::Python if has('\'') && !has('"') => '"',
        Notation::Python => '\'',
        Notation::JavaScript | Notation::Json => '"',
    }
}

fn escaped(point: u32, quote: char, notation: Notation, out: &mut String) {
    match char::from_u32(point) {
        Some(char) if char == quote || char == '\\' => out.extend(['\\', char]),
        Some('\n') => out.push_str("\\n"),
        Some('\r') => out.push_str("\\r"),
        Some('\t') => out.push_str("\\t"),
        Some(char) if !is_unseen(char) => out.push(char),
        Some(_) | None => out.push_str(&code(point, notation)),
    }
}

fn code(point: u32, notation: Notation) -> String {
    match (notation, point) {
        (Notation::Python, 0..=0xff) => format!("\\x{point:02x}"),
        (Notation::Python, 0x1_0000..) => format!("\\U{point:08x}"),
        (Notation::Python | Notation::JavaScript | Notation::Json, _) => format!("\\u{point:04x}"),
    }
}

/// All of these are below U+10000, so one `\u` escape holds each.
fn is_unseen(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
