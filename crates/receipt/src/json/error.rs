use std::fmt;

use thiserror::Error;

/// Why a document was refused, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind} (line {line}, column {column})")]
pub struct JsonError {
    /// What is wrong.
    pub kind: JsonErrorKind,
    /// Where, in bytes from the start.
    pub offset: usize,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

impl JsonError {
    pub(super) fn locate(bytes: &[u8], kind: JsonErrorKind, offset: usize) -> Self {
        let before = bytes.get(..offset).unwrap_or(bytes);
        let newlines = before.iter().filter(|byte| **byte == b'\n').count();
        let column =
            before.iter().rev().take_while(|byte| **byte != b'\n').filter(|byte| **byte & 0xC0 != 0x80).count();
        Self { kind, offset, line: newlines + 1, column: column + 1 }
    }

    /// The name of the refusal, for programs: that of [`JsonErrorKind::code`].
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }
}

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// More bytes than the limit, in bytes.
    TooLarge(usize),
    /// Nested deeper than the limit.
    TooDeep(usize),
    /// Starts with U+FEFF.
    ByteOrderMark,
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// Ends in the middle of a value.
    UnexpectedEnd,
    /// A character where another was due.
    UnexpectedCharacter {
        /// The character.
        found: char,
        /// What was due.
        expected: &'static str,
    },
    /// A word that is not `true`, `false` or `null`.
    InvalidLiteral(String),
    /// A comma before a closing bracket.
    TrailingComma,
    /// More text after the document.
    TrailingData,
    /// A name twice in one object, compared unescaped.
    DuplicateKey(String),
    /// A `\u` escape of half a surrogate pair.
    LoneSurrogate,
    /// A `\` that starts no escape.
    InvalidEscape,
    /// A character below U+0020 inside a string.
    ControlCharacter(u8),
    /// A number that starts with `0` and goes on.
    LeadingZero,
    /// A number without a digit where one is due.
    InvalidNumber,
}

impl JsonErrorKind {
    /// The name of the refusal, for programs; stable.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "too_large",
            Self::TooDeep(_) => "too_deep",
            Self::ByteOrderMark => "byte_order_mark",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::UnexpectedEnd => "unexpected_end",
            Self::UnexpectedCharacter { .. } => "unexpected_character",
            Self::InvalidLiteral(_) => "invalid_literal",
            Self::TrailingComma => "trailing_comma",
            Self::TrailingData => "trailing_data",
            Self::DuplicateKey(_) => "duplicate_key",
            Self::LoneSurrogate => "lone_surrogate",
            Self::InvalidEscape => "invalid_escape",
            Self::ControlCharacter(_) => "control_character",
            Self::LeadingZero => "leading_zero",
            Self::InvalidNumber => "invalid_number",
        }
    }
}

impl fmt::Display for JsonErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(limit) => write!(f, "the document is larger than {limit} bytes; make it smaller"),
            Self::TooDeep(limit) => write!(f, "nested deeper than {limit} levels; flatten it"),
            Self::ByteOrderMark => f.write_str("starts with a byte order mark; save it as UTF-8 without one"),
            Self::InvalidUtf8 => f.write_str("not UTF-8; save it as UTF-8"),
            Self::UnexpectedEnd => f.write_str("ends in the middle of a value; is it cut off?"),
            Self::UnexpectedCharacter { found, expected } => {
                write!(f, "found `{}` where {expected} is due", found.escape_debug())
            }
            Self::InvalidLiteral(word) => {
                write!(f, "`{word}` is not a value; write `true`, `false`, `null` or put it in double quotes")
            }
            Self::TrailingComma => f.write_str("a comma before the closing bracket; remove it"),
            Self::TrailingData => f.write_str("more text after the document; remove it"),
            Self::DuplicateKey(name) => {
                write!(f, "the key `{}` appears twice in one object; keep one", name.escape_debug())
            }
            Self::LoneSurrogate => {
                f.write_str("half a surrogate pair in a `\\u` escape; write both halves or the character itself")
            }
            Self::InvalidEscape => f.write_str("a `\\` that starts no JSON escape; write `\\\\` for a backslash"),
            Self::ControlCharacter(byte) => {
                write!(f, "a bare control character in a string; write `\\u{byte:04x}`")
            }
            Self::LeadingZero => f.write_str("a number that starts with a needless zero; remove it"),
            Self::InvalidNumber => {
                f.write_str("a number without a digit where one is due; write it as in `0.5` or `1e9`")
            }
        }
    }
}
