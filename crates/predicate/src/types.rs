//! The types expressions have while they are checked.

use std::fmt;

use crate::schema::{FieldType, Schema};
use crate::value::{TypeName, Value};

/// What is known of the type of an expression. Elements are known where a schema tells them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Type<'s> {
    Any,
    Null,
    Bool,
    Number,
    String,
    OneOf(&'s FieldType),
    Bytes,
    List(Option<&'s FieldType>),
    Map(Option<&'s FieldType>),
    Object(&'s Schema),
    Timestamp,
    Duration,
    Denotation,
}

/// Types that can be compared with one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Null,
    Bool,
    Number,
    String,
    Bytes,
    List,
    Map,
    Timestamp,
    Duration,
    Type,
}

impl Class {
    pub(crate) fn of_type(name: TypeName) -> Self {
        match name {
            TypeName::Null => Self::Null,
            TypeName::Bool => Self::Bool,
            TypeName::Int | TypeName::UInt | TypeName::Decimal => Self::Number,
            TypeName::String => Self::String,
            TypeName::Bytes => Self::Bytes,
            TypeName::List => Self::List,
            TypeName::Map => Self::Map,
            TypeName::Timestamp => Self::Timestamp,
            TypeName::Duration => Self::Duration,
            TypeName::Type => Self::Type,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Bool => "a bool",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Bytes => "bytes",
            Self::List => "a list",
            Self::Map => "a map",
            Self::Timestamp => "a timestamp",
            Self::Duration => "a duration",
            Self::Type => "the name of a type",
        })
    }
}

impl<'s> Type<'s> {
    pub(crate) fn of_field(field: &'s FieldType) -> Self {
        match field {
            FieldType::Any => Self::Any,
            FieldType::Bool => Self::Bool,
            FieldType::Int | FieldType::Number => Self::Number,
            FieldType::String => Self::String,
            FieldType::OneOf(_) => Self::OneOf(field),
            FieldType::List(of) => Self::List(Some(of)),
            FieldType::Map(of) => Self::Map(Some(of)),
            FieldType::Object(schema) => Self::Object(schema),
        }
    }

    pub(crate) fn of_value(value: &Value) -> Self {
        match value.type_name() {
            TypeName::Null => Self::Null,
            TypeName::Bool => Self::Bool,
            TypeName::Int | TypeName::UInt | TypeName::Decimal => Self::Number,
            TypeName::String => Self::String,
            TypeName::Bytes => Self::Bytes,
            TypeName::List => Self::List(None),
            TypeName::Map => Self::Map(None),
            TypeName::Timestamp => Self::Timestamp,
            TypeName::Duration => Self::Duration,
            TypeName::Type => Self::Denotation,
        }
    }

    /// The type of an element, where it is known.
    pub(crate) fn element(field: Option<&'s FieldType>) -> Self {
        field.map_or(Self::Any, Self::of_field)
    }

    pub(crate) fn class(self) -> Option<Class> {
        Some(match self {
            Self::Any => return None,
            Self::Null => Class::Null,
            Self::Bool => Class::Bool,
            Self::Number => Class::Number,
            Self::String | Self::OneOf(_) => Class::String,
            Self::Bytes => Class::Bytes,
            Self::List(_) => Class::List,
            Self::Map(_) | Self::Object(_) => Class::Map,
            Self::Timestamp => Class::Timestamp,
            Self::Duration => Class::Duration,
            Self::Denotation => Class::Type,
        })
    }
}
