use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::text::{separate, write_string};
use super::{Json, Number, Object, python};

/// A way to write a document as bytes to hash: the same document, whoever writes it, gives the same bytes.
///
/// On the safe set (integers within ±(2^53−1), ASCII) all but the escaping of [`Profile::PyAscii`] agree.
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

    /// The name users ask for: `vrf`, `jcs`, `py-utf8` or `py-ascii`.
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

/// No profile has this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a profile; choose `vrf`, `jcs`, `py-utf8` or `py-ascii`")]
pub struct ParseProfileError(String);

impl FromStr for Profile {
    type Err = ParseProfileError;

    fn from_str(name: &str) -> Result<Self, ParseProfileError> {
        let found = Self::ALL.into_iter().find(|profile| profile.as_str() == name);
        found.ok_or_else(|| ParseProfileError(name.to_owned()))
    }
}

/// A number the profile has no form for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CanonicalError {
    /// The number overflows to infinity when read as a double.
    #[error("the number `{number}` overflows to infinity under profile `{profile}`; write it as a string")]
    NotFinite {
        /// The token, cut at 40 characters.
        number: String,
        /// The profile asked for.
        profile: Profile,
    },
    /// The profile stands for another number than this one, or need not keep it.
    #[error("profile `{profile}` does not keep the number `{number}` exactly; write it as a string")]
    NotExact {
        /// The token, cut at 40 characters.
        number: String,
        /// The profile asked for.
        profile: Profile,
    },
    /// Python refuses to read integers this long.
    #[error(
        "the integer `{number}…` has more than 4300 digits, which profile `{profile}` cannot read; write it as a string"
    )]
    IntegerTooLong {
        /// The token, cut at 40 characters.
        number: String,
        /// The profile asked for.
        profile: Profile,
    },
}

impl CanonicalError {
    /// The name of the refusal, for programs; stable.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFinite { .. } => "number_not_finite",
            Self::NotExact { .. } => "number_not_exact",
            Self::IntegerTooLong { .. } => "integer_too_long",
        }
    }
}

/// The canonical bytes of `value`.
pub(super) fn canonical(value: &Json, profile: Profile) -> Result<Vec<u8>, CanonicalError> {
    let mut writer = Writer::new(profile);
    writer.value(value)?;
    Ok(writer.out.into_bytes())
}

/// The canonical bytes of `object` without its own member `left_out`; members of that name deeper down stay.
pub(crate) fn canonical_without(object: &Object, left_out: &str, profile: Profile) -> Result<Vec<u8>, CanonicalError> {
    let mut writer = Writer::new(profile);
    writer.members(object.members().iter().filter(|(name, _)| name != left_out))?;
    Ok(writer.out.into_bytes())
}

/// What `profile` writes for `number`.
pub(super) fn number_text(number: &Number, profile: Profile) -> Result<String, CanonicalError> {
    let mut writer = Writer { out: String::new(), profile };
    writer.number(number)?;
    Ok(writer.out)
}

struct Writer {
    out: String,
    profile: Profile,
}

impl Writer {
    fn new(profile: Profile) -> Self {
        Self { out: String::with_capacity(2048), profile }
    }

    fn value(&mut self, value: &Json) -> Result<(), CanonicalError> {
        match value {
            Json::Null => self.out.push_str("null"),
            Json::Bool(true) => self.out.push_str("true"),
            Json::Bool(false) => self.out.push_str("false"),
            Json::Number(number) => self.number(number)?,
            Json::String(text) => self.string(text),
            Json::Array(items) => self.array(items)?,
            Json::Object(object) => self.members(object.members().iter())?,
        }
        Ok(())
    }

    fn array(&mut self, items: &[Json]) -> Result<(), CanonicalError> {
        self.out.push('[');
        for (index, item) in items.iter().enumerate() {
            separate(&mut self.out, index);
            self.value(item)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn members<'a>(&mut self, members: impl Iterator<Item = &'a (String, Json)>) -> Result<(), CanonicalError> {
        let mut sorted: Vec<&(String, Json)> = members.collect();
        match self.profile {
            Profile::Jcs => sorted.sort_unstable_by(|left, right| utf16_order(&left.0, &right.0)),
            // UTF-8 sorts as its code points do, and so do Python's strings.
            Profile::Vrf | Profile::PyUtf8 | Profile::PyAscii => {
                sorted.sort_unstable_by(|left, right| left.0.cmp(&right.0))
            }
        }
        self.out.push('{');
        for (index, (name, value)) in sorted.into_iter().enumerate() {
            separate(&mut self.out, index);
            self.string(name);
            self.out.push(':');
            self.value(value)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn string(&mut self, text: &str) {
        match self.profile {
            Profile::PyAscii => python::write_ascii_string(&mut self.out, text),
            Profile::Vrf | Profile::Jcs | Profile::PyUtf8 => write_string(&mut self.out, text),
        }
    }

    fn number(&mut self, number: &Number) -> Result<(), CanonicalError> {
        match self.profile {
            Profile::Vrf => {
                self.out.push_str(number.as_str());
                Ok(())
            }
            Profile::Jcs => self.ecmascript_number(number),
            Profile::PyUtf8 | Profile::PyAscii => python::write_number(&mut self.out, number, self.profile),
        }
    }

    /// RFC 8785, section 3.2.2.3.
    fn ecmascript_number(&mut self, number: &Number) -> Result<(), CanonicalError> {
        let value = finite(number, self.profile)?;
        self.out.push_str(ryu_js::Buffer::new().format_finite(value));
        Ok(())
    }
}

/// The double `number` stands for.
pub(super) fn finite(number: &Number, profile: Profile) -> Result<f64, CanonicalError> {
    number
        .as_f64()
        .ok_or_else(|| CanonicalError::NotFinite { number: number.as_str().chars().take(40).collect(), profile })
}

/// RFC 8785, section 3.2.3. Differs from code point order where U+E000–U+FFFF meets what is beyond U+FFFF.
fn utf16_order(left: &str, right: &str) -> Ordering {
    left.encode_utf16().cmp(right.encode_utf16())
}
