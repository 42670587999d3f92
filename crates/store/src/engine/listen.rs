//! Who is told that another process may have changed something.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::engine::postgres::{self, Database};
use crate::engine::sqlite;
use crate::hint::{Hear, Hint, HintBox};

/// How often a thread looks whether a file has changed.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Hints come as long as this lives.
#[must_use = "dropping this ends the hints"]
pub struct Listening(Source);

/// Where hints come from.
enum Source {
    /// A thread that looks whether a file has changed.
    File { stop: Option<Sender<()>>, thread: Option<JoinHandle<()>> },
    /// The task of a connection that sends and gets hints.
    Database(Option<AbortHandle>),
}

impl Listening {
    /// Looks at the file at `path`: every commit of any process hints at everything.
    ///
    /// # Errors
    /// When the operating system cannot start a thread.
    pub(crate) fn to_file(path: PathBuf, hear: Hear) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread =
            thread::Builder::new().name("store-hints".to_owned()).spawn(move || watch(&path, &stopped, &hear))?;
        Ok(Self(Source::File { stop: Some(stop), thread: Some(thread) }))
    }

    /// Gets the hints of all processes that use the database, and sends those of the outbox.
    pub(crate) fn to_database(database: &Database, outbox: Arc<HintBox>, hear: Hear) -> Self {
        Self(Source::Database(postgres::exchange_hints(database, outbox, hear)))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        match &mut self.0 {
            Source::File { stop, thread } => {
                drop(stop.take());
                if let Some(thread) = thread.take() {
                    // A panic there has ended the hints, on which nothing depends.
                    drop(thread.join());
                }
            }
            Source::Database(task) => task.take().into_iter().for_each(|task| task.abort()),
        }
    }
}

fn watch(path: &Path, stopped: &Receiver<()>, hear: &Hear) {
    let (mut connection, mut seen) = (None, None);
    while matches!(stopped.recv_timeout(LOOK_EVERY), Err(RecvTimeoutError::Timeout)) {
        if connection.is_none() {
            connection = sqlite::open_to_read(path).ok();
        }
        // This number changes with each commit of other connections, those of this process included.
        let version = |connection: &rusqlite::Connection| {
            connection.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0)).ok()
        };
        let version = connection.as_ref().and_then(version);
        if version.is_none() {
            connection = None;
        } else if version != seen {
            seen = version;
            hear(Hint::ANY);
        }
    }
}
