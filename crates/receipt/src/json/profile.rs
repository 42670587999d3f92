use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::Number;
use crate::shown;

/// A way to write a document as bytes to hash: every implementation gives the same bytes for the same document.
///
/// On the safe set (integers within ±(2^53−1), ASCII keys) all profiles agree, except that [`Profile::PyAscii`] escapes
/// strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Proofmark's own: keys by code point, raw UTF-8, numbers as written.
    #[default]
    Vrf,
    /// RFC 8785: keys by UTF-16 unit, numbers as ECMAScript writes them.
    Jcs,
    /// Python's `json.dumps(sort_keys=True, separators=(",", ":"), ensure_ascii=False)` of what it read.
    PyUtf8,
    /// The same with Python's default escaping: everything beyond ASCII as `\uxxxx`.
    PyAscii,
}

impl Profile {
    /// Every profile, the default first.
    pub const ALL: [Self; 4] = [Self::Vrf, Self::Jcs, Self::PyUtf8, Self::PyAscii];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vrf => "vrf",
            Self::Jcs => "jcs",
            Self::PyUtf8 => "py-utf8",
            Self::PyAscii => "py-ascii",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not the name of a profile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown profile `{0}`")]
pub struct ParseProfileError(String);

impl ParseProfileError {
    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        let names: Vec<_> = Profile::ALL.iter().map(|profile| format!("`{profile}`")).collect();
        Some(format!("write one of {}", names.join(", ")))
    }
}

impl FromStr for Profile {
    type Err = ParseProfileError;

    fn from_str(name: &str) -> Result<Self, ParseProfileError> {
        let profile = Self::ALL.into_iter().find(|profile| profile.as_str() == name);
        profile.ok_or_else(|| ParseProfileError(shown(name)))
    }
}

/// A number that a profile cannot write exactly.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CanonicalError {
    /// Read as a double, the number is infinite.
    #[error("the number `{number}` overflows to infinity under profile `{profile}`")]
    NotFinite { number: String, profile: Profile },
    /// The profile writes a number of another value, or its readers need not keep this one.
    #[error("profile `{profile}` does not keep the number `{number}` exactly")]
    NotExact { number: String, profile: Profile },
    /// Python refuses to read integers this long.
    #[error("the integer `{number}` has more than 4300 digits, which profile `{profile}` cannot read")]
    IntegerTooLong { number: String, profile: Profile },
}

impl CanonicalError {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFinite { .. } => "number_not_finite",
            Self::NotExact { .. } => "number_not_exact",
            Self::IntegerTooLong { .. } => "integer_too_long",
        }
    }

    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        Some("write the number as a string".to_owned())
    }
}

/// The double that `number` is read as.
pub(super) fn finite(number: &Number, profile: Profile) -> Result<f64, CanonicalError> {
    number.as_f64().ok_or_else(|| CanonicalError::NotFinite { number: shown(number.as_str()), profile })
}
