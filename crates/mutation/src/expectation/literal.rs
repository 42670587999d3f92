//! Literals, and others of the same type and shape that do not equal them.

use std::ops::Range;

use proofmark_checks::{Edit, Language};

use super::arguments::{outermost, parts, trimmed};
use crate::token::Kind;
use crate::tokens::Tokens;

/// How exactly numbers are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Exact,
    /// Within a small tolerance, absolute or relative.
    Close,
}

/// Makes one value in a literal, or in a container of literals, another. None for what is no literal, or has no value that can be
/// altered.
pub(super) fn altered(tokens: &Tokens<'_>, range: &Range<usize>, comparison: Comparison) -> Option<Edit> {
    let mut values = Vec::new();
    if !scalars(tokens, range.clone(), &mut values) {
        return None;
    }
    let mut edits = values.into_iter().rev().filter_map(|index| altered_scalar(tokens, index, comparison));
    edits.next().or_else(|| filled(tokens, range))
}

/// Finds the values in a literal, keys left out; says whether it is one.
fn scalars(tokens: &Tokens<'_>, range: Range<usize>, values: &mut Vec<usize>) -> bool {
    let range = trimmed(tokens, range);
    let outer: Vec<usize> = outermost(tokens, range.clone()).collect();
    let Some(first) = outer.first().copied() else { return false };
    let kind = |index: usize| tokens.get(index).map(|token| token.kind);
    match (kind(first), outer.as_slice()) {
        (Some(Kind::Number), [one]) => values.push(*one),
        (Some(Kind::Operator), [sign, number]) if matches!(tokens.text(*sign), "-" | "+") => {
            values.push(*number);
            return kind(*number) == Some(Kind::Number);
        }
        (Some(Kind::String), all) => {
            // Python joins strings that follow each other.
            let is_joined = all.iter().all(|index| kind(*index) == Some(Kind::String));
            values.extend(all.last());
            return is_joined && (all.len() == 1 || tokens.language() == Language::Python);
        }
        (Some(Kind::Name), [one]) => {
            values.push(*one);
            return constants(tokens.language()).contains(&tokens.text(*one));
        }
        (Some(Kind::Open), [open, close]) if tokens.get(*open).is_some_and(|token| token.partner == Some(*close)) => {
            let Some(inside) = tokens.inside(*open) else { return false };
            return parts(tokens, inside).into_iter().all(|part| item(tokens, *open, part, values));
        }
        _ => return false,
    }
    true
}

/// One item of a container: a value, or a key and a value.
fn item(tokens: &Tokens<'_>, open: usize, part: Range<usize>, values: &mut Vec<usize>) -> bool {
    let colon = outermost(tokens, part.clone()).find(|index| tokens.text(*index) == ":");
    match (tokens.text(open), colon) {
        ("{", Some(colon)) => {
            let key = trimmed(tokens, part.start..colon);
            let mut keys = Vec::new();
            let is_name = key.len() == 1 && tokens.get(key.start).is_some_and(|token| token.kind == Kind::Name);
            let is_key = match tokens.language() {
                Language::Python => scalars(tokens, key, &mut keys),
                _ => is_name || (tokens.text(key.start) != "[" && scalars(tokens, key, &mut keys)),
            };
            is_key && scalars(tokens, colon + 1..part.end, values)
        }
        ("{", None) if tokens.language() != Language::Python => false,
        (_, Some(_)) => false,
        (_, None) => scalars(tokens, part, values),
    }
}

fn constants(language: Language) -> &'static [&'static str] {
    match language {
        Language::Python => &["True", "False", "None"],
        _ => &["true", "false", "null", "undefined"],
    }
}

fn altered_scalar(tokens: &Tokens<'_>, index: usize, comparison: Comparison) -> Option<Edit> {
    let token = tokens.get(index)?;
    let text = tokens.text(index);
    let altered = match (token.kind, comparison) {
        (Kind::Number, Comparison::Exact) => number(text),
        (Kind::Number, Comparison::Close) => distant(text),
        (Kind::String, Comparison::Exact) => string(text),
        (Kind::Name, Comparison::Exact) => truth(text).map(str::to_owned),
        _ => None,
    }?;
    Some(Edit { span: token.span(), text: altered })
}

/// A value in an empty container.
fn filled(tokens: &Tokens<'_>, range: &Range<usize>) -> Option<Edit> {
    let range = trimmed(tokens, range.clone());
    let open = tokens.get(range.start)?;
    if open.partner != range.end.checked_sub(1) || !tokens.inside(range.start)?.all(|index| is_blank(tokens, index)) {
        return None;
    }
    let text = match (tokens.text(range.start), tokens.language()) {
        ("[", _) => "0",
        ("(", Language::Python) => "0,",
        ("{", Language::Python) => "0: 0",
        ("{", _) => "a: 0",
        _ => return None,
    };
    Some(Edit { span: open.end..open.end, text: text.to_owned() })
}

