//! How a store is opened: its place becomes an engine that writes, and connections that read.

use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use crate::engine::clock::Clock;
use crate::engine::file::Opened;
use crate::engine::postgres::{self, Database, Writing};
use crate::engine::readers::Readers;
use crate::engine::{Engine, Sqlite, file, sqlite};
use crate::error::StoreError;
use crate::place::Place;

/// The connections to a store, without a writer.
pub(crate) struct Connected {
    pub(crate) engine: Engine,
    pub(crate) readers: Readers,
    pub(crate) clock: Arc<Clock>,
    pub(crate) place: Place,
}

/// Connects to the store at `place`: to a new one where there is none.
///
/// # Errors
/// As [`crate::Store::open`], but for [`StoreError::Unfinished`].
pub(crate) fn connect(place: Place) -> Result<Connected, StoreError> {
    match place {
        Place::File(path) => {
            let path = absolute(&path)?;
            file::create_missing(&path)?;
            of_file(path)
        }
        Place::Database(url) => of_database(Arc::new(Database::at(&url)?)),
    }
}

/// Connects to the store at `place` if it exists.
///
/// # Errors
/// As [`crate::Store::open_existing`], but for [`StoreError::Unfinished`].
pub(crate) fn connect_existing(place: Place) -> Result<Connected, StoreError> {
    match place {
        Place::File(path) => of_file(absolute(&path)?),
        Place::Database(url) => {
            let database = Arc::new(Database::at(&url)?);
            postgres::inspect(&database)?;
            of_database(database)
        }
    }
}

fn of_file(path: PathBuf) -> Result<Connected, StoreError> {
    // Before SQLite opens the file for writing, which may lock it or recover its log.
    file::inspect(&path)?;
    let opened = Arc::new(Opened::at(&path)?);
    let connection = sqlite::open_to_write(&path)?;
    let clock = Arc::new(Clock::default());
    let engine = Sqlite::with_log(connection, Arc::clone(&clock), &path, Arc::clone(&opened));
    let engine = Engine::Sqlite(engine.map_err(|error| StoreError::of_io(&path, &error))?);
    let place = Place::File(path.clone());
    Ok(Connected { engine, readers: Readers::of_file(path, opened)?, clock, place })
}

fn of_database(database: Arc<Database>) -> Result<Connected, StoreError> {
    let place = database.place().clone();
    let connection = postgres::make(&database)?;
    // One clock for all that read and write here: what one of them learns of the server's time serves the others.
    let clock = Arc::new(Clock::default());
    let engine = Engine::Postgres(Writing::open(Arc::clone(&database), connection, Arc::clone(&clock))?);
    Ok(Connected { engine, readers: Readers::of_database(database), clock, place })
}

/// SQLite gives names like `:memory:` and `file:…` a meaning of their own; an absolute path has none.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    path::absolute(path).map_err(|error| StoreError::of_io(path, &error))
}
