use std::path::{self, Path};
use std::sync::{Arc, mpsc};

use proofmark_receipt::document::shown;
use proofmark_receipt::{ChainTip, ReceiptId};
use rusqlite::Connection;

use crate::clock::{self, Clock};
use crate::decisions::{self, Decision, Decisions, DecisionsWanted};
use crate::error::StoreError;
use crate::executions::{self, Finding};
use crate::jobs::{Change, StoredJob};
use crate::read::{self, Filter, MIN_PREFIX, Page};
use crate::readers::Readers;
use crate::receipt_meta::{self, StoredReceipt};
use crate::runs::{self, ListedStep};
use crate::tenant::Tenant;
use crate::writer::{Task, Writer};
use crate::{file, schema};

/// Receipts on disk. Threads share it by reference; processes share its file.
///
/// A tenant's rows are reached only through [`Store::of`]. The functions `all_tenants_…` are for the owner of the file, and
/// for sweeps.
pub struct Store {
    readers: Readers,
    pub(crate) writer: Writer,
    clock: Arc<Clock>,
}

impl Store {
    /// Opens the store at `path`. A missing or empty file becomes a new store, with mode 0600, in folders that are made
    /// with mode 0700 where they are missing.
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Damaged`], [`StoreError::Newer`], [`StoreError::Foreign`],
    /// [`StoreError::Full`] or [`StoreError::Io`]; the file is then unchanged.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        file::create_missing(&path)?;
        Self::connect(path)
    }

    /// Opens the store at `path` if it exists.
    ///
    /// # Errors
    /// [`StoreError::Missing`], else as [`Store::open`].
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        Self::connect(absolute(path)?)
    }

    /// Whether the file at `path` is a store that this version can open. Writes, locks and upgrades nothing.
    ///
    /// # Errors
    /// As [`Store::open_existing`].
    pub fn inspect(path: &Path) -> Result<(), StoreError> {
        file::inspect(&absolute(path)?)
    }

    /// Writes and reads a row without meaning: whether the disk has room and the database works.
    ///
    /// # Errors
    /// When the store cannot be written or read.
    pub fn probe(&self) -> Result<(), StoreError> {
        self.writer.submit(Task::Probe).wait()?;
        self.read(|connection| connection.query_row("SELECT probed FROM probe", [], |_| Ok(())))
    }

    /// The latest time that was recorded here, in milliseconds after 1970-01-01T00:00:00Z. A clock that shows less was set
    /// back.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn latest_time(&self) -> Result<i64, StoreError> {
        self.read(clock::latest)
    }

    /// The time that counts here, in milliseconds after 1970-01-01T00:00:00Z: the system's unless a later time was recorded.
    /// Where the system's clock is behind that by more than [`crate::MAX_CLOCK_SKEW`], it was set back, and time continues
    /// from what was recorded.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn now(&self) -> Result<i64, StoreError> {
        Ok(self.clock.now(self.latest_time()?))
    }

    /// Takes over, for the process `owner`, jobs whose lease has expired, oldest lease first; at most `limit` and
    /// [`crate::MAX_TAKEN`]. Their requests are left out, because they may be long: [`crate::TenantStore::job`] has them.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn take_over_jobs(&self, owner: &str, limit: usize) -> Result<Vec<StoredJob>, StoreError> {
        let (found, taken) = mpsc::channel();
        self.change(Change::TakeOver { owner: owner.to_owned(), limit, found })?;
        // What was found was sent before the commit that was just waited for, so it is here.
        Ok(taken.try_recv().unwrap_or_default())
    }

    /// Renews all leases of this owner; their jobs and tenants.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn renew_leases(&self, owner: &str) -> Result<Vec<(Tenant, ReceiptId)>, StoreError> {
        let (found, renewed) = mpsc::channel();
        self.change(Change::Renew { owner: owner.to_owned(), found })?;
        Ok(renewed.try_recv().unwrap_or_default())
    }

    /// Ends all leases of this owner, so that others may run its jobs at once.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn release_leases(&self, owner: &str) -> Result<(), StoreError> {
        self.change(Change::Release { owner: owner.to_owned() })
    }

    /// Deletes answers that were given, and jobs that ended, longer ago than `age`, in milliseconds; how many, at most twice
    /// [`crate::MAX_PRUNED`]. Receipts stay.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn prune(&self, age: i64) -> Result<usize, StoreError> {
        let (found, pruned) = mpsc::channel();
        self.change(Change::Prune { age, found })?;
        Ok(pruned.try_recv().unwrap_or_default())
    }

    /// The states of all tenants' steps, last changed first; at most [`crate::MAX_LISTED`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_step_runs(&self) -> Result<Vec<ListedStep>, StoreError> {
        self.read(runs::all_runs)
    }

    /// The decision with this id, and its tenant.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_decision(&self, id: &str) -> Result<Option<(Tenant, Decision)>, StoreError> {
        self.read(|connection| decisions::any_decision(connection, id))
    }

    /// The last decision, which the next one links to: decisions of all tenants are one chain.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_last_decision(&self) -> Result<Option<ChainTip>, StoreError> {
        self.read(decisions::last_decision)
    }

    /// The decisions of all tenants that `wanted` describes, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_decisions(&self, wanted: &DecisionsWanted) -> Result<Decisions, StoreError> {
        self.read(|connection| decisions::decisions(connection, None, wanted))
    }

    /// All tenants' findings, newest first, at most `limit` and [`crate::MAX_PAGE`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_findings(&self, limit: usize) -> Result<Vec<(Tenant, Finding)>, StoreError> {
        self.read(|connection| executions::all_findings(connection, limit))
    }

    /// Allowed decisions that expired before `until` without a report of their execution or a finding that there is none; at
    /// most [`crate::MAX_LISTED`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_unreported(&self, until: i64) -> Result<Vec<(Tenant, Decision)>, StoreError> {
        self.read(|connection| executions::unreported(connection, until))
    }

    /// The receipt with this id, of any tenant: of several that of the command line, then one issued here.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it was changed since it was stored, and when the store cannot be read.
    pub fn all_tenants_receipt(&self, id: &ReceiptId) -> Result<Option<StoredReceipt>, StoreError> {
        self.read(|connection| receipt_meta::receipt(connection, &read::tenants(connection)?, id, None))
    }

    /// The ids of all tenants' receipts that begin with `prefix`, at most [`crate::MAX_FOUND`], in order. `prefix` has at
    /// least [`crate::MIN_PREFIX`] hex digits, with or without dashes.
    ///
    /// # Errors
    /// [`StoreError::Prefix`], and when the store cannot be read.
    pub fn all_tenants_find(&self, prefix: &str) -> Result<Vec<ReceiptId>, StoreError> {
        let (first, last) = id_bounds(prefix)?;
        self.read(|connection| read::between(connection, &first, &last))
    }

    /// As [`Store::all_tenants_find`], the ids of decisions.
    ///
    /// # Errors
    /// [`StoreError::Prefix`], and when the store cannot be read.
    pub fn all_tenants_find_decisions(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let (first, last) = id_bounds(prefix)?;
        self.read(|connection| decisions::between(connection, &uuid(&first), &uuid(&last)))
    }

    /// The receipts of all tenants that match `filter`, last stored first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_receipts(&self, filter: &Filter) -> Result<Page, StoreError> {
        self.read(|connection| read::list(connection, None, filter))
    }

    fn connect(path: path::PathBuf) -> Result<Self, StoreError> {
        // Before SQLite opens the file for writing, which may lock it or recover its log.
        file::inspect(&path)?;
        let connection = schema::open_to_write(&path)?;
        let clock = Arc::new(Clock::default());
        let writer = Writer::start(connection, &path, Arc::clone(&clock));
        Ok(Self {
            readers: Readers::open(&path)?,
            writer: writer.map_err(|error| StoreError::of_io(&path, &error))?,
            clock,
        })
    }

    pub(crate) fn change(&self, change: Change) -> Result<(), StoreError> {
        self.writer.submit(Task::Jobs(change)).wait().map(drop)
    }

    pub(crate) fn read<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.readers.read(question)
    }
}

/// SQLite gives names like `:memory:` and `file:…` a meaning of their own; an absolute path has none.
fn absolute(path: &Path) -> Result<path::PathBuf, StoreError> {
    path::absolute(path).map_err(|error| StoreError::of_io(path, &error))
}

/// The smallest and the largest 16 bytes whose hex digits begin with `prefix`.
fn id_bounds(prefix: &str) -> Result<([u8; 16], [u8; 16]), StoreError> {
    let refused = || StoreError::Prefix(shown(prefix));
    let digits: String = prefix.chars().filter(|&character| character != '-').collect();
    let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hex || digits.len() < MIN_PREFIX || digits.len() > 32 {
        return Err(refused());
    }
    let bound = |rest: &str| {
        let all = digits.clone() + &rest.repeat(32 - digits.len());
        u128::from_str_radix(&all, 16).ok().map(u128::to_be_bytes)
    };
    bound("0").zip(bound("f")).ok_or_else(refused)
}

/// The bytes in the form of ids, whatever their version: bounds of a range have none.
fn uuid(bytes: &[u8; 16]) -> String {
    let mut text = format!("{:032x}", u128::from_be_bytes(*bytes));
    for place in [20, 16, 12, 8] {
        text.insert(place, '-');
    }
    text
}
