//! The values predicates read and produce. Cloning is cheap: long ones are shared.

use std::sync::Arc;

mod map;

pub use map::{Key, Map};

use crate::decimal::{Decimal, NumberError};
use crate::time::{Duration, Timestamp};

/// A fact, or the value of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// An unsigned 64-bit integer; only literals such as `1u` and `uint()` make one.
    UInt(u64),
    Decimal(Decimal),
    String(Arc<str>),
    /// Bytes; only literals such as `b'…'` and `bytes()` make them.
    Bytes(Arc<[u8]>),
    List(Arc<[Value]>),
    /// A map; a JSON object is a map whose keys are strings.
    Map(Map),
    /// A point in time, made by `timestamp()`.
    Timestamp(Timestamp),
    /// A span of time, made by `duration()`.
    Duration(Duration),
    /// The type of a value, as `type()` gives it.
    Type(TypeName),
}

/// The types that `type()` distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeName {
    Null,
    Bool,
    Int,
    UInt,
    /// `double`, as in CEL, or `decimal`.
    Decimal,
    String,
    Bytes,
    List,
    Map,
    Timestamp,
    Duration,
    Type,
}

impl TypeName {
    /// The name as error messages show it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::UInt => "uint",
            Self::Decimal => "decimal",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::List => "list",
            Self::Map => "map",
            Self::Timestamp => "timestamp",
            Self::Duration => "duration",
            Self::Type => "type",
        }
    }

    /// The type a bare name in an expression denotes.
    pub(crate) fn denoted_by(name: &str) -> Option<Self> {
        Some(match name {
            "null_type" => Self::Null,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "uint" => Self::UInt,
            "double" | "decimal" => Self::Decimal,
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "list" => Self::List,
            "map" => Self::Map,
            "type" => Self::Type,
            _ => return None,
        })
    }
}

impl Value {
    /// The value of a JSON number token: an integer if it is written as one and fits 64 bits,
    /// else an exact decimal.
    ///
    /// # Errors
    /// [`NumberError`] when the number cannot be held exactly.
    pub fn number(token: &str) -> Result<Self, NumberError> {
        match token.parse() {
            Ok(integer) => Ok(Self::Int(integer)),
            // An integer past 64 bits becomes a decimal too, which is exact to 34 digits; a double would round it.
            Err(_) => token.parse().map(Self::Decimal),
        }
    }

    /// The type of this value.
    #[must_use]
    pub fn type_name(&self) -> TypeName {
        match self {
            Self::Null => TypeName::Null,
            Self::Bool(_) => TypeName::Bool,
            Self::Int(_) => TypeName::Int,
            Self::UInt(_) => TypeName::UInt,
            Self::Decimal(_) => TypeName::Decimal,
            Self::String(_) => TypeName::String,
            Self::Bytes(_) => TypeName::Bytes,
            Self::List(_) => TypeName::List,
            Self::Map(_) => TypeName::Map,
            Self::Timestamp(_) => TypeName::Timestamp,
            Self::Duration(_) => TypeName::Duration,
            Self::Type(_) => TypeName::Type,
        }
    }

    /// The member `name` of a map.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(map) => map.get_str(name),
            _ => None,
        }
    }

    /// The number as an integer, if it is one: `1`, `1u` and `1.0` are.
    pub(crate) fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(i128::from(*value)),
            Self::UInt(value) => Some(i128::from(*value)),
            Self::Decimal(value) => value.to_integer(),
            _ => None,
        }
    }

    pub(crate) fn as_decimal(&self) -> Option<Decimal> {
        match self {
            Self::Int(value) => Some(Decimal::from(*value)),
            Self::UInt(value) => Some(Decimal::from(*value)),
            Self::Decimal(value) => Some(*value),
            _ => None,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<Decimal> for Value {
    fn from(value: Decimal) -> Self {
        Self::Decimal(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(Arc::from(value))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(Arc::from(value))
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::List(Arc::from(items))
    }
}

impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Self::List(items.into_iter().collect())
    }
}

impl<K: Into<Arc<str>>> FromIterator<(K, Value)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(entries: I) -> Self {
        let keyed = entries.into_iter().map(|(k, v)| (Key::String(k.into()), v));
        Self::Map(Map::from_entries(keyed.collect()))
    }
}
