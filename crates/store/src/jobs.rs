//! Jobs that outlive the process that accepted them, and the leases under which processes run them.
//!
//! The id of a job is the id that its receipt will have, so it has at most one. The process that runs a job holds a lease on
//! it. Once the lease has expired another process may take the job over, and from then on only the new owner can end it.
//! The store's own clock says when a lease expires: no process can hold one for longer by setting its clock.

use std::sync::mpsc::Sender;

use proofmark_receipt::ReceiptId;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::column;
use crate::error::StoreError;
use crate::scope::Scope;
use crate::tenant::Tenant;

/// How long a lease lasts unless it is renewed, in milliseconds.
/// Its process renews it every 3 seconds, so two renewals may fail before another process takes the job over.
pub const LEASE_MS: i64 = 10_000;

/// The most jobs that [`crate::Store::take_over_jobs`] takes at a time.
pub const MAX_TAKEN: usize = 64;

/// The most answers, and the most jobs, that [`crate::Store::prune`] deletes at a time.
/// The writer deletes in one transaction, and whatever else is submitted waits behind it.
pub const MAX_PRUNED: usize = 1000;

/// A job to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// Its id, which its receipt will have.
    pub job_id: ReceiptId,
    /// The request, as JSON.
    pub request: String,
    /// How many checks it has.
    pub checks: u64,
    /// The chain that its receipt continues.
    pub chain: String,
    /// The receipt that its own will supersede.
    pub supersedes: Option<ReceiptId>,
    /// The process that runs it, by a name that no other process uses. It gets a lease of [`LEASE_MS`].
    pub owner: String,
    /// When it was submitted, in milliseconds after 1970-01-01T00:00:00Z.
    pub created_at: i64,
}

/// Which process runs a job, and until when no other may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub owner: String,
    /// In milliseconds after 1970-01-01T00:00:00Z.
    pub until: i64,
}

/// The end of a stored job. Refused with [`StoreError::JobTaken`] where it has ended or has another owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd {
    pub job_id: ReceiptId,
    pub owner: String,
    pub state: JobState,
}

/// The state of a stored job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits or runs.
    Waiting,
    /// It has a receipt.
    Done,
    /// It ended without a receipt, for this reason.
    Failed(String),
    Cancelled,
}

/// A stored job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredJob {
    pub tenant: Tenant,
    pub job_id: ReceiptId,
    /// The request, as JSON; empty once the job has ended.
    pub request: String,
    /// How many checks it has.
    pub checks: u64,
    /// The chain that its receipt continues.
    pub chain: String,
    /// The receipt that its own will supersede.
    pub supersedes: Option<ReceiptId>,
    /// When it was submitted, in milliseconds after 1970-01-01T00:00:00Z.
    pub created_at: i64,
    /// None once it has ended, or when its owner has released it.
    pub lease: Option<Lease>,
    pub state: JobState,
}

/// A change of stored jobs. What it finds is sent before the commit, and counts only after it.
pub(crate) enum Change {
    TakeOver {
        owner: String,
        limit: usize,
        found: Sender<Vec<StoredJob>>,
    },
    Renew {
        owner: String,
        found: Sender<Vec<(Tenant, ReceiptId)>>,
    },
    Release {
        owner: String,
    },
    Cancel {
        tenant: Tenant,
        job_id: ReceiptId,
        found: Sender<bool>,
    },
    /// Deletes what is older than this, in milliseconds.
    Prune {
        age: i64,
        found: Sender<usize>,
    },
}

