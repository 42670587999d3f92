//! The writer: the one thread of a process that changes the database.
//!
//! **Groups.** What is submitted waits in a queue. The writer begins a transaction when there is something to store, applies
//! what waits, and whatever is submitted while it does so, up to [`MAX_GROUP`], and commits. There is no window in which it
//! waits for more: a group is what came while the commit before was under way, so a single client waits for one commit, and
//! many clients share one. A submission is answered after the commit that holds it, never before.
//!
//! **Refusals.** Each submission is stored as a whole or refused as a whole ([`crate::write`]). A refusal, of which a receipt
//! that cannot be signed is one, changes nothing and leaves the rest of the group alone. A failure of SQLite (a full disk, a
//! lock that is not given back) rolls the transaction back and fails all of the group.
//!
//! **Chains.** A receipt on a chain comes as a function that links and signs it. The writer calls it inside the transaction,
//! with the tip that the chain has there. The transaction is `IMMEDIATE`: it holds SQLite's lock for writing from before the
//! first read until after the commit, so no other process can move the tip in between. Therefore a chain cannot fork, and no
//! receipt is refused because another process extended its chain first. The store has no key and knows none.
//!
//! **Time.** Rows are dated by the store's clock ([`crate::clock`]), and the commit records the latest time in it.
//!
//! **Crashes.** A process that is killed leaves the write-ahead log with whole commits and perhaps a part of one, which the
//! next process to open the store discards. What was answered is there; of a group that was not committed nothing is.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::{self, JoinHandle};

use proofmark_receipt::Receipt;
use rusqlite::{Connection, TransactionBehavior};

use crate::clock::{self, Clock};
use crate::error::StoreError;
use crate::jobs::Change;
use crate::scope::Scope;
use crate::tenant::Tenant;
use crate::write::{self, Write, Written};

/// The most submissions that one commit takes. As many more may wait; a caller that submits beyond that waits as well.
pub const MAX_GROUP: usize = 500;

/// How many bytes a probe writes: as many as a receipt of ordinary size needs.
const PROBE_BYTES: i64 = 64 << 10;

/// Something submitted that may not be on disk yet.
#[must_use = "what was submitted is on disk only after `wait` returns"]
#[derive(Debug)]
pub struct Pending {
    answer: Receiver<Result<Written, StoreError>>,
    path: PathBuf,
}

impl Pending {
    /// Waits until it is on disk.
    ///
    /// # Errors
    /// [`StoreError`]; then nothing of it was stored. [`StoreError::is_refusal`] tells whether the error is of this
    /// submission alone or of all that shared its commit.
    pub fn wait(self) -> Result<Written, StoreError> {
        match self.answer.recv() {
            Ok(answer) => answer,
            Err(mpsc::RecvError) => Err(StoreError::Stopped { path: self.path }),
        }
    }

    /// Waits until it is on disk; the receipt among it.
    ///
    /// # Errors
    /// As [`Pending::wait`].
    pub fn receipt(self) -> Result<Receipt, StoreError> {
        let path = self.path.clone();
        // Only a caller that submitted no receipt gets none.
        self.wait()?.receipt.ok_or(StoreError::Stopped { path })
    }
}

/// What the writer can be asked to do.
pub(crate) enum Task {
    Write {
        tenant: Tenant,
        writes: Vec<Write>,
    },
    /// Each by itself. Which of them were refused is sent before the commit, and counts only after it.
    Each {
        tenant: Tenant,
        writes: Vec<Write>,
        refused: Sender<Vec<Option<StoreError>>>,
    },
    Jobs(Change),
    Probe,
}

/// The thread. When it is dropped, everything submitted has been answered.
pub(crate) struct Writer {
    queue: Option<SyncSender<Submission>>,
    thread: Option<JoinHandle<()>>,
    path: PathBuf,
}

struct Submission {
    task: Task,
    answer: SyncSender<Result<Written, StoreError>>,
}

impl Writer {
    /// Starts a thread that writes to the database at `path`.
    ///
    /// # Errors
    /// When the operating system cannot start a thread.
    pub(crate) fn start(connection: Connection, path: &Path, clock: Arc<Clock>) -> io::Result<Self> {
        let (queue, submissions) = mpsc::sync_channel(MAX_GROUP);
        let thread_path = path.to_owned();
        let run = move || run(connection, &thread_path, &clock, &submissions);
        let thread = thread::Builder::new().name("store-writer".to_owned()).spawn(run)?;
        Ok(Self { queue: Some(queue), thread: Some(thread), path: path.to_owned() })
    }

