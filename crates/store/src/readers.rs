//! The connections that read: with a write-ahead log they wait neither for the writer nor for each other.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::schema;

/// The most connections that read at a time.
const MAX_READERS: usize = 8;

/// Connections that read the database at one path. They are opened when they are needed, and stay open.
pub(crate) struct Readers {
    path: PathBuf,
    /// No more than processors, which reading needs: more connections would only take memory.
    most: usize,
    pool: Mutex<Pool>,
    returned: Condvar,
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
    /// Opens the first connection to the database at `path`.
    ///
    /// # Errors
    /// As [`crate::Store::open`].
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let first = schema::open_to_read(path)?;
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            path: path.to_owned(),
            most: processors.min(MAX_READERS),
            pool: Mutex::new(Pool { idle: vec![first], open: 1, waiting: 0 }),
            returned: Condvar::new(),
        })
    }

    /// Asks `question` on a connection of its own, waiting for one while all are in use.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn read<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let mut borrowed = Borrowed { readers: self, connection: self.idle() };
        let connection = match borrowed.connection.take() {
            Some(connection) => connection,
            None => schema::open_to_read(&self.path)?,
        };
        let connection = borrowed.connection.insert(connection);
        question(connection).map_err(|error| StoreError::of_sqlite(&self.path, &error))
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