impl Change {
    /// Applies the change at the time `now`. A caller that no longer waits for what is found does not get it.
    pub(crate) fn apply(&self, connection: &Connection, now: i64) -> rusqlite::Result<()> {
        match self {
            Self::TakeOver { owner, limit, found } => drop(found.send(take_over(connection, owner, *limit, now)?)),
            Self::Renew { owner, found } => drop(found.send(renew(connection, owner, now)?)),
            Self::Release { owner } => {
                // 0 is earlier than any lease, so released jobs are taken over first.
                let sql = "UPDATE jobs SET owner = NULL, lease_until = 0 WHERE state = 'waiting' AND owner = ?1";
                connection.prepare_cached(sql)?.execute([owner])?;
            }
            Self::Cancel { tenant, job_id, found } => {
                // Without an owner the process that runs it can no longer end it. The request may be long, and is not
                // run again.
                let sql = "UPDATE jobs SET state = 'cancelled', owner = NULL, request = '', finished_at = ?3
                           WHERE job_id = ?1 AND tenant = ?2 AND state = 'waiting'";
                let key = params![job_id.as_bytes(), tenant.as_str(), now];
                let cancelled = connection.prepare_cached(sql)?.execute(key)? > 0;
                let _not_waited_for = found.send(cancelled);
            }
            Self::Prune { age, found } => drop(found.send(prune(connection, now.saturating_sub(*age))?)),
        }
        Ok(())
    }
}

impl NewJob {
    /// A receipt that a client brought under the job's id takes nothing from the job.
    pub(crate) fn refusal(&self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        // Jobs of all tenants: their ids are one primary key, and a conflict in `put` would fail the whole group.
        let sql = "SELECT 1 FROM jobs WHERE job_id = ?1
                   UNION ALL SELECT 1 FROM receipts WHERE receipt_id = ?1 AND tenant = ?2 AND trust IS NULL";
        let key = params![self.job_id.as_bytes(), scope.tenant.as_str()];
        let taken = scope.connection.prepare_cached(sql)?.exists(key)?;
        Ok(taken.then_some(StoreError::JobTaken(self.job_id)))
    }

    pub(crate) fn put(&self, scope: &Scope<'_>) -> rusqlite::Result<()> {
        let sql = "INSERT INTO jobs (job_id, tenant, state, request, checks, chain, supersedes, owner, lease_until,
                                     created_at)
                   VALUES (?1, ?2, 'waiting', ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let values = params![
            self.job_id.as_bytes(),
            scope.tenant.as_str(),
            self.request,
            self.checks.cast_signed(),
            self.chain,
            self.supersedes.as_ref().map(ReceiptId::as_bytes),
            self.owner,
            scope.now.saturating_add(LEASE_MS),
            self.created_at,
        ];
        scope.connection.prepare_cached(sql)?.execute(values).map(drop)
    }
}

impl JobEnd {
    pub(crate) fn refusal(&self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        // The time of the lease does not matter: until another process takes the job over, its work here counts.
        let sql = "SELECT 1 FROM jobs WHERE job_id = ?1 AND owner = ?2 AND tenant = ?3 AND state = 'waiting'";
        let key = params![self.job_id.as_bytes(), self.owner, scope.tenant.as_str()];
        let owned = scope.connection.prepare_cached(sql)?.exists(key)?;
        Ok((!owned).then_some(StoreError::JobTaken(self.job_id)))
    }

    pub(crate) fn put(&self, scope: &Scope<'_>) -> rusqlite::Result<()> {
        let (state, error) = match &self.state {
            JobState::Waiting => ("waiting", None),
            JobState::Done => ("done", None),
            JobState::Failed(error) => ("failed", Some(error)),
            JobState::Cancelled => ("cancelled", None),
        };
        // `refusal` has found the owner and the tenant in this transaction.
        let sql = "UPDATE jobs SET state = ?2, error = ?3, owner = NULL, request = '', finished_at = ?4
                   WHERE job_id = ?1";
        let values = params![self.job_id.as_bytes(), state, error, scope.now];
        scope.connection.prepare_cached(sql)?.execute(values).map(drop)
    }
}

