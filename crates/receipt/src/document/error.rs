//! Why a document is refused, and where.

use std::fmt;

use thiserror::Error;

/// The longest message, in characters: what it quotes of the request may be of any length.
const MAX_MESSAGE_CHARS: usize = 1_000;

/// Why a document is refused, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {message}")]
pub struct DocumentError {
    place: Place,
    cause: Cause,
    message: String,
}

impl DocumentError {
    /// An error at this place, with what is wrong and how to mend it.
    pub fn new(place: Place, cause: Cause, message: impl Into<String>) -> DocumentError {
        let mut message = message.into();
        if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE_CHARS) {
            message.truncate(end);
            message.push('…');
        }
        DocumentError { place, cause, message }
    }

    /// Where in the request it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The cause as a word that does not change: `unknown_field`, `empty`, ….
    pub fn code(&self) -> &'static str {
        self.cause.as_str()
    }

    /// What is wrong and how to mend it, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// A place in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The document as a whole.
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
            Place::Whole => f.write_str("the document"),
            Place::Text { line, column } => write!(f, "line {line}, column {column}"),
            Place::Field(path) => write!(f, "`{path}`"),
        }
    }
}

/// The causes a document is refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Not JSON.
    InvalidJson,
    /// Not YAML, or YAML that readers understand differently.
    InvalidYaml,
    /// A field of another type than is due.
    WrongType,
    /// A field nobody reads.
    UnknownField,
    /// A field that must be there is not.
    MissingField,
    /// Two fields that say the same, or exclude each other.
    ConflictingFields,
    /// A value out of range or of the wrong form.
    InvalidValue,
    /// A kind of thing that is not supported.
    Unsupported,
    /// A list that must have items has none.
    Empty,
    /// A name that is taken.
    DuplicateName,
    /// More items than may be.
    TooMany,
    /// Longer than may be.
    TooLarge,
}

impl Cause {
    fn as_str(self) -> &'static str {
        match self {
            Cause::InvalidJson => "invalid_json",
            Cause::InvalidYaml => "invalid_yaml",
            Cause::WrongType => "wrong_type",
            Cause::UnknownField => "unknown_field",
            Cause::MissingField => "missing_field",
            Cause::ConflictingFields => "conflicting_fields",
            Cause::InvalidValue => "invalid_value",
            Cause::Unsupported => "unsupported",
            Cause::Empty => "empty",
            Cause::DuplicateName => "duplicate_name",
            Cause::TooMany => "too_many",
            Cause::TooLarge => "too_large",
        }
    }
}
