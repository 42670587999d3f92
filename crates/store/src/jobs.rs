//! Jobs that outlive the process that took them, and the leases under which processes run them.
//!
//! The id of a job is the id its receipt will have, so that it can have one alone. Who runs a job holds a lease on it;
//! once that has run out another may take the job over, and then only the new owner can end it.

use std::sync::mpsc::{self, Sender};

use proofmark_receipt::ReceiptId;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::bundle::Bundle;
use crate::error::StoreError;
use crate::read;
use crate::store::Store;
use crate::tenant::Tenant;
use crate::write::Write;

/// The most jobs [`Store::take_over_jobs`] gives at a time.
pub const MAX_TAKEN: usize = 64;

/// The most answers, and the most jobs, that [`Store::prune`] deletes at a time.
pub const MAX_PRUNED: usize = 1000;

/// A job to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// Its id, which its receipt will have.
    pub job_id: ReceiptId,
    /// What is asked, as JSON.
    pub request: String,
    /// How many checks it has.
    pub checks: u64,
    /// The chain its receipt continues.
    pub chain: String,
    /// The receipt that its own will supersede.
    pub supersedes: Option<ReceiptId>,
    /// Who runs it.
    pub lease: Lease,
    /// When it was asked for, in milliseconds after 1970-01-01T00:00:00Z.
    pub created_at: i64,
}

/// Who runs jobs, and until when nobody else may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// A name no other process uses.
    pub owner: String,
    /// In milliseconds after 1970-01-01T00:00:00Z.
    pub until: i64,
}

/// How a job that was kept ends. Refused with [`StoreError::JobTaken`] where it has ended or has another owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd {
    /// The job.
    pub job_id: ReceiptId,
    /// Who runs it.
    pub owner: String,
    /// What came of it.
    pub state: JobState,
}

/// Where a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits or runs.
    Waiting,
    /// Its receipt is kept.
    Done,
    /// It came to nothing, for this reason.
    Failed(String),
    /// It was called off.
    Cancelled,
}

/// A job as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredJob {
    /// Whose it is.
    pub tenant: Tenant,
    /// The job. Its `request` is empty once it has ended, its lease without an owner.
    pub job: NewJob,
    /// Where it is.
    pub state: JobState,
}

impl Store {
    /// Takes over jobs whose lease has run out by `now`, oldest lease first, at most `limit` and [`MAX_TAKEN`]. Their
    /// requests are left out, however long they are: [`crate::TenantStore::job`] has them.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    pub fn take_over_jobs(&self, lease: &Lease, now: i64, limit: usize) -> Result<Vec<StoredJob>, StoreError> {
        let (found, taken) = mpsc::channel();
        self.change(Change::TakeOver { lease: lease.clone(), now, limit: limit.min(MAX_TAKEN), found })?;
        Ok(taken.try_recv().unwrap_or_default())
    }

    /// Prolongs all leases of this owner at `now`; the ids of their jobs, and whose they are.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    pub fn renew_leases(&self, lease: &Lease, now: i64) -> Result<Vec<(Tenant, ReceiptId)>, StoreError> {
        let (found, renewed) = mpsc::channel();
        self.change(Change::Renew { lease: lease.clone(), now, found })?;
        Ok(renewed.try_recv().unwrap_or_default())
    }

    /// Ends all leases of this owner, so that others may run its jobs at once.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    pub fn release_leases(&self, owner: &str) -> Result<(), StoreError> {
        self.change(Change::Release { owner: owner.to_owned() })
    }

    /// Forgets answers that were given, and jobs that ended, before this time in milliseconds after
    /// 1970-01-01T00:00:00Z; how many, at most twice [`MAX_PRUNED`]. Receipts stay.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    pub fn prune(&self, before: i64) -> Result<usize, StoreError> {
        let (found, pruned) = mpsc::channel();
        self.change(Change::Prune { before, found })?;
        Ok(pruned.try_recv().unwrap_or_default())
    }

    pub(crate) fn change(&self, change: Change) -> Result<(), StoreError> {
        self.writer.submit(Ok(Write::Jobs(change))).wait()
    }
}

