//! Which process has a job: claiming, giving back, cancelling, and deleting what is over.
//!
//! A process claims as many jobs as it has room for, by its name. While its lease lasts ([`crate::rows::workers`]) the jobs are its
//! own. When it ends, any process gives them back; a job that was with [`MAX_LOST`] processes when they ended has failed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::mpsc::Sender;

use proofmark_receipt::ReceiptId;

use crate::engine::Engine;
use crate::engine::db::Db;
use crate::fault::Fault;
use crate::hint::Hint;
use crate::row::Row;
use crate::rows::duties;
use crate::rows::jobs::{StoredJob, read_job, without_request};
use crate::rows::workers::{self, Presence};
use crate::statement::{Question, Statement};
use crate::tables::JOBS;
use crate::tenant::Tenant;
use crate::value::{Value, values};

/// The most jobs that [`crate::Store::claim`] takes at a time, of those that run something, and of the others.
pub const MAX_CLAIMED: usize = 64;

/// How many processes may end while they have a job before it is ended as failed.
pub const MAX_LOST: i64 = 5;

/// The most answers, and the most jobs, that [`crate::Store::prune`] deletes at a time.
/// The writer deletes in one transaction, and whatever else is submitted waits behind it.
pub const MAX_PRUNED: usize = 1000;

/// The jobs that wait for any process and that one can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runnable {
    /// Those that need one of these.
    Only(Vec<String>),
    /// Those that need none of these.
    AllBut(Vec<String>),
}

/// What a process claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The name of its lease.
    pub owner: String,
    /// How many jobs that run something, at most [`MAX_CLAIMED`].
    pub running: usize,
    /// How many jobs that run nothing, at most [`MAX_CLAIMED`].
    pub quick: usize,
    pub runnable: Runnable,
}

/// What came of cancelling a stored job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobCancelled {
    /// It is cancelled.
    Now,
    /// Another process has it and lives: it finds out, and ends the job.
    Asked,
    /// It had ended, or the tenant has no such job.
    No,
}

/// How many jobs there are, and who runs them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFigures {
    /// Jobs that wait for any process.
    pub waiting: u64,
    /// How many of them need what ([`crate::NewJob::needs`]).
    pub needs: BTreeMap<String, u64>,
    /// When the oldest of them was submitted, in milliseconds after 1970-01-01T00:00:00Z.
    pub oldest: Option<i64>,
    /// Jobs that processes have.
    pub owned: u64,
}

/// A change of stored jobs. What it finds is sent before the commit, and counts only after it. It is sent again when the
/// group is settled again.
pub(crate) enum Change {
    Claim {
        claim: Claim,
        found: Sender<Vec<StoredJob>>,
    },
    Renew(Presence),
    /// How many jobs were given back, or have failed, is sent.
    GiveBack {
        found: Sender<usize>,
    },
    /// Gives back one job of this owner.
    Release {
        owner: String,
        job_id: ReceiptId,
    },
    /// Ends the lease of this owner, and gives back all its jobs.
    GiveUp {
        owner: String,
    },
    /// Takes on what one process does for all, unless another one has it.
    TakeOn {
        duty: String,
        owner: String,
    },
    Cancel {
        tenant: Tenant,
        job_id: ReceiptId,
        by: String,
        found: Sender<JobCancelled>,
    },
    /// Deletes what is older than this, in milliseconds.
    Prune {
        age: i64,
        found: Sender<usize>,
    },
}

impl Change {
    /// Applies the change at the time `now`; what it hints at. A caller that no longer waits for what is found does not get it.
    pub(crate) fn apply(&self, engine: &mut Engine, now: i64) -> Result<Hint, Fault> {
        Ok(match self {
            Self::Claim { claim: wanted, found } => {
                let claimed = claim(engine, wanted)?;
                let hint = if claimed.is_empty() { Hint::NONE } else { Hint::MOVED };
                drop(found.send(claimed));
                hint
            }
            Self::Renew(presence) => {
                engine.tell(workers::renew(presence, now))?;
                if presence.progress.is_empty() { Hint::NONE } else { Hint::MOVED }
            }
            Self::GiveBack { found } => {
                let _not_waited_for = found.send(give_back(engine, now)?);
                Hint::WAITING | Hint::MOVED
            }
            Self::Release { owner, job_id } => {
                let condition = "owner = $2 AND job_id = $3 AND state = 'waiting'";
                engine.tell(vec![Statement::other(vacate(condition), values![now, owner, job_id.as_bytes()])])?;
                Hint::WAITING | Hint::MOVED
            }
            Self::GiveUp { owner } => {
                let vacate = vacate("owner = $2 AND state = 'waiting'");
                engine.tell(vec![workers::give_up(owner, now), Statement::other(vacate, values![now, owner])])?;
                Hint::WAITING | Hint::MOVED
            }
            Self::TakeOn { duty, owner } => {
                duties::take_on(engine, duty, owner, now)?;
                Hint::NONE
            }
            Self::Cancel { tenant, job_id, by, found } => {
                let cancelled = cancel(engine, tenant, job_id, by, now)?;
                let _not_waited_for = found.send(cancelled);
                match cancelled {
                    JobCancelled::Now => Hint::MOVED,
                    JobCancelled::Asked => Hint::CANCELLING,
                    JobCancelled::No => Hint::NONE,
                }
            }
            Self::Prune { age, found } => {
                let _not_waited_for = found.send(prune(engine, now.saturating_sub(*age))?);
                Hint::NONE
            }
        })
    }
}

