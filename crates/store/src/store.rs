use std::path::{self, Path};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use proofmark_receipt::{ChainTip, Receipt, ReceiptId, Trust};
use rusqlite::Connection;

use crate::bundle::{self, Decision, StepRun};
use crate::error::StoreError;
use crate::kept::{self, StoredReceipt};
use crate::page::{Filter, Page};
use crate::read::MIN_PREFIX;
use crate::served::{self, Decisions, DecisionsWanted, Finding};
use crate::tenant::Tenant;
use crate::tenant_store::TenantStore;
use crate::write::Write;
use crate::writer::Writer;
use crate::{file, read, schema};

/// How far a clock may be behind what was recorded before that counts as set back, in milliseconds: hosts that share a store
/// differ by less.
pub const MAX_CLOCK_SKEW: i64 = 60_000;

/// Receipts on disk. Threads share it by reference; processes share its file.
///
/// A tenant's rows are reached through [`Store::of`] alone. The verbs `all_tenants_…` are for the owner of the file, and for
/// sweeps.
pub struct Store {
    reader: Mutex<Connection>,
    pub(crate) writer: Writer,
    path: path::PathBuf,
    /// What was recorded last when the clock was found to be behind it, and when that was.
    behind: Mutex<Option<(i64, Instant)>>,
}

/// A receipt to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct NewReceipt {
    /// The receipt.
    pub receipt: Receipt,
    /// The chain it continues: its metadata must link it to that chain's tip.
    pub chain: Option<String>,
    /// For a receipt issued elsewhere, whether its signer is trusted; none when it was issued here.
    pub trust: Option<Trust>,
}

impl NewReceipt {
    /// A receipt issued here, in no chain.
    #[must_use]
    pub fn of(receipt: Receipt) -> Self {
        Self { receipt, chain: None, trust: None }
    }
}

