//! Reads the members of one object, naming the place of what is missing or of the wrong type.

use crate::digest::Sha256Digest;
use crate::error::ReceiptError;
use crate::json::{Json, Number, Object};
use crate::shown;
use crate::timestamp::Timestamp;

/// One object of a document and its place.
pub(crate) struct Members<'a> {
    object: &'a Object,
    /// The names that lead here, innermost last; they become text only for an error, since receipts are read often.
    path: [&'static str; 2],
    index: Option<usize>,
}

impl<'a> Members<'a> {
    pub(crate) fn of(object: &'a Object) -> Self {
        Self { object, path: [""; 2], index: None }
    }

    pub(crate) fn top(document: &'a Json) -> Result<Self, ReceiptError> {
        match document {
            Json::Object(object) => Ok(Self::of(object)),
            other => Err(ReceiptError::WrongType {
                field: "document".to_owned(),
                expected: "an object",
                found: other.type_name(),
            }),
        }
    }

    pub(crate) fn object(&self, name: &'static str) -> Result<Self, ReceiptError> {
        self.required(name, self.optional_object(name)?)
    }

    pub(crate) fn optional_object(&self, name: &'static str) -> Result<Option<Self>, ReceiptError> {
        match self.object.get(name) {
            None => Ok(None),
            Some(Json::Object(object)) => Ok(Some(Self { object, path: self.below(name), index: None })),
            Some(other) => Err(self.wrong_type(name, "an object", other)),
        }
    }

    /// Refuses members other than `names`.
    pub(crate) fn only(&self, names: &[&str]) -> Result<(), ReceiptError> {
        match self.object.iter().find(|(name, _)| !names.contains(name)) {
            None => Ok(()),
            Some((name, _)) => Err(ReceiptError::UnsignedMember { field: self.place(name) }),
        }
    }

    pub(crate) fn array(&self, name: &'static str) -> Result<&'a [Json], ReceiptError> {
        match self.required(name, self.object.get(name))? {
            Json::Array(items) => Ok(items),
            other => Err(self.wrong_type(name, "an array", other)),
        }
    }

    /// The object `item`, which is number `index` of the array `name`.
    pub(crate) fn item(&self, name: &'static str, index: usize, item: &'a Json) -> Result<Self, ReceiptError> {
        match item {
            Json::Object(object) => Ok(Self { object, path: self.below(name), index: Some(index) }),
            other => Err(self.wrong_type(&format!("{name}[{index}]"), "an object", other)),
        }
    }

    pub(crate) fn string(&self, name: &str) -> Result<&'a str, ReceiptError> {
        match self.required(name, self.object.get(name))? {
            Json::String(text) => Ok(text),
            other => Err(self.wrong_type(name, "a string", other)),
        }
    }

    pub(crate) fn optional_string(&self, name: &str) -> Result<Option<String>, ReceiptError> {
        if self.object.contains(name) { self.string(name).map(|text| Some(text.to_owned())) } else { Ok(None) }
    }

    pub(crate) fn number(&self, name: &str) -> Result<&'a Number, ReceiptError> {
        match self.required(name, self.object.get(name))? {
            Json::Number(number) => Ok(number),
            other => Err(self.wrong_type(name, "an integer", other)),
        }
    }

    pub(crate) fn count(&self, name: &str) -> Result<u64, ReceiptError> {
        let number = self.number(name)?;
        // Some readers give `1.0` as a float: counts are written as integers (`docs/receipts.md`, "Fields").
        if !number.is_integer() {
            return Err(ReceiptError::WrongType {
                field: self.place(name),
                expected: "an integer",
                found: "number with a fraction or exponent",
            });
        }
        number
            .as_u64()
            .ok_or_else(|| ReceiptError::CountOutOfRange { field: self.place(name), found: shown(number.as_str()) })
    }

    pub(crate) fn optional_count(&self, name: &str) -> Result<Option<u64>, ReceiptError> {
        if self.object.contains(name) { self.count(name).map(Some) } else { Ok(None) }
    }

    pub(crate) fn digest(&self, name: &str) -> Result<Sha256Digest, ReceiptError> {
        self.string(name)?.parse().map_err(|error| ReceiptError::Hash { field: self.place(name), error })
    }

    pub(crate) fn optional_digest(&self, name: &str) -> Result<Option<Sha256Digest>, ReceiptError> {
        if self.object.contains(name) { self.digest(name).map(Some) } else { Ok(None) }
    }

    pub(crate) fn timestamp(&self, name: &str) -> Result<Timestamp, ReceiptError> {
        self.string(name)?.parse().map_err(|error| ReceiptError::Timestamp { field: self.place(name), error })
    }

    /// The place of member `name`, as in `results.details[2].name`.
    pub(crate) fn place(&self, name: &str) -> String {
        let mut place: String = self.path.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(".");
        if let Some(index) = self.index {
            place.push_str(&format!("[{index}]"));
        }
        if !place.is_empty() {
            place.push('.');
        }
        place + name
    }

    fn below(&self, name: &'static str) -> [&'static str; 2] {
        // Two names suffice: no format read here nests deeper than `results.details[]`.
        let [_, last] = self.path;
        [last, name]
    }

    fn required<T>(&self, name: &str, value: Option<T>) -> Result<T, ReceiptError> {
        value.ok_or_else(|| ReceiptError::MissingField { field: self.place(name) })
    }

    fn wrong_type(&self, name: &str, expected: &'static str, found: &Json) -> ReceiptError {
        ReceiptError::WrongType { field: self.place(name), expected, found: found.type_name() }
    }
}
