//! JSON as receipts need it: a strict reader that keeps every number as it was written, and the canonical forms that
//! are hashed.
//!
//! There is no second reading of a document here: what two parsers could understand differently (duplicate keys, lone
//! surrogates, a byte order mark) is refused with a named [`JsonErrorKind`] before anything is hashed.

mod canonical;
mod error;
mod exact;
mod number;
mod object;
mod python;
mod reader;
mod text;

pub use canonical::{CanonicalError, ParseProfileError, Profile};
pub use error::{JsonError, JsonErrorKind};
pub use number::{Number, ParseNumberError};
pub use object::Object;

pub(crate) use canonical::canonical_without;
pub(crate) use exact::check_exact;

/// The largest document [`Json::parse`] reads, in bytes (1 MiB).
pub const MAX_BYTES: usize = 1 << 20;

/// The deepest nesting [`Json::parse`] reads: this many arrays and objects inside each other.
pub const MAX_DEPTH: usize = 64;

/// The deepest nesting any [`Limits`] can ask for; the reader recurses, so the stack bounds it.
pub const DEPTH_CEILING: usize = 512;

/// What [`Json::parse_with`] refuses for its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest document, in bytes.
    pub max_bytes: usize,
    /// The deepest nesting; values above [`DEPTH_CEILING`] count as that.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_bytes: MAX_BYTES, max_depth: MAX_DEPTH }
    }
}

/// One JSON value. Equality is that of the document: members in order, numbers as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, kept as the text it was written with.
    Number(Number),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object, its members in document order.
    Object(Object),
}

impl Json {
    /// Reads one document (RFC 8259) within the default [`Limits`].
    ///
    /// # Errors
    /// [`JsonError`] names what is wrong and where.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        reader::read(bytes, Limits::default())
    }

    /// Reads one document (RFC 8259) within `limits`.
    ///
    /// # Errors
    /// [`JsonError`] names what is wrong and where.
    pub fn parse_with(bytes: &[u8], limits: Limits) -> Result<Self, JsonError> {
        reader::read(bytes, limits)
    }

    /// The string, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The object, if this is one.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The array's items, if this is one.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, if this is one.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Whether this is `null`.
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
    /// [`CanonicalError`] when the profile has no form for a number in it; [`Profile::Vrf`] never fails.
    pub fn canonical(&self, profile: Profile) -> Result<Vec<u8>, CanonicalError> {
        canonical::canonical(self, profile)
    }

    /// The canonical bytes of this value under [`Profile::Vrf`].
    pub fn canonical_vrf(&self) -> Vec<u8> {
        #[expect(clippy::expect_used, reason = "the profile writes every number as it was written")]
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
