//! Jobs that outlive the process that accepted them.
//!
//! The id of a job is the id that its receipt will have, so it has at most one. A job waits without an owner, for any process
//! that can run it ([`crate::rows::claims`]), or belongs to the process that stored it. A process ends a job by its own name and the
//! number of the attempt: once the job was given to another process, or to the same one again, the end is refused.
//!
//! **Turns.** Each job that waits for any process has a turn, and those with the smallest are claimed first. A new job's turn is
//! one more than the larger of its tenant's last one that waits and the last one that was claimed. So tenants take turns,
//! whichever servers they ask, and no job is overtaken without end.

use proofmark_receipt::ReceiptId;

use crate::engine::db::Db;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::settle::{Draft, Facts, Key, Question, Settle, Stop};
use crate::hint::Hint;
use crate::insert::Insert;
use crate::row::Row;
use crate::statement::{question, row};
use crate::table::Fields;
use crate::tables::JOBS;
use crate::tenant::Tenant;
use crate::value::{Value, values};

/// The most jobs that wait for a worker, of those that need the same: one that no worker can run must not keep out those of
/// other tenants that one can.
pub const MAX_WAITING: usize = 1024;

/// The most jobs of one tenant that wait for a worker.
/// A quarter of the jobs, and of the bytes below, so that no tenant can fill the queue alone.
pub const MAX_WAITING_OF_ONE: usize = 256;

/// The most bytes that the requests of waiting jobs have together that need the same.
pub const MAX_WAITING_BYTES: usize = 256 << 20;

/// The most bytes that the requests of one tenant's waiting jobs have together.
pub const MAX_WAITING_BYTES_OF_ONE: usize = 64 << 20;

/// How many jobs one question of [`crate::Store::all_tenants_jobs`] asks for.
const ASKED_AT_ONCE: usize = 32;

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
    /// What the process that accepts it signs of it.
    pub accepted: String,
    /// What a process must be able to run, one of [`crate::Presence::runs`]; empty where the job runs nothing.
    pub needs: String,
    /// The process that runs it, by the name of its lease ([`crate::Presence`]). Without one the job waits for any process;
    /// then it is refused with [`StoreError::TooManyJobs`] where too much waits, of the tenant or of all that needs the same.
    pub owner: Option<String>,
    /// When it was submitted, in milliseconds after 1970-01-01T00:00:00Z.
    pub created_at: i64,
}

/// The end of a stored job. Refused with [`StoreError::JobTaken`] where it has ended, has another owner, or was claimed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd {
    pub job_id: ReceiptId,
    pub owner: String,
    /// As [`StoredJob::attempt`].
    pub attempt: u64,
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
    /// As [`NewJob::accepted`].
    pub accepted: String,
    /// As [`NewJob::needs`].
    pub needs: String,
    /// When it was submitted, in milliseconds after 1970-01-01T00:00:00Z.
    pub created_at: i64,
    /// The process that has it; none while it waits for one, and once it has ended.
    pub owner: Option<String>,
    /// How many times it was claimed: 0 while the process that stored it has it.
    pub attempt: u64,
    /// Whether its owner is to cancel it.
    pub cancelling: bool,
    pub state: JobState,
}

/// How much waits for any process.
#[derive(Clone, Copy)]
struct Load {
    jobs: u64,
    bytes: u64,
}

impl Load {
    fn read(facts: &mut Facts<'_>) -> Result<Self, Fault> {
        let Some(row) = facts.row() else { return Ok(Self { jobs: 0, bytes: 0 }) };
        Ok(Self { jobs: row.get(0)?, bytes: row.get(1)? })
    }

    fn with(self, bytes: usize) -> Self {
        Self { jobs: self.jobs.saturating_add(1), bytes: self.bytes.saturating_add(bytes as u64) }
    }

    fn exceeds(self, jobs: usize, bytes: usize) -> bool {
        self.jobs > jobs as u64 || self.bytes > bytes as u64
    }
}

static INSERT: Insert = Insert::into(&JOBS);

