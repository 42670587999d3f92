//! The connections that read: they wait neither for the writer nor for each other.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::engine::db::Db;
use crate::engine::file::Opened;
use crate::engine::postgres::{Database, Session};
use crate::engine::sqlite;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::place::Place;

/// The most connections that read a file at a time.
const MAX_READERS: usize = 8;

/// The most connections that read a database at a time: its servers have few connections, and share them.
const DATABASE_READERS: usize = 4;

/// Connections that read one store. They are opened when they are needed, and stay open.
pub(crate) struct Readers {
    source: Source,
    /// None of a database.
    opened: Option<Arc<Opened>>,
    most: usize,
    pool: Mutex<Pool>,
    returned: Condvar,
}

/// What is read.
pub(crate) enum Source {
    File(PathBuf),
    Database(Arc<Database>),
}

/// A connection that reads.
enum Connection {
    Sqlite(rusqlite::Connection),
    Postgres(Session),
}

struct Pool {
    idle: Vec<Connection>,
    /// How many there are, idle or in use.
    open: usize,
    /// How many threads wait for one.
    waiting: usize,
}

/// A connection that no other thread uses, until this is dropped.
struct Borrowed<'a> {
    readers: &'a Readers,
    /// None only when it could not be opened.
    connection: Option<Connection>,
}

impl Readers {
    /// Opens the first connection to the database at `path`, which is `opened`.
    ///
    /// # Errors
    /// As [`crate::Store::open`].
    pub(crate) fn of_file(path: PathBuf, opened: Arc<Opened>) -> Result<Self, StoreError> {
        let first = Connection::Sqlite(sqlite::open_to_read(&path)?);
        // More connections than processors, which reading needs, would only take memory.
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let readers = Self::of(Source::File(path), processors.min(MAX_READERS), vec![first]);
        Ok(Self { opened: Some(opened), ..readers })
    }

    /// Connections to `database`, which are opened by the first questions.
    pub(crate) fn of_database(database: Arc<Database>) -> Self {
        Self::of(Source::Database(database), DATABASE_READERS, Vec::new())
    }

    fn of(source: Source, most: usize, idle: Vec<Connection>) -> Self {
        let pool = Mutex::new(Pool { open: idle.len(), idle, waiting: 0 });
        Self { source, opened: None, most, pool, returned: Condvar::new() }
    }

    /// Asks `question` on a connection of its own, waiting for one while all are in use.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn read<T>(&self, question: impl FnOnce(&Db<'_>) -> Result<T, Fault>) -> Result<T, StoreError> {
        // What is in a file that was deleted must not be shown as what is stored.
        self.opened.as_ref().map_or(Ok(()), |opened| opened.check())?;
        let mut borrowed = Borrowed { readers: self, connection: self.idle() };
        let connection = match borrowed.connection.take() {
            Some(connection) => connection,
            None => self.source.connect()?,
        };
        let db = match borrowed.connection.insert(connection) {
            Connection::Sqlite(connection) => Db::Sqlite(connection),
            Connection::Postgres(session) => Db::Postgres(session),
        };
        question(&db).map_err(|fault| StoreError::of_fault(&self.source.place(), &fault))
    }

    /// What is read.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// An idle connection; none when another is to be opened.
    fn idle(&self) -> Option<Connection> {
        let mut pool = self.lock();
        loop {
            if let Some(connection) = pool.idle.pop() {
                return Some(connection);
            }
            if pool.open < self.most {
                pool.open += 1;
                return None;
            }
            pool.waiting += 1;
            pool = self.returned.wait(pool).unwrap_or_else(PoisonError::into_inner);
            pool.waiting -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source {
    fn connect(&self) -> Result<Connection, StoreError> {
        Ok(match self {
            Self::File(path) => Connection::Sqlite(sqlite::open_to_read(path)?),
            Self::Database(database) => Connection::Postgres(Session::new(Arc::clone(database))),
        })
    }

    fn place(&self) -> Place {
        match self {
            Self::File(path) => Place::File(path.clone()),
            Self::Database(database) => database.place().clone(),
        }
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let mut pool = self.readers.lock();
        match self.connection.take() {
            Some(connection) => pool.idle.push(connection),
            None => pool.open -= 1,
        }
        // To notify costs a system call, also where nobody waits.
        let waiting = pool.waiting > 0;
        drop(pool);
        if waiting {
            self.readers.returned.notify_one();
        }
    }
}
