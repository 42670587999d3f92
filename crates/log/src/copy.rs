//! A copy of the log that others serve, in a folder or in a bucket: its files are there before a checkpoint is signed, and the checkpoint follows.

use std::sync::{Mutex, PoisonError};

use proofmark_store::{Store, StoreError};
use proofmark_tlog::{Appender, AuditError, Audited, SignedCheckpoint, TilePath, audit, bundle, root};

use crate::error::LogError;
use crate::home::LogHome;
use crate::stored::StoredLog;

/// How many entries are copied at a time, so that a long log takes little memory and goes on where it failed.
const STEP: u64 = 65_536;

/// How often a checkpoint is copied again that another process has replaced meanwhile.
const TRIES: usize = 5;

/// Where a log is copied to, in the layout of C2SP tlog-tiles. Nothing there is replaced but the checkpoint.
pub trait CopyPlace: Send + Sync {
    /// What people call it.
    fn name(&self) -> String;

    /// The checkpoint there; none where there is none yet.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    fn read_checkpoint(&self) -> Result<Option<Vec<u8>>, String>;

    /// Adds tiles and bundles, so that they are durable. One that is there already has to be the same.
    ///
    /// # Errors
    /// Why one cannot be added, in words.
    fn add(&self, files: &[CopiedFile]) -> Result<(), String>;

    /// Replaces the checkpoint, unless another one than `before` is there by now: whether it was replaced.
    ///
    /// # Errors
    /// Why it cannot be replaced, in words.
    fn replace_checkpoint(&self, before: Option<&[u8]>, note: &[u8]) -> Result<bool, String>;
}

/// A tile or a bundle.
pub struct CopiedFile {
    pub path: TilePath,
    pub bytes: Vec<u8>,
}

/// A copy that follows the log, as far as this process knows it.
pub struct LogCopy {
    place: Box<dyn CopyPlace>,
    held: Mutex<Option<Held>>,
}

/// What a copy has.
#[derive(Clone, Default)]
struct Held {
    /// The size of the tree whose files are all there.
    files: u64,
    /// The checkpoint there, and its size.
    note: Option<Vec<u8>>,
    size: u64,
}

impl LogCopy {
    /// A copy at this place, which is not read yet.
    #[must_use]
    pub fn new(place: Box<dyn CopyPlace>) -> Self {
        Self { place, held: Mutex::default() }
    }

    /// How many entries the checkpoint of the copy covers; none before it was read.
    #[must_use]
    pub fn entries(&self) -> Option<u64> {
        self.held().map(|held| held.size)
    }

    /// Has the copy read again, which another process may write to.
    pub fn forget(&self) {
        self.set(None);
    }

    /// Adds the files of the tree of `size` entries that the copy does not have. Each was compared with the root before.
    ///
    /// # Errors
    /// [`LogError::Copy`]; [`LogError::CheckpointAhead`] and [`LogError::Forked`] where the store is not a continuation of the checkpoint that
    /// the copy has; [`LogError::Tree`] where its tiles are not those of its entries; and when it cannot be read.
    pub(crate) fn add(&self, store: &Store, home: &LogHome, size: u64) -> Result<(), LogError> {
        let mut held = self.known(store, home)?;
        while held.files < size {
            let next = (held.files / STEP).saturating_add(1).saturating_mul(STEP).min(size);
            let files = files_between(store, held.files, next)?;
            self.place.add(&files).map_err(|reason| self.failed(reason))?;
            held.files = next;
            self.set(Some(held.clone()));
        }
        Ok(())
    }

    /// Copies the last checkpoint of the store, after its files. One that is there already stays where it covers more.
    ///
    /// # Errors
    /// As [`LogCopy::add`].
    pub(crate) fn publish(&self, store: &Store, home: &LogHome) -> Result<(), LogError> {
        for _ in 0..TRIES {
            let note = store.log_state()?.checkpoint.into_bytes();
            let held = self.known(store, home)?;
            if note.is_empty() || held.note.as_ref() == Some(&note) {
                return Ok(());
            }
            let size = SignedCheckpoint::open(&note, &home.vkeys()?, []).map_err(LogError::Stored)?.checkpoint.size;
            // A later one is of another server on the store, which signs by now.
            if held.size > size {
                return Ok(());
            }
            self.add(store, home, size)?;
            let replaced = self.place.replace_checkpoint(held.note.as_deref(), &note);
            if replaced.map_err(|reason| self.failed(reason))? {
                let files = self.held().map_or(size, |held| held.files);
                self.set(Some(Held { files, note: Some(note), size }));
                return Ok(());
            }
            self.forget();
        }
        Err(self.failed(format!("other processes replaced its checkpoint {TRIES} times meanwhile")))
    }

    /// What the copy has, after it was compared with the store. Its checkpoint follows its files, so they are all there.
    fn known(&self, store: &Store, home: &LogHome) -> Result<Held, LogError> {
        if let Some(held) = self.held() {
            return Ok(held);
        }
        let note = self.place.read_checkpoint().map_err(|reason| self.failed(reason))?;
        let held = match note {
            None => Held::default(),
            Some(note) => {
                let signed = SignedCheckpoint::open(&note, &home.vkeys()?, []);
                let signed = signed.map_err(|error| {
                    self.failed(format!("there is a checkpoint that no key of this log has signed ({error})"))
                })?;
                let signed = signed.checkpoint;
                // Read after the checkpoint: what another server has signed meanwhile is in tiles.
                let stored = store.log_state()?.integrated;
                if signed.size > stored {
                    return Err(LogError::CheckpointAhead { signed: signed.size, stored });
                }
                if root(signed.size, StoredLog(store)).map_err(LogError::of_tree)? != signed.root {
                    return Err(LogError::Forked { size: signed.size });
                }
                Held { files: signed.size, note: Some(note), size: signed.size }
            }
        };
        self.set(Some(held.clone()));
        Ok(held)
    }

    fn held(&self) -> Option<Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, held: Option<Held>) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }

    fn failed(&self, reason: String) -> LogError {
        LogError::Copy { place: self.place.name(), reason }
    }
}

/// The files that the tree of `size` entries has, and that of `before` has not. All of them lead to the root of the store's tiles.
fn files_between(store: &Store, before: u64, size: u64) -> Result<Vec<CopiedFile>, LogError> {
    let log = StoredLog(store);
    let root = root(size, log).map_err(LogError::of_tree)?;
    let tree = Appender::open(before, log).map_err(LogError::of_tree)?;
    let mut files = Vec::new();
    let audited = audit(tree, size, &root, log, |audited| {
        let (path, bytes) = match audited {
            Audited::Tile(tile) => (TilePath::of_tile(tile.id, size), tile.bytes),
            Audited::Bundle { index, entries } => (TilePath::of_entries(index, size), bundle(&entries)),
        };
        files.extend(path.map(|path| CopiedFile { path, bytes }));
        Ok(())
    });
    audited.map_err(|error: AuditError<StoreError>| match error {
        AuditError::Storage(error) => LogError::Store(error),
        other => LogError::Tree(other.to_string()),
    })?;
    Ok(files)
}
