//! Which tools change something.

use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::{Json, Object};

use crate::vocabulary;
use crate::workflow::Class;
use proofmark_evidence::glob;

/// The names of tools, with `*` for any characters, that change something and that do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolClasses {
    /// Those that change something.
    pub mutating: Vec<String>,
    /// Those that only read.
    pub readonly: Vec<String>,
}

impl ToolClasses {
    /// What a tool does: it reads only where it is declared to and nothing says it changes something.
    pub fn class_of(&self, tool: &str) -> Class {
        match (self.is_mutating(tool), self.is_readonly(tool)) {
            (false, true) => Class::Readonly,
            (true, true | false) | (false, false) => Class::Mutating,
        }
    }

    /// Whether the tool is declared to change something.
    pub fn is_mutating(&self, tool: &str) -> bool {
        self.mutating.iter().any(|pattern| glob::matches(pattern, tool))
    }

    /// Whether the tool is declared to read only.
    pub fn is_readonly(&self, tool: &str) -> bool {
        self.readonly.iter().any(|pattern| glob::matches(pattern, tool))
    }

    pub(crate) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::TOOLS)?;
        let list = |name: &str| fields.get(name).map_or(Ok(Vec::new()), |field| names(&field));
        Ok(Self { mutating: list("mutating")?, readonly: list("readonly")? })
    }

    /// Both together; what either calls mutating is.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let both = |left: &[String], right: &[String]| [left, right].concat();
        Self { mutating: both(&self.mutating, &other.mutating), readonly: both(&self.readonly, &other.readonly) }
    }

    pub(crate) fn to_json(&self) -> Json {
        let list = |names: &[String]| names.iter().map(|name| Json::from(name.as_str())).collect::<Vec<_>>();
        let mut object = Object::new();
        object.insert("mutating", list(&self.mutating));
        object.insert("readonly", list(&self.readonly));
        object.into()
    }
}

/// A list of words, none of them empty.
pub(crate) fn names(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    const MAX_NAMES: usize = 1_000;
    let items = field.items()?;
    if items.len() > MAX_NAMES {
        let message = format!("{} names are more than the {MAX_NAMES} it may have; use `*`", items.len());
        return Err(field.error(Cause::TooMany, message));
    }
    items.iter().map(word).collect()
}

/// A word that is not empty.
pub(crate) fn word(field: &Field<'_>) -> Result<String, DocumentError> {
    match field.text()? {
        "" => Err(field.error(Cause::Empty, "the text is empty; write a word, or leave the field out")),
        text => Ok(text.to_owned()),
    }
}
