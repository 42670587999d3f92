use std::path::{self, Path};
use std::sync::{Mutex, PoisonError};

use proofmark_receipt::{ChainTip, Receipt, ReceiptId, Trust};
use rusqlite::Connection;

use crate::bundle::{self, Bundle, BundleRow, Decision, StepRun};
use crate::error::StoreError;
use crate::page::{Cursor, Filter, Page};
use crate::read::MIN_PREFIX;
use crate::served::{self, Answer, Decisions, DecisionsWanted, Findings, Review};
use crate::write::{ReceiptRow, Write};
use crate::writer::{Pending, Writer};
use crate::{file, read, schema};

/// Receipts on disk. Threads share it by reference; processes share its file.
pub struct Store {
    reader: Mutex<Connection>,
    pub(crate) writer: Writer,
    path: path::PathBuf,
}

/// A receipt to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct NewReceipt {
    /// The receipt.
    pub receipt: Receipt,
    /// The chain it continues: its metadata must link it to that chain's tip.
    pub chain: Option<String>,
    /// Whose it is; empty where tenants are not told apart.
    pub tenant: String,
    /// For a receipt issued elsewhere, whether its signer is trusted; none when it was issued here.
    pub trust: Option<Trust>,
}

impl NewReceipt {
    /// A receipt issued here, in no chain, where tenants are not told apart.
    #[must_use]
    pub fn of(receipt: Receipt) -> Self {
        Self { receipt, chain: None, tenant: String::new(), trust: None }
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

    /// Hands a receipt to the writer, which keeps receipts in the order they are handed over. Waits while too many are
    /// ahead of it.
    pub fn submit(&self, new: NewReceipt) -> Pending {
        let row = ReceiptRow::new(new);
        self.writer.submit(row.map(|row| Write::Receipt(Box::new(row))))
    }

    /// Hands over what is to be kept together or not at all.
    pub fn submit_bundle(&self, bundle: Bundle) -> Pending {
        self.writer.submit(BundleRow::new(bundle).map(|row| Write::Bundle(Box::new(row))))
    }

    /// Writes and reads something that means nothing: whether the disk has room and the database takes what comes.
    ///
    /// # Errors
    /// Whatever keeps the store from being written or read.
    pub fn probe(&self) -> Result<(), StoreError> {
        self.writer.submit(Ok(Write::Probe)).wait()?;
        self.read(|connection| connection.query_row("SELECT probed FROM probe", [], |_| Ok(())))
    }

    /// The state of a step in a run; none before its first judgment.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn step_run(&self, run: &str, step: &str) -> Result<Option<StepRun>, StoreError> {
        self.read(|connection| bundle::step_run(connection, run, step))
    }

    /// The states of all steps, or of those of one run, last changed first; at most [`crate::MAX_LISTED`].
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn step_runs(&self, run: Option<&str>) -> Result<Vec<StepRun>, StoreError> {
        self.read(|connection| bundle::runs(connection, run))
    }

