use std::cmp::Ordering;

use super::profile::{CanonicalError, Profile, finite};
use super::text::{separate, write_string};
use super::{Json, Number, Object, python};

/// The canonical bytes of `value`.
pub(super) fn canonical(value: &Json, profile: Profile) -> Result<Vec<u8>, CanonicalError> {
    let mut writer = Writer::new(profile);
    writer.value(value)?;
    Ok(writer.out.into_bytes())
}

impl Object {
    /// The canonical bytes of the object under [`Profile::Vrf`].
    pub fn canonical_vrf(&self) -> Vec<u8> {
        let mut writer = Writer::new(Profile::Vrf);
        #[expect(clippy::expect_used, reason = "the profile writes every number as written")]
        writer.members(self.members().iter()).expect("the profile `vrf` has a form for every document");
        writer.out.into_bytes()
    }
}

/// The canonical bytes of `object` without its own member `left_out`; members of that name deeper down stay.
pub(crate) fn canonical_without(object: &Object, left_out: &str, profile: Profile) -> Result<Vec<u8>, CanonicalError> {
    let mut writer = Writer::new(profile);
    writer.members(object.members().iter().filter(|(name, _)| name != left_out))?;
    Ok(writer.out.into_bytes())
}

/// As [`canonical_without`] under the profile `vrf`, which has a form for every document.
pub(crate) fn canonical_vrf_without(object: &Object, left_out: &str) -> Vec<u8> {
    #[expect(clippy::expect_used, reason = "the profile writes every number as written")]
    canonical_without(object, left_out, Profile::Vrf).expect("the profile `vrf` has a form for every document")
}

/// What `profile` writes for `number`.
pub(super) fn number_text(number: &Number, profile: Profile) -> Result<String, CanonicalError> {
    let mut writer = Writer { out: String::new(), profile, sorted: Vec::new() };
    writer.number(number)?;
    Ok(writer.out)
}

/// A member of an object.
type Member = (String, Json);

struct Writer<'a> {
    out: String,
    profile: Profile,
    /// The members of the objects being written, each object's sorted, the innermost object's last.
    sorted: Vec<&'a Member>,
}

impl<'a> Writer<'a> {
    fn new(profile: Profile) -> Self {
        Self { out: String::with_capacity(2048), profile, sorted: Vec::with_capacity(32) }
    }

    fn value(&mut self, value: &'a Json) -> Result<(), CanonicalError> {
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

    fn array(&mut self, items: &'a [Json]) -> Result<(), CanonicalError> {
        self.out.push('[');
        for (index, item) in items.iter().enumerate() {
            separate(&mut self.out, index);
            self.value(item)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn members(&mut self, members: impl Iterator<Item = &'a Member>) -> Result<(), CanonicalError> {
        let first = self.sorted.len();
        self.sorted.extend(members);
        let own = self.sorted.get_mut(first..).unwrap_or_default();
        let count = own.len();
        // Names are unique, so an unstable sort has one result.
        match self.profile {
            Profile::Jcs => own.sort_unstable_by(|left, right| utf16_order(&left.0, &right.0)),
            // UTF-8 sorts as its code points do, and so do Python's strings.
            Profile::Vrf | Profile::PyUtf8 | Profile::PyAscii => {
                own.sort_unstable_by(|left, right| left.0.cmp(&right.0))
            }
        }
        self.out.push('{');
        for index in 0..count {
            let Some((name, value)) = self.sorted.get(first + index).copied() else { break };
            separate(&mut self.out, index);
            self.string(name);
            self.out.push(':');
            self.value(value)?;
        }
        self.out.push('}');
        self.sorted.truncate(first);
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

/// RFC 8785, section 3.2.3. Differs from code point order where U+E000–U+FFFF meets what is beyond U+FFFF.
fn utf16_order(left: &str, right: &str) -> Ordering {
    left.encode_utf16().cmp(right.encode_utf16())
}