/// A change of jobs that are kept. What it finds is sent before the commit, and counts only after it.
pub(crate) enum Change {
    TakeOver { lease: Lease, now: i64, limit: usize, found: Sender<Vec<StoredJob>> },
    Renew { lease: Lease, now: i64, found: Sender<Vec<(Tenant, ReceiptId)>> },
    Release { owner: String },
    Cancel { job_id: ReceiptId, tenant: Tenant, at: i64, found: Sender<bool> },
    Prune { before: i64, found: Sender<usize> },
}

impl Change {
    /// When it was asked for; 0 where that was not said.
    pub(crate) fn at(&self) -> i64 {
        match self {
            Self::TakeOver { now, .. } | Self::Renew { now, .. } => *now,
            Self::Cancel { at, .. } => *at,
            Self::Release { .. } | Self::Prune { .. } => 0,
        }
    }

    pub(crate) fn apply(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        match self {
            Self::TakeOver { lease, now, limit, found } => {
                drop(found.send(take_over(transaction, lease, *now, *limit)?));
            }
            Self::Renew { lease, found, .. } => drop(found.send(renew(transaction, lease)?)),
            Self::Release { owner } => {
                let sql = "UPDATE jobs SET owner = NULL, lease_until = 0 WHERE state = 'waiting' AND owner = ?1";
                transaction.prepare_cached(sql)?.execute([owner])?;
            }
            Self::Cancel { job_id, tenant, at, found } => {
                let sql = "UPDATE jobs SET state = 'cancelled', owner = NULL, request = '', finished_at = ?3
                           WHERE job_id = ?1 AND tenant = ?2 AND state = 'waiting'";
                let changed =
                    transaction.prepare_cached(sql)?.execute(params![job_id.as_bytes(), tenant.as_str(), at])?;
                let _nobody_asks = found.send(changed > 0);
            }
            Self::Prune { before, found } => drop(found.send(prune(transaction, *before)?)),
        }
        Ok(())
    }
}

/// Why this part of a bundle cannot be kept, if so. Ids of jobs are drawn here; a receipt that somebody brought under
/// one takes nothing from the job.
pub(crate) fn refusal(
    connection: &Connection,
    tenant: &Tenant,
    bundle: &Bundle,
) -> rusqlite::Result<Option<StoreError>> {
    if let Some(new) = &bundle.new_job {
        let sql = "SELECT 1 FROM jobs WHERE job_id = ?1
                   UNION ALL SELECT 1 FROM receipts WHERE receipt_id = ?1 AND tenant = ?2 AND trust IS NULL";
        if connection.prepare_cached(sql)?.exists(params![new.job_id.as_bytes(), tenant.as_str()])? {
            return Ok(Some(StoreError::JobTaken(new.job_id)));
        }
    }
    if let Some(end) = &bundle.job {
        let sql = "SELECT 1 FROM jobs WHERE job_id = ?1 AND owner = ?2 AND tenant = ?3 AND state = 'waiting'";
        if !connection.prepare_cached(sql)?.exists(params![end.job_id.as_bytes(), end.owner, tenant.as_str()])? {
            return Ok(Some(StoreError::JobTaken(end.job_id)));
        }
    }
    Ok(None)
}

/// Writes this part of a bundle.
pub(crate) fn put(transaction: &Transaction<'_>, tenant: &Tenant, bundle: &Bundle) -> rusqlite::Result<()> {
    if let Some(new) = &bundle.new_job {
        let sql = "INSERT INTO jobs (job_id, tenant, state, request, checks, chain, supersedes, owner, lease_until,
                                     created_at)
                   VALUES (?1, ?2, 'waiting', ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        transaction.prepare_cached(sql)?.execute(params![
            new.job_id.as_bytes(),
            tenant.as_str(),
            new.request,
            new.checks.cast_signed(),
            new.chain,
            new.supersedes.as_ref().map(ReceiptId::as_bytes),
            new.lease.owner,
            new.lease.until,
            new.created_at,
        ])?;
    }
    if let Some(end) = &bundle.job {
        let (state, error) = match &end.state {
            JobState::Waiting => ("waiting", None),
            JobState::Done => ("done", None),
            JobState::Failed(error) => ("failed", Some(error)),
            JobState::Cancelled => ("cancelled", None),
        };
        let sql = "UPDATE jobs SET state = ?2, error = ?3, owner = NULL, request = '', finished_at = ?4
                   WHERE job_id = ?1";
        transaction.prepare_cached(sql)?.execute(params![end.job_id.as_bytes(), state, error, bundle.at])?;
    }
    Ok(())
}