impl Runnable {
    /// The condition on a job's needs, its values being numbered from `first`.
    fn condition(&self, first: usize) -> String {
        let (word, needs) = match self {
            Self::Only(needs) => ("IN", needs),
            Self::AllBut(needs) => ("NOT IN", needs),
        };
        if needs.is_empty() {
            // PostgreSQL has no empty lists.
            return if matches!(self, Self::Only(_)) { "FALSE" } else { "TRUE" }.to_owned();
        }
        let places: Vec<String> = (first..first + needs.len()).map(|place| format!("${place}")).collect();
        format!("needs {word} ({})", places.join(", "))
    }

    fn values(&self) -> impl Iterator<Item = Value> {
        let (Self::Only(needs) | Self::AllBut(needs)) = self;
        needs.iter().map(Value::from)
    }
}

/// Claims what has waited for the most turns.
fn claim(engine: &mut Engine, claim: &Claim) -> Result<Vec<StoredJob>, Fault> {
    let runnable = format!("needs <> '' AND {}", claim.runnable.condition(3));
    let quick = (claim.quick > 0).then(|| claim_some(claim, "needs = ''", claim.quick, &[]));
    let values: Vec<Value> = claim.runnable.values().collect();
    let running = (claim.running > 0).then(|| claim_some(claim, &runnable, claim.running, &values));
    // Both in one round trip: other processes wait meanwhile.
    let questions: Vec<Question> = quick.into_iter().chain(running).collect();
    let mut claimed = Vec::new();
    for row in engine.ask(&questions)?.iter().flatten() {
        let row = Row::Record(row);
        claimed.push((JOBS.fields(&row).get::<i64>("turn")?, read_job(&row)?));
    }
    // New jobs queue up behind those that were claimed last, so that a tenant without jobs saves up no turns.
    if let Some(last) = claimed.iter().map(|(turn, _)| *turn).max() {
        engine.tell(vec![Statement::other("UPDATE clock SET turn = $1 WHERE turn < $1", values![last])])?;
    }
    // The rows that an update returns have no order.
    claimed.sort_by_key(|(turn, job)| (*turn, job.created_at));
    Ok(claimed.into_iter().map(|(_, job)| job).collect())
}

/// The claim of at most `limit` jobs that fulfil a condition with these values.
fn claim_some(claim: &Claim, condition: &str, limit: usize, values: &[Value]) -> Question {
    let sql = format!(
        "UPDATE jobs SET owner = $1, attempt = attempt + 1 WHERE job_id IN
             (SELECT job_id FROM jobs WHERE state = 'waiting' AND owner IS NULL AND {condition}
              ORDER BY turn, created_at LIMIT $2)
         RETURNING {}",
        without_request()
    );
    let values = values![&claim.owner, limit.min(MAX_CLAIMED) as i64].into_iter().chain(values.iter().cloned());
    Question::alone(sql, values.collect::<Vec<_>>())
}

/// Whose owner does not live at the time `$1`.
const IS_LOST: &str = "state = 'waiting' AND owner IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.owner = jobs.owner AND workers.alive_until > $1)";

/// Gives back the jobs of processes that have ended; how many they had.
fn give_back(engine: &mut Engine, now: i64) -> Result<usize, Fault> {
    // A job that its own server had not begun is not blamed for the server's end.
    let lost = format!("UPDATE jobs SET lost = lost + 1 WHERE attempt > 0 AND {IS_LOST}");
    let failed = format!(
        "UPDATE jobs SET state = 'failed', error = $2, owner = NULL, request = '', finished_at = $1
         WHERE lost >= {MAX_LOST} AND cancelling = 0 AND {IS_LOST} RETURNING 1"
    );
    let why = format!("{MAX_LOST} workers ended while they ran it");
    engine.tell(vec![Statement::other(lost, values![now])])?;
    let failed = engine.rows(failed, values![now, why])?.len();
    let given_back = engine.rows(format!("{} RETURNING 1", vacate(IS_LOST)), values![now])?.len();
    Ok(failed + given_back)
}

