//! What the writer needs of a database, of either kind.
//!
//! A group is one transaction that excludes every other writer, in all processes, from [`Engine::begin`] until
//! [`Engine::commit`] has ended. So what is asked stays so until the group is stored: chains do not fork, numbers have the
//! order of the commits, and nothing is stored twice because two processes looked at the same moment.

pub(crate) mod clock;
pub(crate) mod connect;
pub(crate) mod db;
pub(crate) mod file;
pub(crate) mod listen;
mod log;
pub(crate) mod postgres;
pub(crate) mod readers;
pub(crate) mod sqlite;

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, params_from_iter};

use crate::engine::clock::Clock;
use crate::engine::file::Opened;
use crate::engine::log::Log;
use crate::engine::postgres::{Writing, refusal};
use crate::error::StoreError;
use crate::fault::Fault;
use crate::place::Place;
use crate::statement::{Question, Record, Statement};
use crate::table::Spelling;
use crate::value::Value;

/// The most submissions that are settled by answers that were asked for together.
const MAX_TOGETHER: usize = 500;

/// A connection that writes.
pub(crate) enum Engine {
    Sqlite(Sqlite),
    Postgres(Writing),
}

/// A connection that writes to a file.
pub(crate) struct Sqlite {
    connection: Connection,
    clock: Arc<Clock>,
    /// The latest time that was recorded before the group.
    recorded: i64,
    /// None only in tests, where SQLite itself moves the log.
    log: Option<Log>,
    /// None only in tests.
    opened: Option<Arc<Opened>>,
}

impl Sqlite {
    /// A connection whose log SQLite moves itself.
    #[cfg(test)]
    pub(crate) fn new(connection: Connection, clock: Arc<Clock>) -> Self {
        Self { connection, clock, recorded: 0, log: None, opened: None }
    }

    /// A connection to the file at `path`, which is `opened`, with a thread that moves its log.
    ///
    /// # Errors
    /// When the operating system cannot start a thread.
    pub(crate) fn with_log(
        mut connection: Connection,
        clock: Arc<Clock>,
        path: &Path,
        opened: Arc<Opened>,
    ) -> io::Result<Self> {
        let log = Log::start(&mut connection, path)?;
        Ok(Self { connection, clock, recorded: 0, log: Some(log), opened: Some(opened) })
    }
}

impl Engine {
    #[cfg(test)]
    pub(crate) fn into_connection(self) -> Connection {
        match self {
            Self::Sqlite(Sqlite { connection, .. }) => connection,
            Self::Postgres(_) => panic!("the store is not a file"),
        }
    }

    /// How statements are spelled that its kinds spell differently.
    pub(crate) fn spelling(&self) -> Spelling {
        match self {
            Self::Sqlite(_) => Spelling::Sqlite,
            Self::Postgres(_) => Spelling::Postgres,
        }
    }

    /// Begins a group, when no other process writes.
    ///
    /// # Errors
    /// As [`Engine::begin_with`].
    pub(crate) fn begin(&mut self) -> Result<(), Fault> {
        self.begin_with(&[]).map(drop)
    }

    /// Begins a group, when no other process writes, with its first questions; their answers, as of [`Engine::ask`].
    ///
    /// # Errors
    /// [`Fault`]; then no group has begun. As of all functions here: after an error the group is to be rolled back.
    pub(crate) fn begin_with(&mut self, questions: &[Question]) -> Result<Vec<Vec<Record>>, Fault> {
        match self {
            Self::Sqlite(Sqlite { connection, recorded, opened, .. }) => {
                opened.as_ref().map_or(Ok(()), |opened| opened.check())?;
                // A transaction that began by reading could find, when it writes, that another process was faster.
                connection.execute_batch("BEGIN IMMEDIATE")?;
                *recorded = connection.query_row("SELECT latest FROM clock", [], |row| row.get(0))?;
                self.ask(questions)
            }
            Self::Postgres(writing) => writing.begin_with(questions),
        }
    }

    /// The time that counts now, in milliseconds after 1970-01-01T00:00:00Z.
    pub(crate) fn now(&self) -> i64 {
        match self {
            Self::Sqlite(Sqlite { clock, recorded, .. }) => clock.now(*recorded),
            Self::Postgres(writing) => writing.now(),
        }
    }

