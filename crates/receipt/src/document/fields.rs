//! Reads the fields of an object: each one known and of the right type, with errors that say where.

use super::error::{Cause, DocumentError, Place};
use crate::json::{Json, Object};
use crate::shown;

/// How similar a known name must be to an unknown one to be suggested, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.5;

/// How much of a name [`nearest`] compares: its cost is quadratic in the length.
const MAX_COMPARED_CHARS: usize = 64;

/// A JSON value and its place.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    /// The place, as in `verification.tests[3].input`; empty for the whole document.
    pub at: String,
    pub json: &'a Json,
}

/// The fields of one object.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    at: String,
    object: &'a Object,
}

impl<'a> Fields<'a> {
    /// The field `name`, if the document has it.
    pub fn get(&self, name: &str) -> Option<Field<'a>> {
        Some(Field { at: self.path(name), json: self.object.get(name)? })
    }

    /// A required field. `help` says what to write if it is missing.
    ///
    /// # Errors
    /// [`Cause::MissingField`].
    pub fn need(&self, name: &str, help: &str) -> Result<Field<'a>, DocumentError> {
        self.get(name).ok_or_else(|| self.missing(name, help))
    }

    /// A field that has two spellings.
    ///
    /// # Errors
    /// [`Cause::ConflictingFields`] when both are given.
    pub fn either(&self, name: &str, other: &str) -> Result<Option<Field<'a>>, DocumentError> {
        one_of(self.get(name), self.get(other))
    }

    /// The members with their names, in document order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> + '_ {
        self.object.iter().map(|(name, json)| (name, Field { at: self.path(name), json }))
    }

    /// The error for a missing field. `help` says what to write.
    pub fn missing(&self, name: &str, help: &str) -> DocumentError {
        DocumentError::new(Place::Field(self.path(name)), Cause::MissingField, "missing field").with_help(help)
    }

    /// Refuses every field that is not in `known`.
    ///
    /// # Errors
    /// [`Cause::UnknownField`]; the help suggests the nearest known field.
    pub fn only(&self, known: &[&str]) -> Result<(), DocumentError> {
        match self.object.iter().find(|(name, _)| !known.contains(name)) {
            None => Ok(()),
            Some((name, _)) => {
                let place = Place::Field(self.path(&shown(name)));
                let help = match nearest(name, known) {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => format!("known fields here are `{}`", known.join("`, `")),
                };
                Err(DocumentError::new(place, Cause::UnknownField, "unknown field").with_help(help))
            }
        }
    }

    fn path(&self, name: &str) -> String {
        if self.at.is_empty() { name.to_owned() } else { format!("{}.{name}", self.at) }
    }
}

/// The one of two spellings that is given.
///
/// # Errors
/// [`Cause::ConflictingFields`] when both are.
pub fn one_of<'a>(one: Option<Field<'a>>, other: Option<Field<'a>>) -> Result<Option<Field<'a>>, DocumentError> {
    match (one, other) {
        (Some(one), Some(other)) => {
            let error = one.error(Cause::ConflictingFields, format!("`{}` says the same", other.at));
            Err(error.with_help("leave one of the two out"))
        }
        (Some(field), None) | (None, Some(field)) => Ok(Some(field)),
        (None, None) => Ok(None),
    }
}

impl<'a> Field<'a> {
    /// An error at this place.
    pub fn error(&self, cause: Cause, message: impl Into<String>) -> DocumentError {
        let place = if self.at.is_empty() { Place::Whole } else { Place::Field(self.at.clone()) };
        DocumentError::new(place, cause, message)
    }

    /// The document as a whole.
    pub fn root(json: &'a Json) -> Self {
        Self { at: String::new(), json }
    }

