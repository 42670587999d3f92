//! Why an engine could not answer or store.

use crate::error::StoreError;

/// What went wrong in an engine, before it is told to callers as a [`crate::StoreError`].
#[derive(Debug)]
pub(crate) enum Fault {
    Sqlite(rusqlite::Error),
    Postgres(tokio_postgres::Error),
    /// A column holds what was not stored there.
    Changed(String),
    /// What callers are told.
    Told(StoreError),
    /// The same, of what may succeed when it is done again. Nothing of it is stored.
    Passing(StoreError),
}

impl Fault {
    /// The value of a column is not one that was stored there.
    pub(crate) fn changed(column: impl std::fmt::Display, why: impl std::fmt::Display) -> Self {
        Self::Changed(format!("column {column}: {why}"))
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Told(error)
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}