fn is_blank(tokens: &Tokens<'_>, index: usize) -> bool {
    tokens.get(index).is_none_or(|token| token.kind.is_blank() || token.kind == Kind::Newline)
}

fn truth(text: &str) -> Option<&'static str> {
    match text {
        "True" => Some("False"),
        "False" => Some("True"),
        "true" => Some("false"),
        "false" => Some("true"),
        _ => None,
    }
}

/// More digits than a double has.
const MANY_DIGITS: usize = 15;

/// A number of the same notation, of which one digit differs.
fn number(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let radix_digits = |prefix| lower.strip_prefix(prefix).map(|_| 2);
    if let Some(start) = ["0x", "0b", "0o"].into_iter().find_map(radix_digits) {
        let at = text.rfind(|char: char| char.is_ascii_hexdigit()).filter(|at| *at >= start)?;
        let digit = text.get(at..=at)?;
        let other = match digit {
            "1" => "0",
            "7" => "6",
            "f" => "e",
            "F" => "E",
            "9" => "8",
            digit => return with(text, at, &next(digit)?),
        };
        return with(text, at, other);
    }
    let end = lower.find(['e', 'j', 'n']).unwrap_or(lower.len());
    let mantissa = text.get(..end)?;
    let digits = mantissa.chars().filter(char::is_ascii_digit).count();
    let is_whole = !mantissa.contains('.') && end == lower.len();
    let first = mantissa.find(|char: char| matches!(char, '1'..='9'));
    let last = mantissa.rfind(|char: char| char.is_ascii_digit());
    // The last digits of a long number may be more than a double holds.
    let at = if is_whole && digits <= MANY_DIGITS { last? } else { first.or(last)? };
    let digit = text.get(at..=at)?;
    let altered = if digit == "9" { with(text, at, "8") } else { with(text, at, &next(digit)?) }?;
    differs(text, &altered).then_some(altered)
}

/// Whether the two are different as doubles, where both can be read as such.
fn differs(one: &str, other: &str) -> bool {
    let read = |text: &str| text.replace('_', "").parse::<f64>().ok();
    read(one).zip(read(other)).is_none_or(|(one, other)| one != other)
}

/// A number that no usual tolerance takes for the other: it differs by more than 1, and by half of itself.
fn distant(text: &str) -> Option<String> {
    let number: f64 = text.replace('_', "").parse().ok()?;
    let distant = number + 1.0 + number.abs();
    let written = if distant.abs() < 1e15 { format!("{distant}") } else { format!("{distant:e}") };
    let is_float = text.contains(['.', 'e', 'E']) && !written.contains(['.', 'e']);
    (distant.is_finite()).then(|| if is_float { format!("{written}.0") } else { written })
}

/// The character after this one.
fn next(char: &str) -> Option<String> {
    let byte = char.bytes().next()?;
    Some(char::from(byte.checked_add(1)?).to_string())
}

fn with(text: &str, at: usize, char: &str) -> Option<String> {
    Some(format!("{}{char}{}", text.get(..at)?, text.get(at + 1..)?))
}

/// A string of which one letter or digit differs, outside of escapes; with one more letter where it has none.
fn string(text: &str) -> Option<String> {
    let quote = text.find(['"', '\'', '`'])?;
    let mark = text.get(quote..=quote)?;
    let triple = mark.repeat(3);
    let width = if text.get(quote..)?.starts_with(&triple) && text.len() >= quote + 6 { 3 } else { 1 };
    let (start, end) = (quote + width, text.len().checked_sub(width)?);
    let body = text.get(start..end)?;
    let mut candidate = None;
    let mut is_escaped = false;
    for (at, char) in body.char_indices() {
        is_escaped = char == '\\' || (is_escaped && (char.is_alphanumeric() || matches!(char, '{' | '}')));
        if !is_escaped && char.is_ascii_alphanumeric() {
            candidate = Some(at);
        }
    }
    let Some(at) = candidate.map(|at| at + start) else {
        return Some(format!("{}x{}", text.get(..end)?, text.get(end..)?));
    };
    match text.get(at..=at)? {
        "9" => with(text, at, "8"),
        "z" => with(text, at, "y"),
        "Z" => with(text, at, "Y"),
        char => with(text, at, &next(char)?),
    }
}
