use std::path::{Path, PathBuf};

use proofmark_log::{LogHome, LogKeeper, LogSource, StoredLog};
use proofmark_receipt::Sha256Digest;
use proofmark_store::{LogEntry, Store, StoreError, Tenant};
use proofmark_testing::Home;
use proofmark_tlog::{LogFiles, TileId, Tiles};

pub(crate) const ORIGIN: &str = "log.example/proofmark";

/// A store with a log, in a folder of its own.
pub(crate) struct Place(Home);

impl Place {
    pub(crate) fn new() -> Self {
        // The file is what some tests put back.
        Self(Home::in_file())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.0.store().into()
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(self.database()).unwrap()
    }

    pub(crate) fn home(&self) -> LogHome {
        LogHome::of(self.path())
    }

    pub(crate) fn sql(&self, sql: &str) {
        self.0.sql(sql);
    }
}

pub(crate) fn keeper<'s>(place: &Place, store: &'s Store) -> LogKeeper<'s> {
    let signer = place.home().begin(ORIGIN, None).unwrap();
    LogKeeper::new(store, place.home(), signer)
}

pub(crate) fn digest(number: u64) -> Sha256Digest {
    Sha256Digest::of(&number.to_be_bytes())
}

/// Logs these digests.
pub(crate) fn add(store: &Store, numbers: std::ops::Range<u64>) {
    let tenant = store.of(&Tenant::LOCAL);
    let pending: Vec<_> = numbers.map(|number| tenant.submit(LogEntry(digest(number)))).collect();
    pending.into_iter().for_each(|one| drop(one.wait().unwrap()));
}

/// What a log shows: the files of a store, with a checkpoint that may be another's.
pub(crate) struct Shown<'s> {
    pub(crate) files: StoredLog<'s>,
    pub(crate) note: String,
}

impl Tiles for Shown<'_> {
    type Error = StoreError;

    fn tile(&self, id: TileId, width: usize) -> Result<Option<Vec<u8>>, StoreError> {
        self.files.tile(id, width)
    }
}

impl LogFiles for Shown<'_> {
    fn bundle(&self, index: u64, width: usize) -> Result<Option<Vec<u8>>, StoreError> {
        self.files.bundle(index, width)
    }
}

impl LogSource for Shown<'_> {
    fn checkpoint(&self) -> Result<Vec<u8>, StoreError> {
        Ok(self.note.clone().into_bytes())
    }
}
