//! Questions to either engine, in one spelling.
//!
//! Parameters are `$1`, `$2`, …: numbers in PostgreSQL, and names in SQLite, which [`sqlite::bind`] reads as numbers. Where the
//! two have no common spelling, [`Db::spelled`] chooses.

use std::ops::ControlFlow;

use rusqlite::Connection;

use crate::engine::{postgres, sqlite};
use crate::error::StoreError;
use crate::fault::Fault;
use crate::patience;
use crate::row::{Readable, Row};
use crate::value::Value;

/// Fails once nobody waits for what this thread reads.
fn wanted() -> Result<(), Fault> {
    if patience::is_over() { Err(StoreError::Left.into()) } else { Ok(()) }
}

/// A connection of one of the engines.
#[derive(Clone, Copy)]
pub(crate) enum Db<'a> {
    Sqlite(&'a Connection),
    Postgres(&'a postgres::Session),
}

impl Db<'_> {
    /// Hands over the rows of an answer until `take` breaks off.
    pub(crate) fn each(
        &self,
        sql: &str,
        values: &[Value],
        mut take: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Fault>,
    ) -> Result<(), Fault> {
        // What is done with a row may take longer than finding it.
        let mut take = |row: &Row<'_>| {
            wanted()?;
            take(row)
        };
        wanted()?;
        match self {
            Self::Sqlite(connection) => {
                // Prepared once a connection: that takes longer than most questions.
                let mut statement = connection.prepare_cached(sql)?;
                sqlite::bind(&mut statement, values)?;
                let mut rows = statement.raw_query();
                while let Some(row) = rows.next()? {
                    if take(&Row::Sqlite(row))?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
            Self::Postgres(session) => session.each(sql, values, |row| take(&Row::Postgres(row))),
        }
    }

    /// All rows of an answer.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        values: &[Value],
        mut read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let mut all = Vec::new();
        self.each(sql, values, |row| {
            all.push(read(row)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(all)
    }

    /// The first row of an answer.
    pub(crate) fn one<T>(
        &self,
        sql: &str,
        values: &[Value],
        mut read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        let mut one = None;
        self.each(sql, values, |row| {
            one = Some(read(row)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(one)
    }

    /// The row of an answer that always has one.
    pub(crate) fn only<T>(
        &self,
        sql: &str,
        values: &[Value],
        read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.one(sql, values, read)?.ok_or_else(|| Fault::changed(0, "a row is missing"))
    }

    /// The first column of the first row.
    pub(crate) fn value<T: Readable>(&self, sql: &str, values: &[Value]) -> Result<Option<T>, Fault> {
        self.one(sql, values, |row| row.get(0))
    }

    /// Whether the answer has a row.
    pub(crate) fn exists(&self, sql: &str, values: &[Value]) -> Result<bool, Fault> {
        Ok(self.one(sql, values, |_| Ok(()))?.is_some())
    }

    /// Asks several questions that see the same rows.
    pub(crate) fn moment<T>(&self, ask: impl FnOnce(&Db<'_>) -> Result<T, Fault>) -> Result<T, Fault> {
        match self {
            Self::Sqlite(connection) => {
                let moment = connection.unchecked_transaction()?;
                ask(&Db::Sqlite(&moment))
            }
            Self::Postgres(session) => session.moment(|| ask(self)),
        }
    }

    /// SQL for whether `column` is among the numbers of this parameter, whose value is [`Value::numbers`].
    pub(crate) fn among(&self, column: &str, parameter: &str) -> String {
        self.spelled(
            format!("{column} IN (SELECT value FROM json_each('[' || {parameter} || ']'))"),
            format!("{column} = ANY (CAST(string_to_array({parameter}, ',') AS bigint[]))"),
        )
    }

    /// The spelling of this engine.
    pub(crate) fn spelled<T>(&self, sqlite: T, postgres: T) -> T {
        match self {
            Self::Sqlite(_) => sqlite,
            Self::Postgres(_) => postgres,
        }
    }
}
