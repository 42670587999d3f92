//! The one thread that writes: it takes what has been submitted in groups, and each group costs one commit.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreError;
use crate::write::Write;

/// The most receipts one commit takes. As many more may wait; who submits beyond that waits as well.
pub const MAX_GROUP: usize = 500;

/// How long a group stays open for others to join.
const GROUP_WINDOW: Duration = Duration::from_millis(2);

/// Something submitted that may not be on disk yet.
#[must_use = "what was submitted is on disk only after `wait` says so"]
#[derive(Debug)]
pub struct Pending {
    answer: Receiver<Result<(), StoreError>>,
    path: PathBuf,
}

impl Pending {
    /// Waits until it is on disk.
    ///
    /// # Errors
    /// [`StoreError`]; then it was not kept. A refusal ([`StoreError::Duplicate`], [`StoreError::ChainMoved`]) is of this
    /// one alone, everything else of all that shared its commit.
    pub fn wait(self) -> Result<(), StoreError> {
        match self.answer.recv() {
            Ok(answer) => answer,
            Err(mpsc::RecvError) => Err(StoreError::Stopped { path: self.path }),
        }
    }
}

/// The thread. When it is dropped, everything submitted has been answered.
pub(crate) struct Writer {
    queue: Option<SyncSender<Submission>>,
    thread: Option<JoinHandle<()>>,
    path: PathBuf,
}

struct Submission {
    write: Write,
    answer: SyncSender<Result<(), StoreError>>,
}

impl Writer {
    /// Starts a thread that writes to the database at `path`.
    ///
    /// # Errors
    /// When the operating system has no thread to give.
    pub(crate) fn start(connection: Connection, path: &Path) -> io::Result<Self> {
        let (queue, submissions) = mpsc::sync_channel(MAX_GROUP);
        let name = "store-writer".to_owned();
        let of = path.to_owned();
        let thread = thread::Builder::new().name(name).spawn(move || run(connection, &of, &submissions))?;
        Ok(Self { queue: Some(queue), thread: Some(thread), path: path.to_owned() })
    }

    /// Hands `write` to the thread, or answers the refusal it already is.
    pub(crate) fn submit(&self, write: Result<Write, StoreError>) -> Pending {
        let (answer, pending) = mpsc::sync_channel(1);
        match (write, &self.queue) {
            // Of a thread that has ended the answer never comes, which `wait` reports.
            (Ok(write), Some(queue)) => drop(queue.send(Submission { write, answer })),
            (Ok(_), None) => {}
            (Err(refused), _) => reply(&answer, Err(refused)),
        }
        Pending { answer: pending, path: self.path.clone() }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // A panic over there has been reported by the answers that did not come.
            drop(thread.join());
        }
    }
}

fn run(mut connection: Connection, path: &Path, submissions: &Receiver<Submission>) {
    while let Some(group) = gather(submissions) {
        let answers = commit(&mut connection, &group).map_err(|error| StoreError::of_sqlite(path, &error));
        match answers {
            Ok(answers) => group.iter().zip(answers).for_each(|(one, answer)| reply(&one.answer, answer)),
            Err(error) => group.iter().for_each(|one| reply(&one.answer, Err(error.clone()))),
        }
    }
}

/// The next group; none when nobody is left to submit.
fn gather<T>(submissions: &Receiver<T>) -> Option<Vec<T>> {
    let mut group = vec![submissions.recv().ok()?];
    let end = Instant::now() + GROUP_WINDOW;
    while group.len() < MAX_GROUP {
        match submissions.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(one) => group.push(one),
            Err(_) => break,
        }
    }
    Some(group)
}

/// Writes the group in one transaction that no other process can come between, and answers for each of it.
fn commit(connection: &mut Connection, group: &[Submission]) -> rusqlite::Result<Vec<Result<(), StoreError>>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let apply = |one: &Submission| one.write.apply(&transaction);
    let answers = group.iter().map(apply).collect::<rusqlite::Result<_>>()?;
    let at = group.iter().map(|one| one.write.at()).max().unwrap_or_default();
    transaction.prepare_cached("UPDATE clock SET latest = ?1 WHERE latest < ?1")?.execute([at])?;
    transaction.commit()?;
    Ok(answers)
}

/// Who does not wait for the answer does not get it.
fn reply(to: &SyncSender<Result<(), StoreError>>, answer: Result<(), StoreError>) {
    drop(to.try_send(answer));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waiting_makes_full_groups() {
        let (queue, submissions) = mpsc::channel();
        (0..2 * MAX_GROUP + 1).for_each(|number| queue.send(number).unwrap());
        drop(queue);
        let groups: Vec<_> = std::iter::from_fn(|| gather(&submissions)).map(|group| group.len()).collect();
        assert_eq!(groups, [MAX_GROUP, MAX_GROUP, 1]);
    }
}