/// Takes jobs from their owners: those that are to be cancelled end, and the others wait for any process. The first value is
/// the time, and the others are those of the condition.
fn vacate(condition: &str) -> String {
    // Its turn stays, so it is claimed before those that came later.
    format!(
        "UPDATE jobs SET owner = NULL, state = CASE WHEN cancelling = 1 THEN 'cancelled' ELSE 'waiting' END,
             request = CASE WHEN cancelling = 1 THEN '' ELSE request END,
             finished_at = CASE WHEN cancelling = 1 THEN CAST($1 AS BIGINT) END
         WHERE {condition}"
    )
}

fn cancel(engine: &mut Engine, tenant: &Tenant, job_id: &ReceiptId, by: &str, now: i64) -> Result<JobCancelled, Fault> {
    // Without an owner the process that runs it can no longer end it. The request may be long, and is not run again.
    let sql = "UPDATE jobs SET state = 'cancelled', owner = NULL, request = '', finished_at = $1
               WHERE job_id = $2 AND tenant = $3 AND state = 'waiting'
                   AND (owner IS NULL OR owner = $4 OR NOT EXISTS
                        (SELECT 1 FROM workers WHERE workers.owner = jobs.owner AND workers.alive_until > $1))
               RETURNING job_id";
    if !engine.rows(sql, values![now, job_id.as_bytes(), tenant.as_str(), by])?.is_empty() {
        return Ok(JobCancelled::Now);
    }
    let sql = "UPDATE jobs SET cancelling = 1 WHERE job_id = $1 AND tenant = $2 AND state = 'waiting' RETURNING job_id";
    let asked = !engine.rows(sql, values![job_id.as_bytes(), tenant.as_str()])?.is_empty();
    Ok(if asked { JobCancelled::Asked } else { JobCancelled::No })
}

fn prune(engine: &mut Engine, before: i64) -> Result<usize, Fault> {
    // A job that waits has no end, and NULL is not less than any time, so it stays.
    let answers = "DELETE FROM answers WHERE (tenant, key) IN
                       (SELECT tenant, key FROM answers WHERE answered_at < $1 LIMIT $2) RETURNING 1";
    let jobs = "DELETE FROM jobs WHERE job_id IN (SELECT job_id FROM jobs WHERE finished_at < $1 LIMIT $2) RETURNING 1";
    let limit = MAX_PRUNED as i64;
    let answers = engine.rows(answers, values![before, limit])?.len();
    Ok(answers + engine.rows(jobs, values![before, limit])?.len())
}

/// Whether a job waits that [`claim`] would find.
pub(crate) fn is_claimable(db: &Db<'_>, claim: &Claim) -> Result<bool, Fault> {
    // As a claim asks, but on a connection that reads: processes without work keep no writer waiting.
    let quick = (claim.quick > 0).then(|| "needs = ''".to_owned());
    let running = (claim.running > 0).then(|| format!("needs <> '' AND {}", claim.runnable.condition(1)));
    let values: Vec<Value> = running.iter().flat_map(|_| claim.runnable.values()).collect();
    let conditions: Vec<String> = quick.into_iter().chain(running).collect();
    let any = conditions.join(" OR ");
    let sql = format!("SELECT 1 FROM jobs WHERE state = 'waiting' AND owner IS NULL AND ({any}) LIMIT 1");
    Ok(!conditions.is_empty() && db.exists(&sql, &values)?)
}

/// Whether a process has ended at the time `now` and has jobs.
pub(crate) fn are_lost(db: &Db<'_>, now: i64) -> Result<bool, Fault> {
    db.exists(&format!("SELECT 1 FROM jobs WHERE {IS_LOST} LIMIT 1"), &values![now])
}

pub(crate) fn figures(db: &Db<'_>) -> Result<JobFigures, Fault> {
    let mut figures = JobFigures::default();
    let waiting =
        "SELECT needs, count(*), min(created_at) FROM jobs WHERE state = 'waiting' AND owner IS NULL GROUP BY needs";
    db.each(waiting, &[], |row| {
        let (need, jobs, oldest) = (row.get(0)?, row.get::<u64>(1)?, row.get(2)?);
        figures.needs.insert(need, jobs);
        figures.waiting = figures.waiting.saturating_add(jobs);
        figures.oldest = Some(figures.oldest.map_or(oldest, |other| other.min(oldest)));
        Ok(ControlFlow::Continue(()))
    })?;
    let owned = "SELECT count(*) FROM jobs WHERE state = 'waiting' AND owner IS NOT NULL";
    figures.owned = db.value(owned, &[])?.unwrap_or_default();
    Ok(figures)
}
