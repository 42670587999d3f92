//! The JSON values that plain (unquoted) YAML scalars stand for.
//!
//! YAML 1.1 and 1.2 read some words differently, and JSON cannot say all that YAML can: such words are refused. A number
//! that both versions read alike keeps every digit.

use std::borrow::Cow;

use crate::json::{Json, Number};
use crate::shown;

/// What YAML 1.1 reads as a boolean and YAML 1.2 as a string, in any case.
const AMBIGUOUS_BOOLEANS: [&str; 6] = ["yes", "no", "on", "off", "y", "n"];
/// The spellings of words that JSON has too. In another letter case they are strings to most readers.
const TRUE: [&str; 3] = ["true", "True", "TRUE"];
const FALSE: [&str; 3] = ["false", "False", "FALSE"];
const NULL: [&str; 5] = ["", "~", "null", "Null", "NULL"];

/// Why a plain scalar is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlainError {
    AmbiguousBoolean,
    /// A word of JSON in letters of mixed case.
    MixedCase,
    /// A number that YAML versions read differently, or that JSON does not have.
    Number,
}

impl PlainError {
    pub(super) fn message(self, text: &str) -> String {
        match self {
            Self::AmbiguousBoolean => format!("`{}` is a boolean to some YAML readers", shown(text)),
            Self::MixedCase => format!("`{}` is a string to some YAML readers", shown(text)),
            Self::Number => format!("`{}` is not a number in JSON, or not the same to all YAML readers", shown(text)),
        }
    }

    pub(super) fn help(self) -> &'static str {
        match self {
            Self::AmbiguousBoolean => "write it in quotes, or `true` or `false`",
            Self::MixedCase => "write it in small letters, or a string in quotes",
            Self::Number => "write the number as in JSON, or a string in quotes",
        }
    }
}

/// The value of a plain scalar.
pub(super) fn plain(text: &str) -> Result<Json, PlainError> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if NULL.contains(&text) {
        return Ok(Json::Null);
    }
    if TRUE.contains(&text) || FALSE.contains(&text) {
        return Ok(Json::Bool(TRUE.contains(&text)));
    }
    if ["true", "false", "null"].into_iter().any(is) {
        return Err(PlainError::MixedCase);
    }
    if AMBIGUOUS_BOOLEANS.into_iter().any(is) {
        return Err(PlainError::AmbiguousBoolean);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return Ok(Json::from(text));
    }
    match in_json(text).parse::<Number>() {
        Ok(number) => Ok(Json::Number(number)),
        // A string to one reader and a number to another, or a number of another value, as `017` is 15 in YAML 1.1.
        Err(_) if is_number(unsigned) || is_sexagesimal(unsigned) => Err(PlainError::Number),
        Err(_) => Ok(Json::from(text)),
    }
}

/// How JSON writes the number, where YAML 1.1 and 1.2 agree on a spelling that JSON lacks: `+1`, `.5`, `5.` and `0x1f`.
fn in_json(text: &str) -> Cow<'_, str> {
    if let Some(number) = text.strip_prefix("0x").and_then(hexadecimal) {
        return Cow::Owned(number.to_string());
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let ends_in_digit = |text: &str| text.ends_with(|last: char| last.is_ascii_digit());
    let starts_with_digit = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    match text.split_once('.') {
        Some((whole, rest)) if !ends_in_digit(whole) && starts_with_digit(rest) => {
            Cow::Owned(format!("{whole}0.{rest}"))
        }
        Some((whole, rest)) if ends_in_digit(whole) && !starts_with_digit(rest) => {
            Cow::Owned(format!("{whole}.0{rest}"))
        }
        Some(_) | None => Cow::Borrowed(text),
    }
}

fn hexadecimal(digits: &str) -> Option<u64> {
    // `from_str_radix` would take a sign, too.
    let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if plain { u64::from_str_radix(digits, 16).ok() } else { None }
}

/// Whether YAML 1.1 reads `unsigned` as a number of base 60, as `12:30:45`, which is 45045.
fn is_sexagesimal(unsigned: &str) -> bool {
    let whole = unsigned.split_once('.').map_or(unsigned, |(whole, _)| whole);
    let mut parts = whole.split(':');
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let first = parts.next().is_some_and(is_digits);
    let rest: Vec<&str> = parts.collect();
    first
        && !rest.is_empty()
        && rest.iter().all(|part| part.len() <= 2 && part.parse::<u8>().is_ok_and(|part| part < 60))
}

/// Whether some YAML reader takes `unsigned` for a number.
fn is_number(unsigned: &str) -> bool {
    if unsigned.eq_ignore_ascii_case(".inf") || unsigned.eq_ignore_ascii_case(".nan") {
        return true;
    }
    // YAML 1.1 allows `_` between digits; in YAML 1.2 it makes the word a string.
    let digits = unsigned.replace('_', "");
    let radix = match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        // Rust also parses `inf` and `nan`, but `plain` passes only what begins with a digit or a point.
        _ => return digits.parse::<f64>().is_ok(),
    };
    digits.get(2..).is_some_and(|digits| !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_every_digit() {
        for (text, json) in [
            ("1.10", "1.10"),
            ("1e2", "1e2"),
            ("1E+2", "1E+2"),
            ("-0", "-0"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("+1", "1"),
            ("+0.50", "0.50"),
            (".5", "0.5"),
            ("-.5e3", "-0.5e3"),
            ("5.", "5.0"),
            ("5.e3", "5.0e3"),
            ("0x1F", "31"),
            ("0xffffffffffffffff", "18446744073709551615"),
        ] {
            assert_eq!(plain(text).map(|json| json.to_text()), Ok(json.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_readers_take_differently_is_refused() {
        for text in [
            "017",
            "-01",
            "00",
            "00.5",
            "0o17",
            "0b11",
            "0X1f",
            "-0x1f",
            "+0x1f",
            "0x10000000000000000",
            "0x1_F",
            "1_000",
            "1_0.5",
            "1_",
            ".inf",
            "-.INF",
            "+.inf",
            ".nan",
            "12:30",
            "12:30:45",
            "-1:00",
            "1:30.5",
        ] {
            assert_eq!(plain(text), Err(PlainError::Number), "{text}");
        }
        for text in ["tRue", "fALSE", "nULL"] {
            assert_eq!(plain(text), Err(PlainError::MixedCase), "{text}");
        }
        for text in ["yes", "No", "ON", "off", "y", "N"] {
            assert_eq!(plain(text), Err(PlainError::AmbiguousBoolean), "{text}");
        }
    }

    #[test]
    fn what_no_reader_takes_for_a_number_is_a_string() {
        for text in [
            ".",
            "..",
            "-",
            "+",
            "1.2.3",
            "1 2",
            "8080:80",
            "1:2:",
            "2026-11-21",
            "2026-11-21T12:30:45Z",
            "0x",
            "0xg",
            "0b2",
            "1e",
            "e5",
            "1e5.",
            "inf",
            "nan",
            "+-1",
            "_1",
            "-.",
            ".e5",
            "yes.",
            "١",
        ] {
            assert_eq!(plain(text), Ok(Json::from(text)), "{text}");
        }
    }
}