    /// Hands `task` to the thread.
    pub(crate) fn submit(&self, task: Task) -> Pending {
        // Room for the one answer, so that the writer never waits for a caller.
        let (answer, pending) = mpsc::sync_channel(1);
        if let Some(queue) = &self.queue {
            // If the thread has ended, the answer never comes, and `wait` reports that.
            drop(queue.send(Submission { task, answer }));
        }
        Pending { answer: pending, path: self.path.clone() }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Without a sender the thread ends once it has answered what is in the queue.
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the answers that did not come.
            drop(thread.join());
        }
    }
}

/// Submissions that share a commit, with the answer each of them will get.
#[derive(Default)]
struct Group {
    callers: Vec<SyncSender<Result<Written, StoreError>>>,
    outcomes: Vec<Result<Written, StoreError>>,
    /// The latest time that any of them bears.
    latest: i64,
    /// How much there is to store: one, or as many as there are in [`Task::Each`].
    size: usize,
}

fn run(mut connection: Connection, path: &Path, clock: &Clock, submissions: &Receiver<Submission>) {
    while let Ok(first) = submissions.recv() {
        let mut group = Group::default();
        match group.commit(&mut connection, clock, first, submissions) {
            Ok(()) => group.answer(),
            Err(error) => group.fail(&StoreError::of_sqlite(path, &error), submissions),
        }
    }
}

impl Group {
    /// Stores the group that begins with `first` in one transaction.
    fn commit(
        &mut self,
        connection: &mut Connection,
        clock: &Clock,
        first: Submission,
        submissions: &Receiver<Submission>,
    ) -> rusqlite::Result<()> {
        let mut next = Some(first);
        let begun = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| clock::latest(&transaction).map(|recorded| (transaction, recorded)));
        let (transaction, recorded) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                self.callers.extend(next.map(|first| first.answer));
                return Err(error);
            }
        };
        while let Some(Submission { task, answer }) = next {
            // Before anything can fail, so that `fail` answers this caller, too. A failure drops the transaction, which
            // undoes it.
            self.callers.push(answer);
            let now = clock.now(recorded);
            self.latest = self.latest.max(now);
            let outcome = self.apply(task, &transaction, now)?;
            self.outcomes.push(outcome);
            next = match self.size < MAX_GROUP {
                true => submissions.try_recv().ok(),
                false => None,
            };
        }
        clock::record(&transaction, self.latest)?;
        transaction.commit()
    }

    fn apply(
        &mut self,
        task: Task,
        connection: &Connection,
        now: i64,
    ) -> rusqlite::Result<Result<Written, StoreError>> {
        let done = Ok(Written { receipt: None, at: now });
        self.size += 1;
        match task {
            Task::Write { tenant, writes } => {
                self.latest = self.latest.max(write::latest_time(&writes));
                write::apply(writes, &Scope { connection, tenant: &tenant, now })
            }
            Task::Each { tenant, writes, refused } => {
                self.size += writes.len();
                self.latest = self.latest.max(write::latest_time(&writes));
                let scope = Scope { connection, tenant: &tenant, now };
                let apply = |write| Ok(write::apply(vec![write], &scope)?.err());
                let outcomes = writes.into_iter().map(apply).collect::<rusqlite::Result<_>>();
                // A caller that does not wait does not get them.
                outcomes.map(|outcomes| drop(refused.send(outcomes))).map(|()| done)
            }
            Task::Jobs(change) => change.apply(connection, now).map(|()| done),
            Task::Probe => probe(connection).map(|()| done),
        }
    }

    fn answer(self) {
        self.callers.iter().zip(self.outcomes).for_each(|(caller, outcome)| reply(caller, outcome));
    }

    /// Answers `error` to all of the group. When the database is locked it is the answer to all that wait behind it, too: each
    /// of those would wait as long again to get it.
    fn fail(self, error: &StoreError, submissions: &Receiver<Submission>) {
        let also = if matches!(error, StoreError::Locked { .. }) { MAX_GROUP } else { 0 };
        let waiting = submissions.try_iter().take(also).map(|waiting| waiting.answer);
        self.callers.into_iter().chain(waiting).for_each(|caller| reply(&caller, Err(error.clone())));
    }
}

/// A caller that does not wait for the answer does not get it.
fn reply(caller: &SyncSender<Result<Written, StoreError>>, answer: Result<Written, StoreError>) {
    drop(caller.try_send(answer));
}

/// Writes a new value each time.
fn probe(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "INSERT INTO probe (probe, probed, filler) VALUES (1, 1, randomblob(?1))
               ON CONFLICT (probe) DO UPDATE SET probed = probed + 1, filler = excluded.filler";
    connection.prepare_cached(sql)?.execute([PROBE_BYTES]).map(drop)
}
