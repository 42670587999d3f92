//! The processes that share a store: until when each lives, what it runs, and whose receipts it takes.
//!
//! A process has one lease for all its jobs, and renews it every few seconds. The store's own clock says when a lease expires:
//! no process can hold one for longer by setting its clock. What a process says of itself is a statement, not a proof: a
//! receipt counts by its signature.

use proofmark_receipt::ReceiptId;

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::insert::{Insert, Set};
use crate::row::Row;
use crate::statement::{Statement, row};
use crate::tables::WORKERS;
use crate::value::values;

/// How long a lease lasts unless it is renewed, in milliseconds.
/// Processes renew every 3 seconds, so two renewals may fail before the jobs are given back.
pub const LEASE_MS: i64 = 10_000;

/// How long a process whose lease has ended is remembered, in milliseconds: what it ran, it may run again after a restart.
const REMEMBERED_FOR: i64 = 60 * 60 * 1000;

/// The most processes that [`crate::Store::workers`] answers with: those whose leases end last.
pub const MAX_WORKERS: usize = 1_000;

/// What a process says of itself each time it renews its lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// A name that no other process has, drawn when it starts.
    pub owner: String,
    /// The signer of its receipts.
    pub signer: String,
    /// What it can run, as in [`crate::NewJob::needs`]; none where it runs no jobs.
    pub runs: Option<Vec<String>>,
    /// The signers whose receipts it takes for the jobs that it leaves to other processes; none where it leaves none.
    pub admits: Option<Vec<String>>,
    /// How far its jobs are.
    pub progress: Vec<JobProgress>,
}

/// How far a running job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobProgress {
    pub job_id: ReceiptId,
    /// How many of its checks have run.
    pub done: u64,
    /// How many it has.
    pub total: u64,
}

/// A process that has, or had, a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredWorker {
    pub presence: Presence,
    /// Whether its lease lasts.
    pub is_alive: bool,
    /// When it last renewed its lease or gave it up, in milliseconds after 1970-01-01T00:00:00Z.
    pub seen_at: i64,
}

static PUT: Insert = Insert::or_change(
    &WORKERS,
    &[
        Set::Replace("alive_until"),
        Set::Replace("seen_at"),
        Set::Replace("signer"),
        Set::Replace("runs"),
        Set::Replace("admits"),
        Set::Replace("progress"),
    ],
);

/// Begins or renews a lease at the time `now`.
pub(crate) fn renew(presence: &Presence, now: i64) -> Vec<Statement> {
    let progress: Vec<String> =
        presence.progress.iter().map(|one| format!("{} {} {}", one.job_id, one.done, one.total)).collect();
    let row = row!(WORKERS {
        owner: &presence.owner,
        alive_until: now.saturating_add(LEASE_MS),
        seen_at: now,
        signer: &presence.signer,
        runs: presence.runs.as_ref().map(|runs| runs.join("\n")),
        admits: presence.admits.as_ref().map(|admits| admits.join("\n")),
        progress: progress.join("\n"),
    });
    // Whoever renews also forgets: no process has to do it for all, and each that lives comes by.
    let forgotten =
        Statement::other("DELETE FROM workers WHERE alive_until < $1", values![now.saturating_sub(REMEMBERED_FOR)]);
    vec![Statement::Insert { insert: &PUT, row }, forgotten]
}

/// Ends a lease at the time `now`.
pub(crate) fn give_up(owner: &str, now: i64) -> Statement {
    // The row stays: what the process ran, it may run again after a restart.
    let sql = "UPDATE workers SET alive_until = $2, seen_at = $2, progress = '' WHERE owner = $1";
    Statement::other(sql, values![owner, now])
}

/// The processes that live at the time `now`, and those that did not long ago.
pub(crate) fn workers(db: &Db<'_>, now: i64) -> Result<Vec<StoredWorker>, Fault> {
    let sql = format!("SELECT {} FROM workers ORDER BY alive_until DESC LIMIT $1", WORKERS.list());
    db.all(&sql, &values![MAX_WORKERS as i64], |row| read_worker(row, now))
}

/// The process of this name.
pub(crate) fn worker(db: &Db<'_>, owner: &str, now: i64) -> Result<Option<StoredWorker>, Fault> {
    let sql = format!("SELECT {} FROM workers WHERE owner = $1", WORKERS.list());
    db.one(&sql, &values![owner], |row| read_worker(row, now))
}

fn read_worker(row: &Row<'_>, now: i64) -> Result<StoredWorker, Fault> {
    let row = WORKERS.fields(row);
    let presence = Presence {
        owner: row.get("owner")?,
        signer: row.get("signer")?,
        runs: row.get::<Option<String>>("runs")?.map(|runs| lines(&runs)),
        admits: row.get::<Option<String>>("admits")?.map(|admits| lines(&admits)),
        progress: row.text("progress")?.lines().filter_map(read_progress).collect(),
    };
    Ok(StoredWorker { presence, is_alive: row.get::<i64>("alive_until")? > now, seen_at: row.get("seen_at")? })
}

/// The texts of a list, which may have an empty one: `lines` would leave that out at the end.
fn lines(text: &str) -> Vec<String> {
    text.split('\n').map(str::to_owned).collect()
}

fn read_progress(line: &str) -> Option<JobProgress> {
    let mut parts = line.split(' ');
    let (job_id, done, total) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some(JobProgress { job_id, done, total })
}
