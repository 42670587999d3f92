//! Strings as literals.

use super::Notation;

/// A string as a literal. Control, invisible and direction-turning characters are escaped, so that a receipt cannot be
/// made to look like another.
pub(super) fn quoted(points: impl Iterator<Item = u32> + Clone, notation: &Notation, out: &mut String) {
    let quote = quote_for(points.clone(), notation);
    out.push(quote);
    for point in points {
        escaped(point, quote, notation, out);
    }
    out.push(quote);
}

/// A name, in quotes where it is not a plain one.
pub(super) fn name(name: &str, notation: &Notation, out: &mut String) {
    let plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    if plain { out.push_str(name) } else { quoted(name.chars().map(u32::from), notation, out) }
}

/// Single quotes give way where double ones need no escape.
fn quote_for(points: impl Iterator<Item = u32> + Clone, notation: &Notation) -> char {
    let has = |quote: char| points.clone().any(|point| point == u32::from(quote));
    if notation.single_quotes && (!has('\'') || has('"')) { '\'' } else { '"' }
}

fn escaped(point: u32, quote: char, notation: &Notation, out: &mut String) {
    match char::from_u32(point) {
        Some(char) if char == quote || char == '\\' => out.extend(['\\', char]),
        Some('\n') => out.push_str("\\n"),
        Some('\r') => out.push_str("\\r"),
        Some('\t') => out.push_str("\\t"),
        Some(char) if !is_unseen(char) && !is_blank(char) => out.push(char),
        Some(_) | None => out.push_str(&(notation.escape)(point)),
    }
}

/// All of these are below U+10000, so one `\u` escape holds each.
pub(crate) fn is_unseen(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A character that looks like a blank and is not one.
pub(crate) fn is_blank(char: char) -> bool {
    char.is_whitespace() && char != ' ' && !char.is_control()
}
