//! Why a request can not be worked on, and where.

use std::fmt;

use thiserror::Error;

/// The longest message, in characters: what it quotes of the request may be of any length.
const MAX_MESSAGE_CHARS: usize = 1_000;

/// A request that can not be worked on: no work is done and nothing is signed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {message}")]
pub struct RequestError {
    place: Place,
    code: Code,
    message: String,
}

impl RequestError {
    pub(crate) fn new(place: Place, code: Code, message: impl Into<String>) -> RequestError {
        let mut message = message.into();
        if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE_CHARS) {
            message.truncate(end);
            message.push('…');
        }
        RequestError { place, code, message }
    }

    /// Where in the request it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The cause as a word that does not change: `unknown_field`, `empty_suite`, ….
    pub fn code(&self) -> &'static str {
        self.code.as_str()
    }

    /// What is wrong and how to mend it, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// A place in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The request as a whole.
    Whole,
    /// A line and column of the text, both counted from 1.
    Text {
        /// The line.
        line: u64,
        /// The column, in characters.
        column: u64,
    },
    /// A field, written as `verification.tests[3].input`.
    Field(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => f.write_str("the request"),
            Place::Text { line, column } => write!(f, "line {line}, column {column}"),
            Place::Field(path) => write!(f, "`{path}`"),
        }
    }
}

/// The causes a request is refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    InvalidJson,
    InvalidYaml,
    WrongType,
    UnknownField,
    MissingField,
    ConflictingFields,
    InvalidValue,
    Unsupported,
    EmptySuite,
    DuplicateName,
    TooMany,
    TooLarge,
}

impl Code {
    fn as_str(self) -> &'static str {
        match self {
            Code::InvalidJson => "invalid_json",
            Code::InvalidYaml => "invalid_yaml",
            Code::WrongType => "wrong_type",
            Code::UnknownField => "unknown_field",
            Code::MissingField => "missing_field",
            Code::ConflictingFields => "conflicting_fields",
            Code::InvalidValue => "invalid_value",
            Code::Unsupported => "unsupported",
            Code::EmptySuite => "empty_suite",
            Code::DuplicateName => "duplicate_name",
            Code::TooMany => "too_many",
            Code::TooLarge => "too_large",
        }
    }
}