    /// # Errors
    /// [`Cause::WrongType`] when this is not an object.
    pub fn fields(&self) -> Result<Fields<'a>, DocumentError> {
        let object = self.json.as_object().ok_or_else(|| self.wrong_type("an object"))?;
        Ok(Fields { at: self.at.clone(), object })
    }

    /// The items of an array, without their places: [`Field::item`] makes the place of one.
    ///
    /// # Errors
    /// [`Cause::WrongType`] when this is not an array.
    pub fn array(&self) -> Result<&'a [Json], DocumentError> {
        self.json.as_array().ok_or_else(|| self.wrong_type("an array"))
    }

    /// The item `json` at `index` of this array.
    pub fn item(&self, index: usize, json: &'a Json) -> Field<'a> {
        Field { at: format!("{}[{index}]", self.at), json }
    }

    /// The items of an array, each with its place.
    ///
    /// # Errors
    /// [`Cause::WrongType`] when this is not an array.
    pub fn items(&self) -> Result<Vec<Field<'a>>, DocumentError> {
        Ok(self.array()?.iter().enumerate().map(|(index, json)| self.item(index, json)).collect())
    }

    /// # Errors
    /// [`Cause::WrongType`] when this is not a boolean.
    pub fn boolean(&self) -> Result<bool, DocumentError> {
        self.json.as_bool().ok_or_else(|| self.wrong_type("`true` or `false`"))
    }

    /// # Errors
    /// [`Cause::WrongType`] when this is not a string.
    pub fn text(&self) -> Result<&'a str, DocumentError> {
        self.json.as_str().ok_or_else(|| self.wrong_type("a string"))
    }

    /// An integer from 1 to 2^64−1.
    ///
    /// # Errors
    /// [`Cause::WrongType`] or [`Cause::InvalidValue`].
    pub fn positive(&self) -> Result<u64, DocumentError> {
        let number = self.json.as_number().ok_or_else(|| self.wrong_type("an integer"))?;
        number.as_u64().filter(|value| *value > 0).ok_or_else(|| {
            let message = format!("`{}` is not an integer from 1 to 2^64−1", shown(number.as_str()));
            self.error(Cause::InvalidValue, message).with_help("write such an integer, or leave the field out")
        })
    }

    /// A finite number of 0 or more.
    ///
    /// # Errors
    /// [`Cause::WrongType`] or [`Cause::InvalidValue`].
    pub fn distance(&self) -> Result<f64, DocumentError> {
        let number = self.json.as_number().ok_or_else(|| self.wrong_type("a number"))?;
        // `as_f64` gives no infinity: an infinite tolerance would let every answer pass.
        number.as_f64().filter(|value| *value >= 0.0).ok_or_else(|| {
            let message = format!("`{}` is not a finite number of 0 or more", shown(number.as_str()));
            self.error(Cause::InvalidValue, message).with_help("write such a number, or leave the field out")
        })
    }

    /// One of a few words.
    ///
    /// # Errors
    /// [`Cause::WrongType`] or [`Cause::InvalidValue`].
    pub fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, DocumentError> {
        let word = self.text()?;
        let choice = choices.iter().find(|(name, _)| *name == word);
        choice.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
            let error = self.error(Cause::InvalidValue, format!("unknown value `{}`", shown(word)));
            error.with_help(format!("write one of {}", names.join(", ")))
        })
    }

    /// The error that this is not `expected`, a type with its article: `an array`.
    pub fn wrong_type(&self, expected: &str) -> DocumentError {
        let message = format!("expected {expected}, found {}", self.json.type_name());
        self.error(Cause::WrongType, message).with_help(format!("write {expected}"))
    }
}

/// The name in `known` that is most similar to `name`, unless none is similar enough to be what was meant.
pub fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let name: String = name.chars().take(MAX_COMPARED_CHARS).collect();
    let similarity = |other: &str| strsim::normalized_damerau_levenshtein(&name, other);
    let best = known.iter().map(|other| (similarity(other), *other)).max_by(|left, right| left.0.total_cmp(&right.0));
    best.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY).map(|(_, name)| name)
}