impl Store {
    /// Opens the store at `path`. A missing or empty file becomes a new store, with mode 0600, in folders that are made
    /// with mode 0700 where they are missing.
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Damaged`], [`StoreError::Newer`], [`StoreError::Foreign`],
    /// [`StoreError::Full`] or [`StoreError::Io`]; the file is then as it was.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        file::create_missing(&path)?;
        Self::connect(path)
    }

    /// Opens the store at `path` if it is there.
    ///
    /// # Errors
    /// [`StoreError::Missing`], else as [`Store::open`].
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        Self::connect(absolute(path)?)
    }

    /// What is kept for one tenant: the only way to its rows.
    #[must_use]
    pub fn of(&self, tenant: &Tenant) -> TenantStore<'_> {
        TenantStore::new(self, tenant.clone())
    }

    /// Writes and reads something that means nothing: whether the disk has room and the database takes what comes.
    ///
    /// # Errors
    /// Whatever keeps the store from being written or read.
    pub fn probe(&self) -> Result<(), StoreError> {
        self.writer.submit(Ok(Write::Probe)).wait()?;
        self.read(|connection| connection.query_row("SELECT probed FROM probe", [], |_| Ok(())))
    }

    /// The latest time that anything was recorded here, in milliseconds after 1970-01-01T00:00:00Z. A clock that shows less
    /// was set back.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn latest_time(&self) -> Result<i64, StoreError> {
        self.read(|connection| connection.prepare_cached("SELECT latest FROM clock")?.query_row([], |row| row.get(0)))
    }

    /// The time that counts here when the clock shows `clock`, both in milliseconds after 1970-01-01T00:00:00Z: the clock's
    /// unless something later was recorded. Where the clock is behind that by more than [`MAX_CLOCK_SKEW`], it was set
    /// back, and time goes on from what was recorded.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn time(&self, clock: i64) -> Result<i64, StoreError> {
        let latest = self.latest_time()?;
        let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.saturating_sub(clock) <= MAX_CLOCK_SKEW {
            *behind = None;
            return Ok(latest.max(clock));
        }
        let (recorded, since) = behind.get_or_insert_with(|| (latest, Instant::now()));
        let elapsed = i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX);
        Ok(latest.max(recorded.saturating_add(elapsed)))
    }

    /// The states of all tenants' steps, last changed first; at most [`crate::MAX_LISTED`].
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn all_tenants_step_runs(&self) -> Result<Vec<(Tenant, StepRun)>, StoreError> {
        self.read(bundle::all_runs)
    }

    /// The decision with this id, and whose it is.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn all_tenants_decision(&self, id: &str) -> Result<Option<(Tenant, Decision)>, StoreError> {
        self.read(|connection| bundle::any_decision(connection, id))
    }

    /// The decision that was kept last, which the next one links to: decisions of all tenants are one chain.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn all_tenants_last_decision(&self) -> Result<Option<ChainTip>, StoreError> {
        self.read(bundle::last_decision)
    }

    /// All tenants' decisions that are wanted, newest first.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn all_tenants_decisions(&self, wanted: &DecisionsWanted) -> Result<Decisions, StoreError> {
        self.read(|connection| served::decisions(connection, None, wanted))
    }

    /// All tenants' findings, newest first, at most `limit` and [`crate::MAX_PAGE`].
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn all_tenants_findings(&self, limit: usize) -> Result<Vec<(Tenant, Finding)>, StoreError> {
        self.read(|connection| served::all_findings(connection, limit))
    }

    /// Allowed decisions whose execution should have been reported by `until` and was not, without a finding that says
    /// so; at most [`crate::MAX_LISTED`].
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn all_tenants_unreported(&self, until: i64) -> Result<Vec<(Tenant, Decision)>, StoreError> {
        self.read(|connection| served::unreported(connection, until))
    }

    /// The receipt with this id, whosever it is: of several that of the command line, then one issued here.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is not as it was kept, and whatever keeps the store from being read.
    pub fn all_tenants_receipt(&self, id: &ReceiptId) -> Result<Option<StoredReceipt>, StoreError> {
        self.read(|connection| kept::receipt(connection, None, id, None))
    }

    /// The ids of all tenants' receipts that begin with `prefix`, at most [`crate::MAX_FOUND`], in order. `prefix` has at
    /// least [`crate::MIN_PREFIX`] hex digits, with or without dashes.
    ///
    /// # Errors
    /// [`StoreError::Prefix`], and whatever keeps the store from being read.
    pub fn all_tenants_find(&self, prefix: &str) -> Result<Vec<ReceiptId>, StoreError> {
        let bounds = id_bounds(prefix).ok_or_else(|| StoreError::Prefix(prefix.chars().take(60).collect()));
        let (first, last) = bounds?;
        self.read(|connection| read::between(connection, &first, &last))
    }

    /// All tenants' receipts that `filter` lets through, newest first: in the reverse order of their being kept.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn all_tenants_receipts(&self, filter: &Filter) -> Result<Page, StoreError> {
        self.read(|connection| read::list(connection, None, filter))
    }

    fn connect(path: path::PathBuf) -> Result<Self, StoreError> {
        file::inspect(&path)?;
        let connection = schema::open_to_write(&path)?;
        Ok(Self {
            reader: Mutex::new(schema::open_to_read(&path)?),
            writer: Writer::start(connection, &path).map_err(|error| StoreError::of_io(&path, &error))?,
            path,
            behind: Mutex::default(),
        })
    }

    pub(crate) fn read<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let connection = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        question(&connection).map_err(|error| StoreError::of_sqlite(&self.path, &error))
    }
}

/// SQLite gives names like `:memory:` and `file:…` a meaning of their own; an absolute path has none.
fn absolute(path: &Path) -> Result<path::PathBuf, StoreError> {
    path::absolute(path).map_err(|error| StoreError::of_io(path, &error))
}

/// The smallest and the largest 16 bytes whose hex digits begin with `prefix`.
fn id_bounds(prefix: &str) -> Option<([u8; 16], [u8; 16])> {
    let digits: String = prefix.chars().filter(|&character| character != '-').collect();
    let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hex || digits.len() < MIN_PREFIX || digits.len() > 32 {
        return None;
    }
    let bound = |rest: &str| {
        let all = digits.clone() + &rest.repeat(32 - digits.len());
        u128::from_str_radix(&all, 16).ok().map(u128::to_be_bytes)
    };
    Some((bound("0")?, bound("f")?))
}
