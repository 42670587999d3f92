//! Statements that travel together: one round trip, however many they are.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::{BoxFuture, FutureExt, MaybeDone, maybe_done};
use futures_util::stream::TryStreamExt;
use tokio_postgres::{Client, Statement};

use crate::engine::postgres::bind::{Bound, Kind};
use crate::fault::Fault;
use crate::row::{Record, Row};
use crate::value::Value;

/// The most statements that a connection has prepared at a time.
const MAX_PREPARED: usize = 256;

/// The statements that a connection has prepared, by their texts.
#[derive(Default)]
pub(crate) struct Statements(HashMap<String, Statement>);

/// A statement that is ready to go.
pub(crate) struct Ready {
    pub(crate) statement: Statement,
    pub(crate) values: Vec<Bound>,
}

impl Statements {
    /// Has each statement prepared again when it is used next.
    pub(crate) fn forget(&mut self) {
        // Dropping them closes them.
        self.0.clear();
    }

    /// The prepared statement of this text.
    ///
    /// # Errors
    /// When the server refuses it.
    pub(crate) async fn prepare(&mut self, client: &Client, sql: &str) -> Result<Statement, Fault> {
        if let Some(statement) = self.0.get(sql) {
            return Ok(statement.clone());
        }
        let statement = client.prepare(sql).await?;
        if self.0.len() >= MAX_PREPARED {
            self.forget();
        }
        self.0.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// The statement of this text with its values.
    ///
    /// # Errors
    /// When the server refuses it, or a value does not fit it.
    pub(crate) async fn ready(&mut self, client: &Client, sql: &str, values: Vec<Value>) -> Result<Ready, Fault> {
        let statement = self.prepare(client, sql).await?;
        let values = bind(&statement, values)?;
        Ok(Ready { statement, values })
    }
}

/// The values as the statement's parameters have them.
///
/// # Errors
/// [`Fault`] where a value does not fit.
pub(crate) fn bind(statement: &Statement, values: Vec<Value>) -> Result<Vec<Bound>, Fault> {
    statement.params().iter().zip(values).map(|(kind, value)| Kind::of(kind)?.bind(value)).collect()
}

/// A statement that was sent, with its answer once that is there.
type Sent = MaybeDone<BoxFuture<'static, Result<Vec<Record>, Fault>>>;

/// Statements that were sent, and whose answers have not been waited for.
#[derive(Default)]
pub(crate) struct Flight(Vec<Sent>);

impl Flight {
    /// Sends the statements in their order, without waiting for any answer.
    pub(crate) async fn launch(client: &Arc<Client>, statements: Vec<Ready>) -> Self {
        let mut flying: Vec<_> =
            statements.into_iter().map(|ready| maybe_done(answer(client, ready).boxed())).collect();
        // A statement is sent when its future is first polled.
        poll_fn(|context| {
            for one in &mut flying {
                let _later = Pin::new(one).poll(context);
            }
            Poll::Ready(())
        })
        .await;
        Self(flying)
    }

    /// Waits for the answers. The first error is that of all.
    pub(crate) async fn land(self) -> Result<Vec<Vec<Record>>, Fault> {
        // Behind an error the others are waited for as well: what was sent is answered before anything else is sent.
        let mut answers = Vec::with_capacity(self.0.len());
        for mut one in self.0 {
            (&mut one).await;
            answers.extend(Pin::new(&mut one).take_output());
        }
        answers.into_iter().collect()
    }
}

fn answer(
    client: &Arc<Client>,
    Ready { statement, values }: Ready,
) -> impl Future<Output = Result<Vec<Record>, Fault>> + use<> {
    let client = Arc::clone(client);
    async move {
        let rows: Vec<_> = client.query_raw(&statement, values).await?.try_collect().await?;
        rows.iter().map(record).collect()
    }
}

fn record(row: &tokio_postgres::Row) -> Result<Record, Fault> {
    (0..row.len()).map(|column| Row::Postgres(row).get::<Value>(column)).collect::<Result<_, _>>().map(Record)
}
