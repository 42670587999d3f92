//! Values as PostgreSQL's types.

use tokio_postgres::types::{ToSql, Type};

use crate::fault::Fault;
use crate::table;
use crate::value::Value;

/// A value that a statement is given.
pub(crate) type Bound = Box<dyn ToSql + Sync + Send>;

/// The types of columns that the store has, and of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Truth,
    Short,
    Medium,
    Integer,
    Text,
    Bytes,
}

impl Kind {
    /// The kind of a parameter.
    ///
    /// # Errors
    /// [`Fault`] for a type that no value has.
    pub(crate) fn of(kind: &Type) -> Result<Self, Fault> {
        Ok(match *kind {
            Type::BOOL => Self::Truth,
            Type::INT2 => Self::Short,
            Type::INT4 => Self::Medium,
            Type::INT8 => Self::Integer,
            Type::TEXT | Type::VARCHAR | Type::UNKNOWN | Type::NAME | Type::BPCHAR => Self::Text,
            Type::BYTEA => Self::Bytes,
            // A statement that takes another type met another schema than that of this version.
            ref other => return Err(Fault::Changed(format!("a parameter has the type `{}`", other.name()))),
        })
    }

    /// The kind of a column's values.
    pub(crate) fn of_column(kind: table::Kind) -> Self {
        match kind {
            table::Kind::Truth => Self::Truth,
            table::Kind::Integer => Self::Integer,
            table::Kind::Text => Self::Text,
            table::Kind::Bytes => Self::Bytes,
        }
    }

    /// The name of the type of arrays of it.
    pub(crate) fn array(self) -> &'static str {
        match self {
            Self::Truth => "boolean[]",
            Self::Short => "smallint[]",
            Self::Medium => "integer[]",
            Self::Integer => "bigint[]",
            Self::Text => "text[]",
            Self::Bytes => "bytea[]",
        }
    }

    /// One value of this type.
    ///
    /// # Errors
    /// [`Fault`] for a value of another type.
    pub(crate) fn bind(self, value: Value) -> Result<Bound, Fault> {
        Ok(match self {
            Self::Truth => Box::new(truth(value)?),
            Self::Short => Box::new(number::<i16>(value)?),
            Self::Medium => Box::new(number::<i32>(value)?),
            Self::Integer => Box::new(number::<i64>(value)?),
            Self::Text => Box::new(text(value)?),
            Self::Bytes => Box::new(bytes(value)?),
        })
    }

    /// Many values of this type, as an array.
    ///
    /// # Errors
    /// As [`Kind::bind`].
    pub(crate) fn bind_all(self, values: Vec<Value>) -> Result<Bound, Fault> {
        fn all<T>(values: Vec<Value>, one: impl Fn(Value) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
            values.into_iter().map(one).collect()
        }
        Ok(match self {
            Self::Truth => Box::new(all(values, truth)?),
            Self::Short => Box::new(all(values, number::<i16>)?),
            Self::Medium => Box::new(all(values, number::<i32>)?),
            Self::Integer => Box::new(all(values, number::<i64>)?),
            Self::Text => Box::new(all(values, text)?),
            Self::Bytes => Box::new(all(values, bytes)?),
        })
    }
}

fn truth(value: Value) -> Result<Option<bool>, Fault> {
    match value {
        Value::Null => Ok(None),
        Value::Integer(0) => Ok(Some(false)),
        Value::Integer(1) => Ok(Some(true)),
        _ => Err(unfit()),
    }
}

fn number<T: TryFrom<i64>>(value: Value) -> Result<Option<T>, Fault> {
    match value {
        Value::Null => Ok(None),
        Value::Integer(number) => T::try_from(number).map(Some).map_err(|_| unfit()),
        _ => Err(unfit()),
    }
}

fn text(value: Value) -> Result<Option<String>, Fault> {
    match value {
        Value::Null => Ok(None),
        Value::Text(text) => Ok(Some(text)),
        _ => Err(unfit()),
    }
}

fn bytes(value: Value) -> Result<Option<Vec<u8>>, Fault> {
    match value {
        Value::Null => Ok(None),
        Value::Bytes(bytes) => Ok(Some(bytes)),
        _ => Err(unfit()),
    }
}

fn unfit() -> Fault {
    Fault::Changed("a value does not have the type of its parameter".to_owned())
}
