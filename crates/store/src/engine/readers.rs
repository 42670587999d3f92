//! The connections that read: they wait neither for the writer nor for each other.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::engine::db::Db;
use crate::engine::file::Opened;
use crate::engine::postgres::{Database, Session};
use crate::engine::sqlite;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::patience;
use crate::place::Place;
use crate::tenant::Tenant;
use crate::turns::{Most, Turns};

/// The most connections that read a file at a time for one tenant.
const MAX_READERS: usize = 8;

/// The same of a database: its servers have few connections, and share them.
const DATABASE_READERS: usize = 4;

/// How often one who waits for a connection looks whether anybody still waits for the answer.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Connections that read one store. They are opened when they are needed, and stay open. Tenants take turns at them.
pub(crate) struct Readers {
    source: Source,
    /// None of a database.
    opened: Option<Arc<Opened>>,
    pool: Mutex<Pool>,
}

/// Whose question it is; none of one about all tenants.
type Who = Option<Tenant>;

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
    turns: Turns<Who, SyncSender<()>>,
}

/// A connection that no other thread uses, until this is dropped.
struct Borrowed<'a> {
    readers: &'a Readers,
    who: Who,
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

    fn of(source: Source, of_one: usize, idle: Vec<Connection>) -> Self {
        let pool = Mutex::new(Pool { idle, turns: Turns::new(Most::and_one(of_one), Instant::now()) });
        Self { source, opened: None, pool }
    }

    /// Asks `question`, of this tenant or of none, on a connection of its own, waiting for its turn while all are in use.
    ///
    /// # Errors
    /// When the store cannot be read, and [`StoreError::Left`] when nobody waits for the answer any more.
    pub(crate) fn read<T>(
        &self,
        who: Option<&Tenant>,
        question: impl FnOnce(&Db<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        // What is in a file that was deleted must not be shown as what is stored.
        self.opened.as_ref().map_or(Ok(()), |opened| opened.check())?;
        let mut borrowed = self.turn(who.cloned())?;
        let idle = self.lock().idle.pop();
        let connection = match idle {
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

    /// Waits for a turn. There are as many connections as turns, so whose turn it is finds an idle one or may open another.
    fn turn(&self, who: Who) -> Result<Borrowed<'_>, StoreError> {
        let told = {
            let mut pool = self.lock();
            let now = Instant::now();
            if pool.turns.begin(&who, now) {
                None
            } else {
                let (tell, told) = sync_channel(1);
                pool.turns.wait(&who, tell, now);
                Some(told)
            }
        };
        if let Some(told) = told {
            while told.recv_timeout(LOOK_EVERY).is_err() {
                if patience::is_over() {
                    return self.left(who, told);
                }
            }
        }
        Ok(Borrowed { readers: self, who, connection: None })
    }

    /// The error of one who does not wait for a turn any more, which may have come at this moment.
    fn left(&self, who: Who, told: Receiver<()>) -> Result<Borrowed<'_>, StoreError> {
        let pool = self.lock();
        let has_come = told.try_recv().is_ok();
        // While it is locked: a turn that is handed over afterwards must find the channel closed.
        drop(told);
        drop(pool);
        drop(has_come.then(|| Borrowed { readers: self, who, connection: None }));
        Err(StoreError::Left)
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

impl Pool {
    /// Tells those who wait, as far as there are turns.
    fn hand_over(&mut self, now: Instant) {
        while let Some((who, tell)) = self.turns.hand_over(now) {
            if tell.try_send(()).is_err() {
                // It has left.
                self.turns.end(&who, now);
            }
        }
    }
}

impl Connection {
    /// Whether the next one who asks finds it as if it were new. What a read left open ends here.
    fn is_reset(&self) -> bool {
        match self {
            Self::Sqlite(connection) => {
                connection.is_autocommit()
                    || (connection.execute_batch("ROLLBACK").is_ok() && connection.is_autocommit())
            }
            Self::Postgres(session) => session.is_at_rest(),
        }
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        // Another is opened in place of one that is not as new.
        let connection = self.connection.take().filter(Connection::is_reset);
        let (mut pool, now) = (self.readers.lock(), Instant::now());
        pool.idle.extend(connection);
        pool.turns.end(&self.who, now);
        pool.hand_over(now);
    }
}
