//! What is recorded of a result: which of its values got which label.

use proofmark_receipt::{Json, Object, Sha256Digest, object};

use crate::normal::normal;

/// The most values of one result that are recorded. A result with more is one of which not everything is known.
pub const MAX_SEEN_VALUES: usize = 4_096;
/// The most text of one result in which words are looked for, in bytes.
pub const MAX_WITHIN_BYTES: usize = 64 << 10;

/// The labels of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenResult {
    pub values: Vec<SeenValue>,
    pub texts: Vec<SeenText>,
    /// Whether some of what it says has no label that the policy calls clean.
    pub unknown: bool,
}

/// A value, by its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenValue {
    /// `None` for a value that no rule vouches for.
    pub label: Option<String>,
    /// Its place in the result, as in `$.items[2].name`.
    pub path: String,
    /// [`value_digest`] of it.
    pub digest: u128,
}

/// A text that a rule vouches for as a whole, so that words within it count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenText {
    pub label: String,
    pub path: String,
    pub text: String,
}

/// The digest by which values are compared: the first 16 bytes of SHA-256 of [`normal`].
#[must_use]
pub fn value_digest(value: &str) -> u128 {
    let digest = Sha256Digest::of(normal(value).as_bytes());
    digest.as_bytes().iter().take(16).fold(0, |number, byte| (number << 8) | u128::from(*byte))
}

impl SeenResult {
    /// As the entry of a session has it: `values` as `[label, path, digest]`, `texts` as `[label, path, text]`.
    #[must_use]
    pub fn to_object(&self) -> Object {
        let text = |text: &str| Json::from(text);
        let label = |label: &Option<String>| label.as_deref().map_or(Json::Null, text);
        let values = self.values.iter();
        let values = values.map(|value| {
            Json::from(vec![label(&value.label), text(&value.path), text(&format!("{:032x}", value.digest))])
        });
        let texts =
            self.texts.iter().map(|seen| Json::from(vec![text(&seen.label), text(&seen.path), text(&seen.text)]));
        object! {
            "unknown": self.unknown,
            "values": values.collect::<Vec<_>>(),
            "texts": texts.collect::<Vec<_>>(),
        }
    }

    /// Reads what [`SeenResult::to_object`] writes. What is not understood makes the result unknown.
    #[must_use]
    pub fn from_object(object: &Object) -> Self {
        let mut seen =
            Self { unknown: object.get("unknown").and_then(Json::as_bool) != Some(false), ..Self::default() };
        let rows = |name: &str| object.get(name).and_then(Json::as_array).unwrap_or_default();
        for row in rows("values") {
            match value_of(row) {
                Some(value) => seen.values.push(value),
                None => seen.unknown = true,
            }
        }
        for row in rows("texts") {
            match text_of(row) {
                Some(text) => seen.texts.push(text),
                None => seen.unknown = true,
            }
        }
        seen
    }
}

fn value_of(row: &Json) -> Option<SeenValue> {
    let [label, path, digest] = row.as_array()? else { return None };
    let label = if label.is_null() { None } else { Some(label.as_str()?.to_owned()) };
    let digest = digest.as_str().filter(|hex| hex.len() == 32)?;
    Some(SeenValue { label, path: path.as_str()?.to_owned(), digest: u128::from_str_radix(digest, 16).ok()? })
}

fn text_of(row: &Json) -> Option<SeenText> {
    let [label, path, text] = row.as_array()? else { return None };
    Some(SeenText {
        label: label.as_str()?.to_owned(),
        path: path.as_str()?.to_owned(),
        text: text.as_str()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let seen = SeenResult {
            values: vec![
                SeenValue { label: Some("own".to_owned()), path: "$.a".to_owned(), digest: value_digest("x") },
                SeenValue { label: None, path: "$.b".to_owned(), digest: 7 },
            ],
            texts: vec![SeenText { label: "own".to_owned(), path: "$".to_owned(), text: "a b".to_owned() }],
            unknown: false,
        };
        assert_eq!(SeenResult::from_object(&seen.to_object()), seen);
        assert!(SeenResult::from_object(&Object::new()).unknown);
        let mut damaged = seen.to_object();
        damaged.insert("values", vec![Json::from("x")]);
        assert!(SeenResult::from_object(&damaged).unknown);
    }
}