impl Settle for NewJob {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        let id = self.job_id.to_string();
        let receipt = Key::new("receipt", &[tenant.as_str(), &id]);
        // Jobs of other tenants may be counted late: as many more may wait as share a group.
        let queue = self.owner.is_none().then(|| Key::new("queue", &[tenant.as_str()]));
        [Key::new("job", &[&id]), receipt].into_iter().chain(queue).collect()
    }

    fn questions(&self, tenant: &Tenant) -> Vec<Question> {
        // Jobs of all tenants: their ids are one primary key, and a conflict would fail the whole group. A receipt that a
        // client brought under the job's id takes nothing from the job.
        let taken = question!(
            "SELECT 1 FROM jobs WHERE job_id = {job}
             UNION ALL SELECT 1 FROM receipts WHERE receipt_id = {job} AND tenant = {tenant} AND trust IS NULL",
            job: self.job_id.as_bytes(),
            tenant: tenant.as_str(),
        );
        // What a process stores for itself is bounded by its own queue.
        if self.owner.is_some() {
            return vec![taken];
        }
        let last = question!(
            "SELECT turn FROM jobs WHERE tenant = {tenant} AND state = 'waiting' AND owner IS NULL
             ORDER BY turn DESC LIMIT 1",
            tenant: tenant.as_str(),
        );
        // PostgreSQL adds integers up to a number of another type.
        let of_one = question!(
            "SELECT count(*), CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM jobs
             WHERE tenant = {tenant} AND state = 'waiting' AND owner IS NULL",
            tenant: tenant.as_str(),
        );
        let of_alike = question!(
            "SELECT count(*), CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM jobs
             WHERE needs = {needs} AND state = 'waiting' AND owner IS NULL",
            needs: &self.needs,
        );
        vec![taken, of_one, of_alike, last, Question::alone("SELECT turn FROM clock", [])]
    }

    fn settle(&mut self, facts: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        if facts.row().is_some() {
            return Err(StoreError::JobTaken(self.job_id).into());
        }
        let turn = match self.owner {
            // It waits for its owner alone. Should that end, the job is claimed before those that came later.
            Some(_) => 0,
            None => self.turn(facts)?,
        };
        let row = row!(JOBS {
            job_id: self.job_id.as_bytes(),
            tenant: draft.tenant.as_str(),
            state: "waiting",
            owner: &self.owner,
            attempt: 0_i64,
            lost: 0_i64,
            cancelling: 0_i64,
            needs: &self.needs,
            turn: turn,
            bytes: self.request.len(),
            checks: self.checks.cast_signed(),
            chain: &self.chain,
            supersedes: self.supersedes.as_ref().map(|older| older.as_bytes().as_slice()),
            error: None::<String>,
            created_at: self.created_at,
            finished_at: None::<i64>,
            accepted: &self.accepted,
            request: &self.request,
        });
        draft.insert(&INSERT, row);
        // Nobody else looks at one that its own process has.
        draft.hint(if self.owner.is_none() { Hint::WAITING } else { Hint::NONE });
        Ok(())
    }
}

impl NewJob {
    /// The job's turn, if not too much waits.
    fn turn(&self, facts: &mut Facts<'_>) -> Result<i64, Stop> {
        // With this job: the limits are about what would wait afterwards.
        let of_one = Load::read(facts)?.with(self.request.len());
        let of_alike = Load::read(facts)?.with(self.request.len());
        if of_one.exceeds(MAX_WAITING_OF_ONE, MAX_WAITING_BYTES_OF_ONE)
            || of_alike.exceeds(MAX_WAITING, MAX_WAITING_BYTES)
        {
            return Err(StoreError::TooManyJobs.into());
        }
        let mut turn = || Ok::<i64, Fault>(facts.row().map(|row| row.get(0)).transpose()?.unwrap_or_default());
        let (last, claimed) = (turn()?, turn()?);
        Ok(last.max(claimed).saturating_add(1))
    }
}

impl Settle for JobEnd {
    fn keys(&self, _: &Tenant) -> Vec<Key> {
        vec![Key::new("job", &[&self.job_id.to_string()])]
    }

