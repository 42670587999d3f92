//! Which tools change something.

use proofmark_evidence::glob;
use proofmark_receipt::document::{DocumentError, Field};
use proofmark_receipt::{Json, object};

use crate::class::Class;
use crate::{read, vocabulary};

/// Which tools change something, by globs over their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolClasses {
    pub mutating: Vec<String>,
    pub readonly: Vec<String>,
}

impl ToolClasses {
    /// The class of a tool: readonly where it is declared so and not also declared mutating. An undeclared tool counts as
    /// mutating.
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
        let list = |name: &str| fields.get(name).map_or(Ok(Vec::new()), |field| read::names(&field));
        Ok(Self { mutating: list("mutating")?, readonly: list("readonly")? })
    }

    /// The declarations of both. What either calls mutating is mutating.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let both = |left: &[String], right: &[String]| [left, right].concat();
        Self { mutating: both(&self.mutating, &other.mutating), readonly: both(&self.readonly, &other.readonly) }
    }

    pub(crate) fn to_json(&self) -> Json {
        let list = |names: &[String]| names.iter().map(|name| Json::from(name.as_str())).collect::<Vec<_>>();
        object! { "mutating": list(&self.mutating), "readonly": list(&self.readonly) }.into()
    }
}
