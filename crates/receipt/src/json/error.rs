use std::fmt;

use thiserror::Error;

use crate::position::line_and_column;
use crate::shown;

/// Why a document was refused, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind} at line {line}, column {column}")]
pub struct JsonError {
    pub kind: JsonErrorKind,
    /// Bytes from the start.
    pub offset: usize,
    /// From 1.
    pub line: u64,
    /// From 1, in characters.
    pub column: u64,
}

impl JsonError {
    pub(super) fn locate(bytes: &[u8], kind: JsonErrorKind, offset: usize) -> Self {
        let (line, column) = line_and_column(bytes, offset);
        Self { kind, offset, line, column }
    }

    /// [`JsonErrorKind::code`].
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// [`JsonErrorKind::help`].
    pub fn help(&self) -> Option<String> {
        self.kind.help()
    }
}

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// More bytes than this limit.
    TooLarge(usize),
    /// Nested deeper than this limit.
    TooDeep(usize),
    /// More values than this limit.
    TooManyValues(usize),
    ByteOrderMark,
    InvalidUtf8,
    /// The text ends in the middle of a value.
    UnexpectedEnd,
    UnexpectedCharacter {
        found: char,
        expected: &'static str,
    },
    /// A word other than `true`, `false` and `null`.
    InvalidLiteral(String),
    TrailingComma,
    TrailingData,
    /// Names are compared unescaped.
    DuplicateKey(String),
    LoneSurrogate,
    InvalidEscape,
    /// A character below U+0020 inside a string.
    ControlCharacter(u8),
    LeadingZero,
    /// A number without a digit where one is required.
    InvalidNumber,
}

impl JsonErrorKind {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "too_large",
            Self::TooDeep(_) => "too_deep",
            Self::TooManyValues(_) => "too_many_values",
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

    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::TooLarge(_) | Self::TooManyValues(_) => "make the document smaller".to_owned(),
            Self::TooDeep(_) => "flatten the document".to_owned(),
            Self::ByteOrderMark => "save it as UTF-8 without a byte order mark".to_owned(),
            Self::InvalidUtf8 => "save it as UTF-8".to_owned(),
            Self::UnexpectedEnd => "is it cut off?".to_owned(),
            Self::UnexpectedCharacter { expected, .. } => format!("write {expected} here"),
            Self::InvalidLiteral(_) => "write `true`, `false` or `null`, or put a string in double quotes".to_owned(),
            Self::TrailingComma | Self::TrailingData => "remove it".to_owned(),
            Self::DuplicateKey(_) => "keep one of them".to_owned(),
            Self::LoneSurrogate => "write both halves, or the character itself".to_owned(),
            Self::InvalidEscape => "write `\\\\` for a backslash".to_owned(),
            Self::ControlCharacter(byte) => format!("write `\\u{byte:04x}`"),
            Self::LeadingZero => "remove the zero".to_owned(),
            Self::InvalidNumber => "write it as in `0.5` or `1e9`".to_owned(),
        })
    }
}

impl fmt::Display for JsonErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(limit) => write!(f, "the document is larger than {limit} bytes"),
            Self::TooDeep(limit) => write!(f, "nested deeper than {limit} levels"),
            Self::TooManyValues(limit) => write!(f, "more than {limit} values"),
            Self::ByteOrderMark => f.write_str("the document starts with a byte order mark"),
            Self::InvalidUtf8 => f.write_str("invalid UTF-8"),
            Self::UnexpectedEnd => f.write_str("the document ends in the middle of a value"),
            Self::UnexpectedCharacter { found, expected } => {
                write!(f, "expected {expected}, found `{}`", found.escape_debug())
            }
            Self::InvalidLiteral(word) => write!(f, "`{word}` is not a JSON value"),
            Self::TrailingComma => f.write_str("a comma before the closing bracket"),
            Self::TrailingData => f.write_str("more text after the document"),
            Self::DuplicateKey(name) => write!(f, "duplicate key `{}`", shown(name)),
            Self::LoneSurrogate => f.write_str("half of a surrogate pair in a `\\u` escape"),
            Self::InvalidEscape => f.write_str("invalid escape in a string"),
            Self::ControlCharacter(_) => f.write_str("a bare control character in a string"),
            Self::LeadingZero => f.write_str("a number with a leading zero"),
            Self::InvalidNumber => f.write_str("a number that lacks a digit"),
        }
    }
}