    /// Whether a receipt that counts once was used up.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn is_spent(&self, id: &ReceiptId) -> Result<bool, StoreError> {
        self.read(|connection| bundle::is_spent(connection, id))
    }

    /// The decision with this id.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn decision(&self, id: &str) -> Result<Option<Decision>, StoreError> {
        self.read(|connection| bundle::decision(connection, id))
    }

    /// The decision that was kept last, which the next one links to.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn last_decision(&self) -> Result<Option<Decision>, StoreError> {
        self.read(bundle::last_decision)
    }

    /// Decisions on the action with this fingerprint, newest first; at most [`crate::MAX_LISTED`].
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn decisions_on(&self, fingerprint: &str) -> Result<Vec<Decision>, StoreError> {
        self.read(|connection| bundle::decisions_on(connection, fingerprint))
    }

    /// The decisions that are wanted, newest first.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn decisions(&self, wanted: &DecisionsWanted) -> Result<Decisions, StoreError> {
        self.read(|connection| served::decisions(connection, wanted))
    }

    /// What was answered to the request with this key.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn answer(&self, tenant: &str, key: &str) -> Result<Option<Answer>, StoreError> {
        self.read(|connection| served::answer(connection, tenant, key))
    }

    /// How often a tenant's action with this fingerprint was denied since it was allowed last.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn denied(&self, tenant: &str, fingerprint: &str) -> Result<u64, StoreError> {
        self.read(|connection| served::denied(connection, tenant, fingerprint))
    }

    /// How often the action of this decision was reported as executed.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn times_executed(&self, decision_id: &str) -> Result<u64, StoreError> {
        self.read(|connection| served::times_executed(connection, decision_id))
    }

    /// A tenant's findings, newest first, at most `limit` after the place `after`; of all tenants when none is named.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn findings(&self, tenant: Option<&str>, limit: usize, after: Option<Cursor>) -> Result<Findings, StoreError> {
        self.read(|connection| served::findings(connection, tenant, limit, after))
    }

    /// Allowed decisions whose execution should have been reported by `until` and was not, without a finding that says
    /// so; at most [`crate::MAX_LISTED`].
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn unreported(&self, until: i64) -> Result<Vec<Decision>, StoreError> {
        self.read(|connection| served::unreported(connection, until))
    }

    /// The review of a decision.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn review(&self, decision_id: &str) -> Result<Option<Review>, StoreError> {
        self.read(|connection| served::review(connection, decision_id))
    }

    /// The receipt with this id, as it was kept.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is not as it was kept, and whatever keeps the store from being read.
    pub fn receipt(&self, id: &ReceiptId) -> Result<Option<Receipt>, StoreError> {
        self.read(|connection| read::receipt(connection, id))
    }

    /// The ids that begin with `prefix`, at most [`crate::MAX_FOUND`], in order. `prefix` has at least
    /// [`crate::MIN_PREFIX`] hex digits, with or without dashes.
    ///
    /// # Errors
    /// [`StoreError::Prefix`], and whatever keeps the store from being read.
    pub fn find(&self, prefix: &str) -> Result<Vec<ReceiptId>, StoreError> {
        let bounds = id_bounds(prefix).ok_or_else(|| StoreError::Prefix(prefix.chars().take(60).collect()));
        let (first, last) = bounds?;
        self.read(|connection| read::between(connection, &first, &last))
    }

    /// The receipts `filter` lets through, newest first: in the reverse order of their being kept.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn list(&self, filter: &Filter) -> Result<Page, StoreError> {
        self.read(|connection| read::list(connection, filter))
    }

    /// The receipts over one output, as `hashes.output` names it, of this tenant or of none, newest first; at most
    /// [`crate::MAX_PAGE`].
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when one is not as it was kept, and whatever keeps the store from being read.
    pub fn receipts_over(&self, tenant: &str, output: &str) -> Result<Vec<Receipt>, StoreError> {
        self.read(|connection| read::over(connection, tenant, output))
    }

    /// The receipts of a chain, first to last; none when there is no such chain.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn chain(&self, name: &str) -> Result<Vec<Receipt>, StoreError> {
        self.read(|connection| read::chain(connection, name))
    }

    /// The receipts of a chain from this position on, first to last; at most `limit` and [`crate::MAX_PAGE`].
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn chain_from(&self, name: &str, position: u64, limit: usize) -> Result<Vec<Receipt>, StoreError> {
        self.read(|connection| read::chain_from(connection, name, position, limit))
    }

    /// The chains' names and how many receipts each has, by name.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn chains(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.read(read::chains)
    }

    /// The last receipt of a chain, which the next one links to; none when there is no such chain.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn tip(&self, chain: &str) -> Result<Option<ChainTip>, StoreError> {
        self.read(|connection| read::tip(connection, chain))
    }

    fn connect(path: path::PathBuf) -> Result<Self, StoreError> {
        file::inspect(&path)?;
        let connection = schema::open_to_write(&path)?;
        Ok(Self {
            reader: Mutex::new(schema::open_to_read(&path)?),
            writer: Writer::start(connection, &path).map_err(|error| StoreError::of_io(&path, &error))?,
            path,
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