fn take_over(transaction: &Transaction<'_>, lease: &Lease, now: i64, limit: usize) -> rusqlite::Result<Vec<StoredJob>> {
    let sql = format!(
        "UPDATE jobs SET owner = ?1, lease_until = ?2 WHERE job_id IN
             (SELECT job_id FROM jobs WHERE state = 'waiting' AND lease_until < ?3
              ORDER BY lease_until, created_at LIMIT ?4)
         RETURNING {JOB_WITHOUT_REQUEST}"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let rows = statement.query_map(params![lease.owner, lease.until, now, limit as i64], read_job)?;
    let mut taken = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    // What an update returns has no order.
    taken.sort_by_key(|one| one.job.created_at);
    Ok(taken)
}

fn renew(transaction: &Transaction<'_>, lease: &Lease) -> rusqlite::Result<Vec<(Tenant, ReceiptId)>> {
    let sql = "UPDATE jobs SET lease_until = ?2 WHERE state = 'waiting' AND owner = ?1
               RETURNING job_id, tenant";
    let mut statement = transaction.prepare_cached(sql)?;
    let read = |row: &Row<'_>| Ok((Tenant::kept(row.get_ref(1)?.as_str()?), read::receipt_id(row, 0)?));
    statement.query_map(params![lease.owner, lease.until], read)?.collect()
}

fn prune(transaction: &Transaction<'_>, before: i64) -> rusqlite::Result<usize> {
    let answers = "DELETE FROM answers WHERE rowid IN (SELECT rowid FROM answers WHERE answered_at < ?1 LIMIT ?2)";
    let jobs = "DELETE FROM jobs WHERE rowid IN (SELECT rowid FROM jobs WHERE finished_at < ?1 LIMIT ?2)";
    let limit = MAX_PRUNED as i64;
    let answers = transaction.prepare_cached(answers)?.execute([before, limit])?;
    Ok(answers + transaction.prepare_cached(jobs)?.execute([before, limit])?)
}

pub(crate) fn job(connection: &Connection, tenant: &Tenant, id: &ReceiptId) -> rusqlite::Result<Option<StoredJob>> {
    let sql = format!("SELECT {JOB} FROM jobs WHERE job_id = ?1 AND tenant = ?2");
    connection.prepare_cached(&sql)?.query_row(params![id.as_bytes(), tenant.as_str()], read_job).optional()
}

const JOB_WITHOUT_REQUEST: &str =
    "job_id, tenant, state, '', checks, chain, supersedes, owner, lease_until, error, created_at";
const JOB: &str = "job_id, tenant, state, request, checks, chain, supersedes, owner, lease_until, error, created_at";

fn read_job(row: &Row<'_>) -> rusqlite::Result<StoredJob> {
    let state = match row.get_ref(2)?.as_str()? {
        "waiting" => JobState::Waiting,
        "done" => JobState::Done,
        "failed" => JobState::Failed(row.get::<_, Option<String>>(9)?.unwrap_or_default()),
        "cancelled" => JobState::Cancelled,
        other => return Err(read::changed(2, Type::Text, format!("`{other}` is no state of a job"))),
    };
    let supersedes = row.get::<_, Option<[u8; 16]>>(6)?.is_some();
    let owner: Option<String> = row.get(7)?;
    let job = NewJob {
        job_id: read::receipt_id(row, 0)?,
        request: row.get(3)?,
        checks: read::count(row, 4)?,
        chain: row.get(5)?,
        supersedes: supersedes.then(|| read::receipt_id(row, 6)).transpose()?,
        lease: Lease { owner: owner.unwrap_or_default(), until: row.get(8)? },
        created_at: row.get(10)?,
    };
    Ok(StoredJob { tenant: Tenant::kept(row.get_ref(1)?.as_str()?), job, state })
}
