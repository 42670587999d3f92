//! Rows of answers, the same for both engines.

use proofmark_receipt::ReceiptId;
use tokio_postgres::types::Type;

use crate::fault::Fault;
use crate::value::Value;

/// A row of an answer. Columns are read by their position, from 0; all those of a table by their names
/// ([`crate::table::Table::fields`]).
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
    Record(&'r Record),
}

/// A row of an answer to a [`crate::statement::Question`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record(pub(crate) Vec<Value>);

/// What a column of a row holds. Truth values are the integers 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'r> {
    Null,
    Integer(i64),
    Text(&'r str),
    Bytes(&'r [u8]),
}

/// A type that a column can be read as.
pub(crate) trait Readable: Sized {
    /// None where the cell holds something else.
    fn of(cell: Cell<'_>) -> Option<Self>;
}

impl Row<'_> {
    pub(crate) fn cell(&self, column: usize) -> Result<Cell<'_>, Fault> {
        match self {
            Self::Sqlite(row) => match row.get_ref(column)? {
                rusqlite::types::ValueRef::Null => Ok(Cell::Null),
                rusqlite::types::ValueRef::Integer(number) => Ok(Cell::Integer(number)),
                rusqlite::types::ValueRef::Text(text) => {
                    std::str::from_utf8(text).map(Cell::Text).map_err(|error| Fault::changed(column, error))
                }
                rusqlite::types::ValueRef::Blob(bytes) => Ok(Cell::Bytes(bytes)),
                // No column has fractions, so somebody else has written this one.
                rusqlite::types::ValueRef::Real(number) => Err(Fault::changed(column, format!("the number {number}"))),
            },
            Self::Postgres(row) => postgres_cell(row, column),
            Self::Record(record) => Ok(record.cell(column)),
        }
    }

    /// The column as a type.
    ///
    /// # Errors
    /// [`Fault::Changed`] where it holds something else.
    pub(crate) fn get<T: Readable>(&self, column: usize) -> Result<T, Fault> {
        T::of(self.cell(column)?).ok_or_else(|| Fault::changed(column, "a value of another type"))
    }

    /// The text of a column.
    ///
    /// # Errors
    /// [`Fault::Changed`] where it holds something else.
    pub(crate) fn text(&self, column: usize) -> Result<&str, Fault> {
        match self.cell(column)? {
            Cell::Text(text) => Ok(text),
            _ => Err(Fault::changed(column, "a value of another type")),
        }
    }
}

impl Record {
    pub(crate) fn cell(&self, column: usize) -> Cell<'_> {
        match self.0.get(column) {
            Some(Value::Integer(number)) => Cell::Integer(*number),
            Some(Value::Text(text)) => Cell::Text(text),
            Some(Value::Bytes(bytes)) => Cell::Bytes(bytes),
            // No row at all reads as a row of NULL (`Facts`).
            Some(Value::Null) | None => Cell::Null,
        }
    }

    /// As [`Row::get`].
    pub(crate) fn get<T: Readable>(&self, column: usize) -> Result<T, Fault> {
        Row::Record(self).get(column)
    }
}

fn postgres_cell(row: &tokio_postgres::Row, column: usize) -> Result<Cell<'_>, Fault> {
    let Some(about) = row.columns().get(column) else { return Err(Fault::changed(column, "no such column")) };
    let cell = match *about.type_() {
        Type::BOOL => row.try_get::<_, Option<bool>>(column)?.map(|truth| Cell::Integer(truth.into())),
        Type::INT2 => row.try_get::<_, Option<i16>>(column)?.map(|number| Cell::Integer(number.into())),
        Type::INT4 => row.try_get::<_, Option<i32>>(column)?.map(|number| Cell::Integer(number.into())),
        Type::INT8 => row.try_get::<_, Option<i64>>(column)?.map(Cell::Integer),
        Type::BYTEA => row.try_get::<_, Option<&[u8]>>(column)?.map(Cell::Bytes),
        // Names of the catalogue are texts of several types.
        _ => row.try_get::<_, Option<&str>>(column)?.map(Cell::Text),
    };
    Ok(cell.unwrap_or(Cell::Null))
}

impl Readable for i64 {
    fn of(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Integer(number) => Some(number),
            _ => None,
        }
    }
}

impl Readable for u64 {
    fn of(cell: Cell<'_>) -> Option<Self> {
        i64::of(cell).and_then(|number| Self::try_from(number).ok())
    }
}

impl Readable for usize {
    fn of(cell: Cell<'_>) -> Option<Self> {
        i64::of(cell).and_then(|number| Self::try_from(number).ok())
    }
}

impl Readable for bool {
    fn of(cell: Cell<'_>) -> Option<Self> {
        i64::of(cell).map(|number| number != 0)
    }
}

impl Readable for String {
    fn of(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl Readable for Vec<u8> {
    fn of(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Bytes(bytes) => Some(bytes.to_owned()),
            _ => None,
        }
    }
}

impl<const N: usize> Readable for [u8; N] {
    fn of(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Bytes(bytes) => bytes.try_into().ok(),
            _ => None,
        }
    }
}

impl Readable for ReceiptId {
    fn of(cell: Cell<'_>) -> Option<Self> {
        <[u8; 16]>::of(cell).and_then(|bytes| Self::from_bytes(bytes).ok())
    }
}

impl Readable for Value {
    fn of(cell: Cell<'_>) -> Option<Self> {
        Some(match cell {
            Cell::Null => Self::Null,
            Cell::Integer(number) => Self::Integer(number),
            Cell::Text(text) => Self::Text(text.to_owned()),
            Cell::Bytes(bytes) => Self::Bytes(bytes.to_owned()),
        })
    }
}

impl<T: Readable> Readable for Option<T> {
    fn of(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Null => Some(None),
            cell => T::of(cell).map(Some),
        }
    }
}
