//! A connection that reads.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::try_join;
use futures_util::stream::StreamExt;
use tokio_postgres::{Row, RowStream};

use crate::engine::postgres::connection::{Connection, Database, Role};
use crate::engine::postgres::flight;
use crate::engine::postgres::trouble::Trouble;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::value::Value;

/// How long the database may take for one portion of an answer: longer than it takes itself.
const DEADLINE: Duration = Duration::from_secs(25);

/// How much of an answer is in memory at a time. The rest waits at the server.
const PORTION_ROWS: usize = 200;
const PORTION_BYTES: usize = 1 << 20;

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A connection that reads, used by one thread at a time. It is opened when it is needed, and again when it was lost.
pub(crate) struct Session {
    database: Arc<Database>,
    connection: RefCell<Option<Connection>>,
    moment: Cell<Moment>,
    is_asking: Cell<bool>,
}

/// Whether questions see the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    None,
    /// From the next question on.
    Wanted,
    Begun,
}

/// A part of an answer.
struct Portion {
    rows: Vec<Row>,
    /// None at the end.
    rest: Option<Pin<Box<RowStream>>>,
}

/// What is undone at the end, also when a caller panics.
struct AtEnd<F: FnMut()>(F);

impl Session {
    pub(crate) fn new(database: Arc<Database>) -> Self {
        Self { database, connection: RefCell::new(None), moment: Cell::new(Moment::None), is_asking: Cell::new(false) }
    }

    /// Hands over the rows of an answer until `take` breaks off. `take` cannot ask the same session.
    pub(crate) fn each(
        &self,
        sql: &str,
        values: &[Value],
        mut take: impl FnMut(&Row) -> Result<ControlFlow<()>, Fault>,
    ) -> Result<(), Fault> {
        if self.is_asking.replace(true) {
            // The rest of the first answer stands before the second.
            return Err(Fault::Changed("a question was asked within another".to_owned()));
        }
        let _asking = AtEnd(|| self.is_asking.set(false));
        let mut portion = self.ask(sql, values)?;
        loop {
            for row in &portion.rows {
                if take(row)?.is_break() {
                    return Ok(());
                }
            }
            match portion.rest {
                Some(rest) => portion = self.more(rest)?,
                None => return Ok(()),
            }
        }
    }

    /// Asks several questions that see the same rows.
    pub(crate) fn moment<T>(&self, ask: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        if self.moment.get() != Moment::None {
            return ask();
        }
        self.moment.set(Moment::Wanted);
        let _end = AtEnd(|| {
            if self.moment.replace(Moment::None) == Moment::Begun {
                self.end_moment();
            }
        });
        ask()
    }

    /// The first portion of an answer. A question may be asked again, so it is, when the connection turns out to have been
    /// lost since it was last used.
    fn ask(&self, sql: &str, values: &[Value]) -> Result<Portion, Fault> {
        // No text in the database has that character, and the server would refuse it with an error of its own.
        if values.iter().any(Value::has_nul) {
            return Err(StoreError::Text.into());
        }
        match self.connection.take() {
            Some(connection) => match self.ask_on(connection, sql, values) {
                Err(trouble) if trouble.is_lost && trouble.error != StoreError::Left && !self.in_moment() => {}
                answer => return Ok(answer?),
            },
            // Another connection would see other rows.
            None if self.in_moment() => {
                return Err(
                    Trouble::lost(self.database.place(), "the connection was lost between two questions").into()
                );
            }
            None => {}
        }
        // Nothing of the answer was handed over, so asking anew tells the caller nothing twice.
        let connection = self.database.connect(Role::Reader)?;
        Ok(self.ask_on(connection, sql, values)?)
    }

    /// Whether a question was asked that later ones have to see the same rows as.
    fn in_moment(&self) -> bool {
        self.moment.get() == Moment::Begun
    }

    /// Asks. A connection whose question fails is not used again: it may be in the middle of a transaction that failed, and every
    /// later question would fail with it.
    fn ask_on(&self, connection: Connection, sql: &str, values: &[Value]) -> Result<Portion, Trouble> {
        let begins = self.moment.get() == Moment::Wanted;
        let (sql, values) = (sql.to_owned(), values.to_vec());
        let (connection, answer) = self.database.with(connection, DEADLINE, move |connection| {
            Box::pin(async move {
                let Connection { client, statements, .. } = connection;
                let begin =
                    async { if begins { client.batch_execute(BEGIN).await.map_err(Fault::from) } else { Ok(()) } };
                let ask = async {
                    let statement = statements.prepare(client, &sql).await?;
                    let values = flight::bind(&statement, values)?;
                    Ok(client.query_raw(&statement, values).await?)
                };
                // Both travel together: each sends when it is first polled, and the first is polled first.
                let ((), rows) = try_join(begin, ask).await?;
                portion(Box::pin(rows)).await
            })
        });
        self.connection.replace(connection.filter(|_| answer.is_ok()));
        if begins && answer.is_ok() {
            self.moment.set(Moment::Begun);
        }
        answer
    }

    fn more(&self, rest: Pin<Box<RowStream>>) -> Result<Portion, Fault> {
        let Some(connection) = self.connection.take() else {
            return Err(Fault::Changed("an answer has lost its connection".to_owned()));
        };
        let (connection, answer) = self.database.with(connection, DEADLINE, move |_| Box::pin(portion(rest)));
        self.connection.replace(connection.filter(|_| answer.is_ok()));
        Ok(answer?)
    }

    fn end_moment(&self) {
        let Some(connection) = self.connection.take() else { return };
        let (connection, _ended) = self.database.with(connection, DEADLINE, |connection| {
            Box::pin(async move {
                let client = Arc::clone(&connection.client);
                let mut end = Box::pin(async move { client.batch_execute("COMMIT").await });
                // It is on its way before the next question is, and nobody needs its answer.
                let sent = poll_fn(|context| Poll::Ready(end.as_mut().poll(context))).await;
                if sent.is_pending() {
                    tokio::spawn(end);
                }
                Ok(())
            })
        });
        self.connection.replace(connection);
    }

    /// Whether it can be asked as if it were new.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.moment.get() == Moment::None && !self.is_asking.get()
    }
}

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

async fn portion(mut rest: Pin<Box<RowStream>>) -> Result<Portion, Fault> {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while rows.len() < PORTION_ROWS && bytes < PORTION_BYTES {
        match rest.next().await.transpose()? {
            Some(row) => {
                bytes += row.raw_size_bytes();
                rows.push(row);
            }
            None => return Ok(Portion { rows, rest: None }),
        }
    }
    Ok(Portion { rows, rest: Some(rest) })
}