fn take_over(connection: &Connection, owner: &str, limit: usize, now: i64) -> rusqlite::Result<Vec<StoredJob>> {
    let sql = format!(
        "UPDATE jobs SET owner = ?1, lease_until = ?2 WHERE job_id IN
             (SELECT job_id FROM jobs WHERE state = 'waiting' AND lease_until < ?3
              ORDER BY lease_until, created_at LIMIT ?4)
         RETURNING {JOB_WITHOUT_REQUEST}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let values = params![owner, now.saturating_add(LEASE_MS), now, limit.min(MAX_TAKEN) as i64];
    let mut taken = statement.query_map(values, read_job)?.collect::<rusqlite::Result<Vec<_>>>()?;
    // The rows that an update returns have no order.
    taken.sort_by_key(|job| job.created_at);
    Ok(taken)
}

fn renew(connection: &Connection, owner: &str, now: i64) -> rusqlite::Result<Vec<(Tenant, ReceiptId)>> {
    let sql = "UPDATE jobs SET lease_until = ?2 WHERE state = 'waiting' AND owner = ?1
               RETURNING job_id, tenant";
    let mut statement = connection.prepare_cached(sql)?;
    let read = |row: &Row<'_>| Ok((Tenant::stored(row.get_ref(1)?.as_str()?), column::receipt_id(row, 0)?));
    statement.query_map(params![owner, now.saturating_add(LEASE_MS)], read)?.collect()
}

fn prune(connection: &Connection, before: i64) -> rusqlite::Result<usize> {
    // `DELETE … LIMIT` depends on how SQLite was compiled; a subquery does not. A job that waits has no end, and NULL
    // is not less than any time, so it stays.
    let answers = "DELETE FROM answers WHERE rowid IN (SELECT rowid FROM answers WHERE answered_at < ?1 LIMIT ?2)";
    let jobs = "DELETE FROM jobs WHERE rowid IN (SELECT rowid FROM jobs WHERE finished_at < ?1 LIMIT ?2)";
    let limit = MAX_PRUNED as i64;
    let answers = connection.prepare_cached(answers)?.execute([before, limit])?;
    Ok(answers + connection.prepare_cached(jobs)?.execute([before, limit])?)
}

pub(crate) fn job(connection: &Connection, tenant: &Tenant, id: &ReceiptId) -> rusqlite::Result<Option<StoredJob>> {
    let sql = format!("SELECT {JOB} FROM jobs WHERE job_id = ?1 AND tenant = ?2");
    connection.prepare_cached(&sql)?.query_row(params![id.as_bytes(), tenant.as_str()], read_job).optional()
}

// The empty text keeps the positions of the columns, so that one function reads both.
const JOB_WITHOUT_REQUEST: &str =
    "job_id, tenant, state, '', checks, chain, supersedes, owner, lease_until, error, created_at";
const JOB: &str = "job_id, tenant, state, request, checks, chain, supersedes, owner, lease_until, error, created_at";

fn read_job(row: &Row<'_>) -> rusqlite::Result<StoredJob> {
    let state = match row.get_ref(2)?.as_str()? {
        "waiting" => JobState::Waiting,
        "done" => JobState::Done,
        "failed" => JobState::Failed(row.get::<_, Option<String>>(9)?.unwrap_or_default()),
        "cancelled" => JobState::Cancelled,
        other => return Err(column::changed(2, Type::Text, format!("unknown state `{other}` of a job"))),
    };
    let supersedes = row.get::<_, Option<[u8; 16]>>(6)?.is_some();
    let until = row.get(8)?;
    Ok(StoredJob {
        tenant: Tenant::stored(row.get_ref(1)?.as_str()?),
        job_id: column::receipt_id(row, 0)?,
        request: row.get(3)?,
        checks: column::count(row, 4)?,
        chain: row.get(5)?,
        supersedes: supersedes.then(|| column::receipt_id(row, 6)).transpose()?,
        created_at: row.get(10)?,
        // The column `lease_until` is never NULL: whether there is a lease is told by the owner.
        lease: row.get::<_, Option<String>>(7)?.map(|owner| Lease { owner, until }),
        state,
    })
}