    /// How many submissions are to be settled by answers that were asked for together. They see nothing of each other, so
    /// where asking costs nothing each is settled by itself.
    pub(crate) fn most_at_once(&self) -> usize {
        match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(_) => MAX_TOGETHER,
        }
    }

    /// The rows that answer each of the questions, after everything that was told before.
    ///
    /// # Errors
    /// [`Fault`]
    pub(crate) fn ask(&mut self, questions: &[Question]) -> Result<Vec<Vec<Record>>, Fault> {
        match self {
            Self::Sqlite(Sqlite { connection, .. }) => {
                questions.iter().map(|question| answer(connection, question)).collect()
            }
            Self::Postgres(writing) => writing.ask(questions),
        }
    }

    /// The rows that answer one question.
    ///
    /// # Errors
    /// [`Fault`]
    pub(crate) fn rows(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
        values: impl Into<Vec<Value>>,
    ) -> Result<Vec<Record>, Fault> {
        Ok(self.ask(&[Question::alone(sql, values)])?.pop().unwrap_or_default())
    }

    /// Runs the statements, in an order in which each `INSERT` that stands by itself may come before all others.
    ///
    /// # Errors
    /// [`Fault`]; it may come from a later function.
    pub(crate) fn tell(&mut self, statements: Vec<Statement>) -> Result<(), Fault> {
        match self {
            Self::Sqlite(Sqlite { connection, .. }) => {
                statements.iter().try_for_each(|statement| run(connection, statement))
            }
            Self::Postgres(writing) => writing.tell(statements),
        }
    }

    /// Ends the group: afterwards it is on disk.
    ///
    /// # Errors
    /// [`Fault`]; then nothing of the group is stored, unless it is [`crate::StoreError::Unknown`].
    pub(crate) fn commit(&mut self) -> Result<(), Fault> {
        match self {
            Self::Sqlite(Sqlite { connection, opened, .. }) => {
                connection.execute_batch("COMMIT")?;
                // Afterwards: what was committed to a file that is still there is in it.
                Ok(opened.as_ref().map_or(Ok(()), |opened| opened.check_with_log())?)
            }
            Self::Postgres(writing) => writing.commit(),
        }
    }

    /// What is to be done when a group is answered, before the next one begins.
    pub(crate) fn rest(&mut self) {
        match self {
            Self::Sqlite(Sqlite { connection, log: Some(log), .. }) => log.tend(connection),
            Self::Sqlite(_) | Self::Postgres(_) => {}
        }
    }

    /// Undoes the group, after an error.
    pub(crate) fn roll_back(&mut self) {
        match self {
            Self::Sqlite(Sqlite { connection, .. }) => {
                // Some errors of SQLite have ended the transaction.
                if !connection.is_autocommit() {
                    let _undone = connection.execute_batch("ROLLBACK");
                }
            }
            Self::Postgres(writing) => writing.roll_back(),
        }
    }
}

fn run(connection: &Connection, statement: &Statement) -> Result<(), Fault> {
    match statement {
        Statement::Insert { insert, row } => {
            connection.prepare_cached(insert.one())?.execute(params_from_iter(row))?;
        }
        Statement::Other { sql, values } => {
            let mut statement = connection.prepare_cached(sql)?;
            sqlite::bind(&mut statement, values)?;
            statement.raw_execute()?;
        }
    }
    Ok(())
}

fn answer(connection: &Connection, question: &Question) -> Result<Vec<Record>, Fault> {
    let mut statement = connection.prepare_cached(&question.sql())?;
    let columns = statement.column_count();
    sqlite::bind(&mut statement, &question.values)?;
    let mut rows = statement.raw_query();
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(Record(
            (0..columns)
                .map(|column| Ok(Value::from(row.get::<_, rusqlite::types::Value>(column)?)))
                .collect::<rusqlite::Result<_>>()?,
        ));
    }
    Ok(records)
}

impl StoreError {
    /// The error that `fault`, of the database at `place`, is to callers.
    pub(crate) fn of_fault(place: &Place, fault: &Fault) -> Self {
        match fault {
            Fault::Sqlite(error) => Self::sqlite(place.clone(), error),
            Fault::Postgres(error) => refusal(place, error, None),
            Fault::Told(error) | Fault::Passing(error) => error.clone(),
            Fault::Changed(detail) => Self::Damaged { place: place.clone(), detail: detail.clone() },
        }
    }
}
