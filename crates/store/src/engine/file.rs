//! The file before SQLite may touch it: made where it is missing, left alone where it is not ours.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::engine::sqlite::{self, Sign};
use crate::error::StoreError;
use crate::place::Place;

/// How much of a file that is not SQLite's is searched for signs of ours.
const SEARCHED: u64 = 64 * 1024;

/// Makes the file (mode 0600) and the folders that lead to it (mode 0700) where they are missing.
///
/// # Errors
/// When the operating system refuses.
pub(crate) fn create_missing(path: &Path) -> Result<(), StoreError> {
    create(path).map_err(|error| StoreError::of_io(path, &error))
}

/// Which file a store was opened from. A process keeps a deleted file open, and what it writes there is lost when it ends.
#[derive(Debug)]
pub(crate) struct Opened {
    path: PathBuf,
    file: Identity,
    /// The file of the log, once it was there.
    log: OnceLock<Identity>,
}

/// A file, whatever its name: the numbers of its device and of the file on it.
type Identity = (u64, u64);

impl Opened {
    /// The file that is at `path` now.
    ///
    /// # Errors
    /// [`StoreError::Missing`] or [`StoreError::Io`].
    pub(crate) fn at(path: &Path) -> Result<Self, StoreError> {
        let file = identity(path).map_err(|error| StoreError::of_io(path, &error))?;
        Ok(Self { path: path.to_owned(), file, log: OnceLock::new() })
    }

    /// Checks that the same file is at the path.
    ///
    /// # Errors
    /// [`StoreError::Replaced`]
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if identity(&self.path).is_ok_and(|found| found == self.file) { Ok(()) } else { Err(self.replaced()) }
    }

    /// Checks that the same file is at the path, and the same log beside it. To be called while a connection is open, after it
    /// has written: until then there may be no log.
    ///
    /// # Errors
    /// [`StoreError::Replaced`]
    pub(crate) fn check_with_log(&self) -> Result<(), StoreError> {
        self.check()?;
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        // SQLite deletes the log when the last connection is closed, and this process has one.
        let found = identity(Path::new(&log)).map_err(|_gone| self.replaced())?;
        if *self.log.get_or_init(|| found) == found { Ok(()) } else { Err(self.replaced()) }
    }

    fn replaced(&self) -> StoreError {
        StoreError::Replaced { place: Place::File(self.path.clone()) }
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}

/// Refuses what is not ours, and what a later version has written, without writing, locking or recovering anything.
///
/// # Errors
/// [`StoreError::Missing`], [`StoreError::Foreign`], [`StoreError::Newer`], [`StoreError::Damaged`] or
/// [`StoreError::Io`].
pub(crate) fn inspect(path: &Path) -> Result<(), StoreError> {
    let found = fs::metadata(path).map_err(|error| StoreError::of_io(path, &error))?;
    // Opening a pipe would block, and SQLite must touch nothing that is not ours.
    if !found.is_file() {
        return Err(StoreError::Foreign { place: Place::File(path.to_owned()) });
    }
    // A new file has no header before the first commit, and stays empty if its process is killed before that.
    if found.len() == 0 {
        return Ok(());
    }
    match header(path) {
        // The header may be older than the log beside it: `open_to_write` looks at it again.
        Ok(sign) => sqlite::require_known(path, sign),
        Err(error) => match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Err(without_header(path)),
            // Without a lock a file can look damaged while a neighbour writes it; opening it in earnest will tell.
            Some(ErrorCode::DatabaseCorrupt) => Ok(()),
            _ => Err(StoreError::of_sqlite(path, &error)),
        },
    }
}

fn create(path: &Path) -> io::Result<()> {
    // Closing a file drops all locks this process has on it, those of SQLite too. So none of our threads may open the
    // database while another is between making its file and closing it.
    static CREATING: Mutex<()> = Mutex::new(());
    let _creating = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    // A link counts as present even if its target is missing: nothing is created where a link leads.
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    create_folder(folder)?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        // A file whose entry in its folder is not on disk can vanish in a crash, with all that was acknowledged.
        Ok(_) => sync_folder(folder),
        // Another process was faster. What it made is inspected next.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes `folder` and the folders above it, each on disk before the next is made.
fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().unwrap_or(Path::new("/"));
    create_folder(above)?;
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => sync_folder(above),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// What the file's header says. SQLite reads it, not we, because of what closing a file does to locks.
fn header(path: &Path) -> rusqlite::Result<Sign> {
    Sign::read(&unlocked(path)?)
}

/// A connection that neither locks the file nor looks at the write-ahead log.
pub(crate) fn unlocked(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(immutable(path.as_os_str()), flags)
}

fn immutable(path: &OsStr) -> String {
    let mut uri = "file:".to_owned();
    for &byte in path.as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => drop(write!(uri, "%{byte:02x}")),
        }
    }
    uri + "?immutable=1"
}

/// A file that does not begin as SQLite's do: ours with its beginning overwritten, or something else.
fn without_header(path: &Path) -> StoreError {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SEARCHED).read_to_end(&mut start));
    if let Err(error) = read {
        return StoreError::of_io(path, &error);
    }
    let sign = sqlite::SIGN.as_bytes();
    // A text that quotes our schema is not a damaged store: pages of a database have zero bytes.
    if start.contains(&0) && start.windows(sign.len()).any(|window| window == sign) {
        StoreError::Damaged { place: Place::File(path.to_owned()), detail: "its header is overwritten".to_owned() }
    } else {
        StoreError::Foreign { place: Place::File(path.to_owned()) }
    }
}
