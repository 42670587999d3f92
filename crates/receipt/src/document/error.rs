//! Why a document is refused, where, and what to write instead.

use std::fmt;

use thiserror::Error;

/// The longest message or help, in characters: what it quotes of the document may be of any length.
const MAX_CHARS: usize = 1_000;

/// Why a document is refused, where, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {message}")]
pub struct DocumentError {
    place: Place,
    cause: Cause,
    message: String,
    help: Option<String>,
}

impl DocumentError {
    /// An error whose message says what is wrong. What to write instead is [`DocumentError::with_help`].
    pub fn new(place: Place, cause: Cause, message: impl Into<String>) -> DocumentError {
        DocumentError { place, cause, message: cut(message.into()), help: None }
    }

    /// The same error with advice on what to write instead.
    pub fn with_help(self, help: impl Into<String>) -> DocumentError {
        DocumentError { help: Some(cut(help.into())), ..self }
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// A stable name for programs: `unknown_field`, `empty`, ….
    pub fn code(&self) -> &'static str {
        self.cause.as_str()
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        self.help.clone()
    }
}

fn cut(mut text: String) -> String {
    // By characters: `truncate` panics inside one.
    if let Some((end, _)) = text.char_indices().nth(MAX_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// A place in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The document as a whole.
    Whole,
    /// A line and a column of the text, both from 1, the column in characters.
    Text { line: u64, column: u64 },
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
    InvalidJson,
    /// Not YAML, or YAML that readers understand differently.
    InvalidYaml,
    WrongType,
    UnknownField,
    MissingField,
    /// Two fields that say the same, or exclude each other.
    ConflictingFields,
    /// A value out of range or of the wrong form.
    InvalidValue,
    /// A value of the right form that this version does not support.
    Unsupported,
    /// A list or a text that must not be empty.
    Empty,
    DuplicateName,
    TooMany,
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
