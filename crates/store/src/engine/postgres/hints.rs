//! Hints between the processes that share a database.
//!
//! They travel as notifications of PostgreSQL on a connection of their own. A notification is a small transaction, which is
//! sent after the commit that it is about: within that one it would make commits wait for each other. Behind a pooler that
//! gives a session to several clients no hints come.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::engine::postgres::connection::{Connection, Database, Reach, Role};
use crate::engine::postgres::driver::Alive;
use crate::hint::{Hear, Hint, HintBox};

/// The channel of the notifications. Another store in the same database has the same: its hints are about nothing here.
const LISTEN: &str = "LISTEN proofmark_jobs";
const NOTIFY: &str = "NOTIFY proofmark_jobs";

/// How long after a hint the next one is sent, or taken, at the earliest.
const APART: Duration = Duration::from_millis(10);

/// How long after the connection was lost it is opened again, at first and at last.
const RETRY_AFTER: Duration = Duration::from_secs(1);
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// How long the database may take for one hint.
const DEADLINE: Duration = Duration::from_secs(10);

/// Sends the hints of the outbox, and calls `hear` with those of all processes, until the task is aborted. None where the store
/// is being closed.
pub(crate) fn exchange_hints(database: &Database, outbox: Arc<HintBox>, hear: Hear) -> Option<AbortHandle> {
    database.spawn(|reach, alive| async move {
        let mut patience = RETRY_AFTER;
        loop {
            if let Ok(connection) = connect(&reach, &alive).await {
                // Something may have changed while nobody listened.
                hear(Hint::ANY);
                patience = RETRY_AFTER;
                let (receive, send) = (receive(&connection, &hear), send(&connection, &outbox));
                let (Either::Left(((), _)) | Either::Right(((), _))) = select(Box::pin(receive), Box::pin(send)).await;
            }
            // Without hints the store works as before, only later: a server that is down must not be asked all the time.
            sleep(patience).await;
            patience = (patience * 2).min(MAX_RETRY_AFTER);
        }
    })
}

/// A connection that listens.
async fn connect(reach: &Reach, alive: &Alive) -> Result<Connection, ()> {
    let connection = reach.connect(Role::Listener, alive).await.map_err(drop)?;
    let listens = timeout(DEADLINE, connection.client.batch_execute(LISTEN)).await;
    listens.map_err(drop)?.map_err(drop)?;
    Ok(connection)
}

/// Passes hints on until the connection has ended.
async fn receive(connection: &Connection, hear: &Hear) {
    while !connection.client.is_closed() {
        let hint = connection.heard().wait().await;
        if hint != Hint::NONE {
            hear(hint);
            // What comes meanwhile is one hint: those who hear it look into the database each time.
            sleep(APART).await;
        }
    }
}

/// Sends hints until one cannot be sent.
async fn send(connection: &Connection, outbox: &HintBox) {
    loop {
        let hint = outbox.wait().await;
        if hint == Hint::NONE {
            continue;
        }
        let notify = format!("{NOTIFY}, '{}'", hint.text());
        if !matches!(timeout(DEADLINE, connection.client.batch_execute(&notify)).await, Ok(Ok(()))) {
            return;
        }
        sleep(APART).await;
    }
}
