//! A folder for the programs of one test, and the store that they share.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::postgres::{self, Database};

/// The variable that says what the stores of tests are: `sqlite`, which is the default, or `postgres`.
pub const ENGINE: &str = "PROOFMARK_TEST_ENGINE";

/// Runs a statement on a file.
const RUN: &str = "import sqlite3, sys
with sqlite3.connect(sys.argv[1], timeout=10) as store: store.execute(sys.argv[2])";

/// Locks a file until standard input ends.
const HOLD: &str = "import sqlite3, sys
store = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
store.execute('BEGIN EXCLUSIVE')
print('held', flush=True)
sys.stdin.read()";

/// What `PROOFMARK_HOME` names, and a store: the file `proofmark.db` there, or a database in PostgreSQL. Dropping it deletes both.
///
/// Its functions panic when they cannot do what they ask.
#[derive(Debug)]
pub struct Home {
    path: PathBuf,
    /// Where the home itself is to be deleted.
    _folder: Option<TempDir>,
    database: Option<Database>,
}

/// A process that keeps every writer of a store waiting, until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Hold(Child);

impl Home {
    /// An empty folder and no store yet, in the engine that `PROOFMARK_TEST_ENGINE` names.
    ///
    /// # Panics
    /// When it cannot be made. A missing PostgreSQL is an error and not a skip, because the variable asks for it.
    #[must_use]
    pub fn new() -> Self {
        Self { database: chosen_database(), ..Self::in_file() }
    }

    /// As [`Home::new`], whatever the variable says: for a test that is about the file.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn in_file() -> Self {
        let folder = postgres::must(TempDir::new());
        Self { path: folder.path().to_owned(), _folder: Some(folder), database: None }
    }

    /// As [`Home::new`], in PostgreSQL whatever the variable says; `None` after a skip.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn in_postgres() -> Option<Self> {
        let database = Some(postgres::database()?);
        Some(Self { database, ..Self::in_file() })
    }

    /// As [`Home::new`], with the home at a path of the test's own. It is neither made nor deleted.
    ///
    /// # Panics
    /// When the store's database cannot be made.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { database: chosen_database(), ..Self::in_file_at(path) }
    }

    /// As [`Home::at`], whatever the variable says.
    #[must_use]
    pub fn in_file_at(path: PathBuf) -> Self {
        Self { path, _folder: None, database: None }
    }

    /// The home.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the store, or its URL with a password.
    #[must_use]
    pub fn store(&self) -> OsString {
        match &self.database {
            Some(database) => database.url().into(),
            None => self.path.join("proofmark.db").into(),
        }
    }

    /// The database, where the store is in PostgreSQL.
    #[must_use]
    pub fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// The variables by which `proofmark` finds home and store.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, OsString)> {
        let home = ("PROOFMARK_HOME", self.path.clone().into());
        let store = self.database.as_ref().map(|database| ("PROOFMARK_STORE", database.url().into()));
        std::iter::once(home).chain(store).collect()
    }

    /// Runs a statement on the store, as another program would.
    ///
    /// # Panics
    /// When the store refuses it.
    pub fn sql(&self, statement: &str) {
        let done = match &self.database {
            Some(database) => return drop(database.psql(statement)),
            None => python(RUN).arg(self.store()).arg(statement).status(),
        };
        assert!(done.is_ok_and(|status| status.success()), "{statement}");
    }

    /// The one of two spellings that the store's engine takes.
    #[must_use]
    pub fn spelled<'a>(&self, sqlite: &'a str, postgres: &'a str) -> &'a str {
        if self.database.is_some() { postgres } else { sqlite }
    }

    /// All that is stored, as it is on disk or as rows in text.
    ///
    /// # Panics
    /// When the store does not exist.
    #[must_use]
    pub fn contents(&self) -> Vec<u8> {
        match &self.database {
            Some(database) => database.rows().into_bytes(),
            None => {
                let files = postgres::must(std::fs::read_dir(&self.path)).flatten().map(|entry| entry.path());
                let is_part = |path: &PathBuf| path.to_string_lossy().contains("proofmark.db");
                files.filter(is_part).flat_map(|path| postgres::must(std::fs::read(path))).collect()
            }
        }
    }

    /// Has another process keep every writer of the store waiting.
    ///
    /// # Panics
    /// When the store does not exist.
    pub fn hold(&self) -> Hold {
        let begun = match &self.database {
            // Every group of writes takes this row first.
            Some(database) => database.begin("SELECT 'held' FROM clock FOR UPDATE"),
            None => python(HOLD).arg(self.store()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn(),
        };
        let mut hold = postgres::must(begun.map(Hold));
        let mut line = String::new();
        let read = hold.0.stdout.take().map(|stdout| BufReader::new(stdout).read_line(&mut line));
        assert_eq!(line.trim(), "held", "{read:?}");
        hold
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ended = self.0.wait();
    }
}

/// A database, if the variable asks for one.
fn chosen_database() -> Option<Database> {
    let engine = std::env::var(ENGINE).unwrap_or_default();
    match engine.as_str() {
        "sqlite" => None,
        "postgres" => {
            let database = postgres::database();
            assert!(database.is_some(), "{ENGINE} asks for PostgreSQL, which is missing");
            database
        }
        other => {
            assert!(other.is_empty(), "{ENGINE} is `{other}`, and neither `sqlite` nor `postgres`");
            None
        }
    }
}

fn python(script: &str) -> Command {
    let mut python = Command::new("python3");
    python.args(["-c", script]);
    python
}
