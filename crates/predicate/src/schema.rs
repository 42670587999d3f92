//! The declared names and types of facts.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The names and types of facts, or of the fields of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schema {
    fields: BTreeMap<Arc<str>, FieldType>,
}

/// The type of a fact. A declared fact may still be absent or null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldType {
    /// Nothing is checked at load.
    Any,
    Bool,
    Int,
    /// An integer or a decimal.
    Number,
    String,
    /// One of these texts; a comparison with another one is an error at load.
    OneOf(Vec<Arc<str>>),
    List(Box<FieldType>),
    /// A map from any names to values of one type.
    Map(Box<FieldType>),
    /// A map with known names.
    Object(Schema),
}

impl Schema {
    /// The type declared under a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&FieldType> {
        self.fields.get(name)
    }

    /// The declared names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(|name| &**name)
    }
}

impl<N: Into<Arc<str>>> FromIterator<(N, FieldType)> for Schema {
    fn from_iter<I: IntoIterator<Item = (N, FieldType)>>(fields: I) -> Self {
        let fields = fields.into_iter().map(|(name, of)| (name.into(), of));
        Self { fields: fields.collect() }
    }
}
