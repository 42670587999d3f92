use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::shown;

/// A JSON number as the text it was written with: `1.50`, `1.5` and `15e-1` stay three different tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

/// The text is not a number of RFC 8259.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a JSON number")]
pub struct ParseNumberError(String);

impl ParseNumberError {
    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        Some("write digits as in `-12`, `0.5` or `1e9`".to_owned())
    }
}

impl Number {
    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the token has neither a fraction nor an exponent.
    pub fn is_integer(&self) -> bool {
        !self.0.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
    }

    /// The value, if the token is an integer in range (`1.0` and `1e3` are not integers here).
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// The value, if the token is an integer in range; `-0` is 0.
    pub fn as_u64(&self) -> Option<u64> {
        // Rust parses no `-` into an unsigned integer.
        if &*self.0 == "-0" {
            return Some(0);
        }
        self.0.parse().ok()
    }

    /// Whether every reader of JSON keeps the number: an integer within ±(2^53−1) (RFC 8259, section 6), and not `-0`.
    pub fn is_safe(&self) -> bool {
        const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
        // `-0` is the integer 0 to Python and the double -0 to ECMAScript.
        &*self.0 != "-0" && self.as_i64().is_some_and(|value| value.unsigned_abs() <= MAX_SAFE_INTEGER)
    }

    /// The nearest IEEE 754 double, unless the token overflows to infinity.
    pub fn as_f64(&self) -> Option<f64> {
        // Rust parses `1e400` as infinity.
        self.0.parse::<f64>().ok().filter(|value| value.is_finite())
    }

    /// `token` must follow the grammar of RFC 8259.
    pub(super) fn from_token(token: &str) -> Self {
        Self(token.into())
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(value.to_string().into())
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(value.to_string().into())
    }
}

impl FromStr for Number {
    type Err = ParseNumberError;

    fn from_str(text: &str) -> Result<Self, ParseNumberError> {
        match scan(text.as_bytes()) {
            Ok(length) if length == text.len() => Ok(Self::from_token(text)),
            _ => Err(ParseNumberError(shown(text))),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why no number starts here, and after how many bytes.
pub(super) enum NumberError {
    LeadingZero(usize),
    DigitMissing(usize),
}

/// The length of the number `bytes` starts with (RFC 8259, section 6).
pub(super) fn scan(bytes: &[u8]) -> Result<usize, NumberError> {
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(bytes, at);
    if whole == 0 {
        return Err(NumberError::DigitMissing(at));
    }
    if whole > 1 && bytes.get(at) == Some(&b'0') {
        return Err(NumberError::LeadingZero(at));
    }
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        at = some_digits(bytes, at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = some_digits(bytes, at + 1 + sign)?;
    }
    Ok(at)
}

fn some_digits(bytes: &[u8], at: usize) -> Result<usize, NumberError> {
    match digits(bytes, at) {
        0 => Err(NumberError::DigitMissing(at)),
        count => Ok(at + count),
    }
}

fn digits(bytes: &[u8], at: usize) -> usize {
    bytes.iter().skip(at).take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_grammar_and_nothing_else() {
        for good in ["0", "-0", "10", "1.50", "1e5", "1E+5", "-1.2e-3"] {
            assert_eq!(good.parse::<Number>().unwrap().as_str(), good);
        }
        for bad in ["", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x1", "1 ", "NaN"] {
            assert!(bad.parse::<Number>().is_err(), "{bad}");
        }
    }

    #[test]
    fn integers_are_only_what_is_written_as_one() {
        let number = |text: &str| text.parse::<Number>().unwrap();
        assert_eq!(number("-0").as_u64(), Some(0));
        assert_eq!(number("18446744073709551615").as_u64(), Some(u64::MAX));
        assert_eq!(number("18446744073709551616").as_u64(), None);
        assert_eq!(number("1.0").as_i64(), None);
        assert_eq!(number("1e400").as_f64(), None);
    }
}