    fn questions(&self, tenant: &Tenant) -> Vec<Question> {
        // The end of the lease does not matter: until the job was given back, its owner's work counts.
        vec![question!(
            "SELECT 1 FROM jobs WHERE job_id = {job} AND owner = {owner} AND attempt = {attempt} AND tenant = {tenant}
             AND state = 'waiting'",
            job: self.job_id.as_bytes(),
            owner: &self.owner,
            attempt: self.attempt.cast_signed(),
            tenant: tenant.as_str(),
        )]
    }

    fn settle(&mut self, facts: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        if facts.row().is_none() {
            return Err(StoreError::JobTaken(self.job_id).into());
        }
        let (state, error) = match &self.state {
            JobState::Waiting => ("waiting", None),
            JobState::Done => ("done", None),
            JobState::Failed(error) => ("failed", Some(error.as_str())),
            JobState::Cancelled => ("cancelled", None),
        };
        let sql = "UPDATE jobs SET state = $2, error = $3, owner = NULL, request = '', finished_at = $4
                   WHERE job_id = $1";
        draft.run(sql, values![self.job_id.as_bytes(), state, error, draft.now]);
        draft.hint(Hint::MOVED);
        Ok(())
    }
}

pub(crate) fn job(db: &Db<'_>, tenant: &Tenant, id: &ReceiptId) -> Result<Option<StoredJob>, Fault> {
    let sql = format!("SELECT {} FROM jobs WHERE job_id = $1 AND tenant = $2", JOBS.list());
    db.one(&sql, &values![id.as_bytes(), tenant.as_str()], read_job)
}

/// The jobs with these ids, of any tenants, without their requests.
pub(crate) fn jobs(db: &Db<'_>, ids: &[ReceiptId]) -> Result<Vec<StoredJob>, Fault> {
    // One statement for any number of ids, so that it is prepared once.
    let places: Vec<String> = (1..=ASKED_AT_ONCE).map(|place| format!("${place}")).collect();
    let sql = format!("SELECT {} FROM jobs WHERE job_id IN ({})", without_request(), places.join(", "));
    let mut found = Vec::new();
    for part in ids.chunks(ASKED_AT_ONCE) {
        let Some(last) = part.last() else { continue };
        let asked = part.iter().chain(std::iter::repeat(last)).take(ASKED_AT_ONCE);
        let values: Vec<_> = asked.map(|id| Value::from(id.as_bytes())).collect();
        found.extend(db.all(&sql, &values, read_job)?);
    }
    Ok(found)
}

/// The jobs that a process has, without their requests.
pub(crate) fn jobs_of(db: &Db<'_>, owner: &str) -> Result<Vec<StoredJob>, Fault> {
    let sql = format!("SELECT {} FROM jobs WHERE owner = $1 AND state = 'waiting'", without_request());
    db.all(&sql, &values![owner], read_job)
}

/// The columns of a job, with an empty text in the place of the request.
pub(crate) fn without_request() -> String {
    JOBS.list_without("request")
}

pub(crate) fn read_job(row: &Row<'_>) -> Result<StoredJob, Fault> {
    read_fields(&JOBS.fields(row))
}

pub(crate) fn read_fields(row: &Fields<'_>) -> Result<StoredJob, Fault> {
    let state = match row.text("state")? {
        "waiting" => JobState::Waiting,
        "done" => JobState::Done,
        "failed" => JobState::Failed(row.get::<Option<String>>("error")?.unwrap_or_default()),
        "cancelled" => JobState::Cancelled,
        other => return Err(Fault::changed("state", format!("unknown state `{other}` of a job"))),
    };
    Ok(StoredJob {
        tenant: Tenant::stored(row.text("tenant")?),
        job_id: row.get("job_id")?,
        request: row.get("request")?,
        checks: row.get("checks")?,
        chain: row.get("chain")?,
        supersedes: row.get("supersedes")?,
        accepted: row.get("accepted")?,
        needs: row.get("needs")?,
        owner: row.get("owner")?,
        attempt: row.get("attempt")?,
        cancelling: row.get("cancelling")?,
        created_at: row.get("created_at")?,
        state,
    })
}
