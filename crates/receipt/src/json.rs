//! JSON as receipts need it: a strict reader that keeps every number as written, and the canonical forms that
//! are hashed.
//!
//! What two parsers could understand differently (duplicate keys, lone surrogates, a byte order mark) is refused with a
//! named [`JsonErrorKind`] before anything is hashed.

mod canonical;
mod error;
mod exact;
mod number;
mod object;
mod pretty;
mod profile;
mod python;
mod reader;
mod text;

pub use error::{JsonError, JsonErrorKind};
pub use number::{Number, ParseNumberError};
pub use object::Object;
pub use profile::{CanonicalError, ParseProfileError, Profile};
pub use reader::{read_size, string_length};

pub(crate) use canonical::{canonical_vrf_of, canonical_vrf_without, canonical_without};
pub(crate) use exact::check_exact;
pub(crate) use text::write_members;

/// The largest document [`Json::parse`] reads, in bytes (1 MiB).
pub const MAX_BYTES: usize = 1 << 20;

/// The deepest nesting [`Json::parse`] reads: this many arrays and objects inside each other.
pub const MAX_DEPTH: usize = 64;

/// The most values [`Json::parse`] reads: as many as a document of [`MAX_BYTES`] can have. A value of two bytes takes about a
/// hundred in memory, so a longer document is limited by this and not by its length.
pub const MAX_NODES: usize = MAX_BYTES / 2;

/// The deepest nesting any [`Limits`] can ask for: the reader recurses, so the stack bounds it.
pub const DEPTH_CEILING: usize = 512;

/// The sizes beyond which [`Json::parse_with`] refuses a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub max_bytes: usize,
    /// Levels of nesting; values above [`DEPTH_CEILING`] count as that.
    pub max_depth: usize,
    /// Values of any kind, those within arrays and objects included.
    pub max_nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_bytes: MAX_BYTES, max_depth: MAX_DEPTH, max_nodes: MAX_NODES }
    }
}

/// One JSON value. Equality is that of the document: members in order, numbers as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// A number as the text it was written with.
    Number(Number),
    /// A string, unescaped.
    String(String),
    Array(Vec<Json>),
    Object(Object),
}

impl Json {
    /// Reads one document (RFC 8259) within the default [`Limits`].
    ///
    /// # Errors
    /// [`JsonError`] names what is wrong and where.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        Self::parse_with(bytes, Limits::default())
    }

    /// Reads one document (RFC 8259) within `limits`.
    ///
    /// # Errors
    /// [`JsonError`] names what is wrong and where.
    pub fn parse_with(bytes: &[u8], limits: Limits) -> Result<Self, JsonError> {
        Ok(Self::parse_noting_space(bytes, limits)?.0)
    }

    /// As [`Json::parse_with`]; also whether there is white space beside the document's tokens.
    ///
    /// # Errors
    /// As [`Json::parse_with`].
    pub fn parse_noting_space(bytes: &[u8], limits: Limits) -> Result<(Self, bool), JsonError> {
        reader::read(bytes, limits, None)
    }

    /// As [`Json::parse_with`], with the byte where each value starts, in document order.
    pub(crate) fn parse_with_starts(bytes: &[u8], limits: Limits) -> Result<(Self, Vec<usize>), JsonError> {
        let mut starts = Vec::new();
        let (json, _) = reader::read(bytes, limits, Some(&mut starts))?;
        Ok((json, starts))
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The name of this value's type, for messages: `null`, `boolean`, `number`, `string`, `array` or `object`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// The document on one line without white space: members in document order, numbers as written, strings escaped
    /// as [`Profile::Vrf`] escapes them.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        text::write_value(&mut out, self);
        out
    }

    /// The canonical bytes of this value under `profile`: what is hashed.
    ///
    /// # Errors
    /// [`CanonicalError`] when the profile cannot write a number; [`Profile::Vrf`] never fails.
    pub fn canonical(&self, profile: Profile) -> Result<Vec<u8>, CanonicalError> {
        canonical::canonical(self, profile)
    }

    /// The canonical bytes of this value under [`Profile::Vrf`].
    pub fn canonical_vrf(&self) -> Vec<u8> {
        #[expect(clippy::expect_used, reason = "the profile writes every number as written")]
        self.canonical(Profile::Vrf).expect("the profile `vrf` has a form for every document")
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i32> for Json {
    fn from(value: i32) -> Self {
        Self::Number(Number::from(i64::from(value)))
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Self::Number(Number::from(value))
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Self::Number(Number::from(value))
    }
}

impl From<Number> for Json {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<Vec<Json>> for Json {
    fn from(items: Vec<Json>) -> Self {
        Self::Array(items)
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}
