//! What the disk gives: the same bytes in one table, in commits that all who wait share.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::JoinHandle;

use rusqlite::Connection;

/// The most rows of a commit, as in the store.
const MAX_GROUP: usize = 500;

/// A database, and the thread that writes to it.
pub(crate) struct Bare {
    queue: Sender<(Vec<u8>, SyncSender<()>)>,
    _thread: JoinHandle<rusqlite::Result<()>>,
}

impl Bare {
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch("CREATE TABLE rows (row INTEGER PRIMARY KEY, document BLOB NOT NULL) STRICT")?;
        let (queue, rows) = mpsc::channel();
        Ok(Self { queue, _thread: std::thread::spawn(move || write(connection, &rows)) })
    }

    /// A way to keep rows, one for each thread.
    pub(crate) fn writer(&self) -> impl FnMut(&[u8]) -> anyhow::Result<()> + use<> {
        let mut many = self.writer_of_many();
        move |row: &[u8]| many(&[row])
    }

    /// A way to keep several rows at once, one for each thread.
    pub(crate) fn writer_of_many(&self) -> impl FnMut(&[&[u8]]) -> anyhow::Result<()> + use<> {
        let queue = self.queue.clone();
        move |rows: &[&[u8]]| {
            let submit = |row: &&[u8]| {
                let (told, kept) = mpsc::sync_channel(1);
                queue.send((row.to_vec(), told))?;
                anyhow::Ok(kept)
            };
            let kept: Vec<Receiver<()>> = rows.iter().map(submit).collect::<anyhow::Result<_>>()?;
            kept.iter().try_for_each(|kept| Ok(kept.recv()?))
        }
    }
}

fn write(mut connection: Connection, rows: &Receiver<(Vec<u8>, SyncSender<()>)>) -> rusqlite::Result<()> {
    while let Ok(first) = rows.recv() {
        // As the store gathers them: what came while the last commit was under way.
        let group: Vec<_> = std::iter::once(first).chain(rows.try_iter()).take(MAX_GROUP).collect();
        let transaction = connection.transaction()?;
        for (row, _) in &group {
            transaction.prepare_cached("INSERT INTO rows (document) VALUES (?1)")?.execute([row])?;
        }
        transaction.commit()?;
        group.iter().for_each(|(_, told)| drop(told.try_send(())));
    }
    Ok(())
}
