//! Values of statements and of rows, the same for both engines.

use proofmark_receipt::document::shown;
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

/// A value that a statement is given. Truth values are the integers 0 and 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// The values of a statement, each made by [`Value::from`] of a reference.
macro_rules! values {
    ($($value:expr),* $(,)?) => { [$($crate::value::Value::from($value)),*] };
}
pub(crate) use values;

impl Value {
    /// Numbers, for [`crate::engine::db::Db::among`].
    pub(crate) fn numbers(numbers: &[i64]) -> Self {
        // One text, so that one statement serves lists of every length, and is prepared once.
        Self::Text(numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(","))
    }

    /// It in a message: hex digits of bytes, and text escaped and cut short.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Integer(number) => number.to_string(),
            Self::Text(text) => format!("`{}`", shown(text)),
            Self::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }

    /// How many bytes of it are text or bytes.
    pub(crate) fn length(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) => 0,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// About how many bytes it takes in memory.
    pub(crate) fn size(&self) -> usize {
        self.length().max(8)
    }

    /// Whether it is text that PostgreSQL cannot store. No store takes it, because any can be copied into a database.
    pub(crate) fn has_nul(&self) -> bool {
        matches!(self, Self::Text(text) if text.contains('\0'))
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl From<rusqlite::types::Value> for Value {
    fn from(value: rusqlite::types::Value) -> Self {
        match value {
            rusqlite::types::Value::Integer(number) => Self::Integer(number),
            rusqlite::types::Value::Text(text) => Self::Text(text),
            rusqlite::types::Value::Blob(bytes) => Self::Bytes(bytes),
            // No column is a number with a fraction.
            rusqlite::types::Value::Null | rusqlite::types::Value::Real(_) => Self::Null,
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

/// A number that is too large for a column is larger than any in one.
impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u8> for Value {
    fn from(number: u8) -> Self {
        Self::Integer(number.into())
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Integer(truth.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_owned())
    }
}

impl<const N: usize> From<&[u8; N]> for Value {
    fn from(bytes: &[u8; N]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<&Option<String>> for Value {
    fn from(text: &Option<String>) -> Self {
        text.as_deref().into()
    }
}
