//! Reads the fields of an object: every one known, of the right type, and errors that say where.

use super::error::{Cause, DocumentError, Place};
use crate::json::{Json, Object};

/// How alike an unknown field and a known one must be for the known one to be named, from 0 to 1.
const ALIKE: f64 = 0.5;

/// A JSON value and the place it stands at.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    /// The place, as in `verification.tests[3].input`; empty for the whole document.
    pub at: String,
    /// The value.
    pub json: &'a Json,
}

/// The fields of one object.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    at: String,
    object: &'a Object,
}

impl<'a> Fields<'a> {
    /// The value of a field, where it is there.
    pub fn get(&self, name: &str) -> Option<Field<'a>> {
        Some(Field { at: self.path(name), json: self.object.get(name)? })
    }

    /// The value of a field that must be there; `mend` says what to write.
    ///
    /// # Errors
    /// When it is not there.
    pub fn need(&self, name: &str, mend: &str) -> Result<Field<'a>, DocumentError> {
        self.get(name).ok_or_else(|| self.missing(name, mend))
    }

    /// The value of a field that has two spellings; both at once are an error.
    ///
    /// # Errors
    /// When both are there.
    pub fn either(&self, name: &str, other: &str) -> Result<Option<Field<'a>>, DocumentError> {
        one_of(self.get(name), self.get(other))
    }

    /// The members with their names, in document order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> + '_ {
        self.object.iter().map(|(name, json)| (name, Field { at: self.path(name), json }))
    }

    /// The error that a field is missing.
    pub fn missing(&self, name: &str, mend: &str) -> DocumentError {
        DocumentError::new(Place::Field(self.path(name)), Cause::MissingField, format!("the field is missing; {mend}"))
    }

    /// Refuses every field that is not among the known ones.
    ///
    /// # Errors
    /// Names the known field nearest to the unknown one.
    pub fn only(&self, known: &[&str]) -> Result<(), DocumentError> {
        match self.object.iter().find(|(name, _)| !known.contains(name)) {
            None => Ok(()),
            Some((name, _)) => {
                let place = Place::Field(self.path(&shown(name)));
                Err(DocumentError::new(place, Cause::UnknownField, format!("unknown field; {}", nearest(name, known))))
            }
        }
    }

    fn path(&self, name: &str) -> String {
        if self.at.is_empty() { name.to_owned() } else { format!("{}.{name}", self.at) }
    }
}

/// The one of two spellings that is there; both at once are an error.
///
/// # Errors
/// When both are there.
pub fn one_of<'a>(one: Option<Field<'a>>, other: Option<Field<'a>>) -> Result<Option<Field<'a>>, DocumentError> {
    match (one, other) {
        (Some(one), Some(other)) => {
            let message = format!("the same is given by `{}`; leave one of the two out", other.at);
            Err(one.error(Cause::ConflictingFields, message))
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

    /// The fields of the object this is.
    ///
    /// # Errors
    /// When it is none.
    pub fn fields(&self) -> Result<Fields<'a>, DocumentError> {
        let object = self.json.as_object().ok_or_else(|| self.wrong_type("an object"))?;
        Ok(Fields { at: self.at.clone(), object })
    }

    /// The items of an array, not yet given a place each.
    ///
    /// # Errors
    /// When it is something else.
    pub fn array(&self) -> Result<&'a [Json], DocumentError> {
        self.json.as_array().ok_or_else(|| self.wrong_type("an array"))
    }

    /// An item of the array this is.
    pub fn item(&self, index: usize, json: &'a Json) -> Field<'a> {
        Field { at: format!("{}[{index}]", self.at), json }
    }

    /// The items of the array this is, each with its place.
    ///
    /// # Errors
    /// When it is none.
    pub fn items(&self) -> Result<Vec<Field<'a>>, DocumentError> {
        Ok(self.array()?.iter().enumerate().map(|(index, json)| self.item(index, json)).collect())
    }

    /// The boolean this is.
    ///
    /// # Errors
    /// When it is none.
    pub fn boolean(&self) -> Result<bool, DocumentError> {
        self.json.as_bool().ok_or_else(|| self.wrong_type("`true` or `false`"))
    }

    /// The string this is.
    ///
    /// # Errors
    /// When it is none.
    pub fn text(&self) -> Result<&'a str, DocumentError> {
        self.json.as_str().ok_or_else(|| self.wrong_type("a string"))
    }

    /// An integer of 1 or more.
    ///
    /// # Errors
    /// When it is something else.
    pub fn positive(&self) -> Result<u64, DocumentError> {
        let number = self.json.as_number().ok_or_else(|| self.wrong_type("an integer"))?;
        number.as_u64().filter(|value| *value > 0).ok_or_else(|| {
            self.error(
                Cause::InvalidValue,
                format!(
                    "`{}` is no integer above 0 that fits 64 bits; write one, or leave the field out",
                    shown(number.as_str())
                ),
            )
        })
    }

    /// A finite number of 0 or more.
    ///
    /// # Errors
    /// When it is something else.
    pub fn distance(&self) -> Result<f64, DocumentError> {
        let number = self.json.as_number().ok_or_else(|| self.wrong_type("a number"))?;
        // A token of 400 digits is a number, but past every double.
        let value = number.as_str().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        value.ok_or_else(|| {
            let message = format!(
                "`{}` is no finite number of 0 or more; write one, or leave the field out",
                shown(number.as_str())
            );
            self.error(Cause::InvalidValue, message)
        })
    }

    /// One of a few words.
    ///
    /// # Errors
    /// When it is something else.
    pub fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, DocumentError> {
        let word = self.text()?;
        let found = choices.iter().find(|(name, _)| *name == word);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
            self.error(
                Cause::InvalidValue,
                format!("`{}` is none of {}; write one of them", shown(word), names.join(", ")),
            )
        })
    }

    /// The error that this is of another type than `wanted`.
    pub fn wrong_type(&self, wanted: &str) -> DocumentError {
        self.error(Cause::WrongType, format!("found {}; write {wanted}", self.json.type_name()))
    }
}

/// A word somebody wrote, fit to stand in a message: no control characters, 64 characters at most.
pub fn shown(word: &str) -> String {
    const MAX_CHARS: usize = 64;
    let mut escaped = String::new();
    for char in word.chars().take(MAX_CHARS) {
        match char.is_control() {
            true => escaped.extend(char.escape_default()),
            false => escaped.push(char),
        }
    }
    if word.chars().nth(MAX_CHARS).is_some() {
        escaped.push('…');
    }
    escaped
}

fn nearest(name: &str, known: &[&str]) -> String {
    // The distance is quadratic in the length, and no field is this long.
    let name: String = name.chars().take(64).collect();
    let alike = |other: &&str| strsim::normalized_damerau_levenshtein(&name, other);
    let best = known.iter().max_by(|left, right| alike(left).total_cmp(&alike(right)));
    match best {
        Some(best) if alike(best) >= ALIKE => format!("did you mean `{best}`?"),
        Some(_) | None => format!("the fields here are `{}`", known.join("`, `")),
    }
}
