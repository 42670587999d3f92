//! What PostgreSQL gives: the same bytes in one table, without chain, signature, index and count.

use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::JoinHandle;

use measure::Turn;
use postgres::{Client, NoTls};

use super::{turn, writes};

/// The most rows of a shared commit, as in the store.
const MAX_GROUP: usize = 500;

const INSERT: &str = "INSERT INTO rows (document) VALUES ($1)";

/// A table of bytes, and the thread that writes to it, in commits that all who wait share.
pub(super) struct Rows {
    url: String,
    queue: Sender<(Vec<u8>, SyncSender<()>)>,
    _thread: JoinHandle<Result<(), postgres::Error>>,
}

impl Rows {
    pub(super) fn open(url: &str) -> anyhow::Result<Self> {
        let mut client = Client::connect(url, NoTls)?;
        client.batch_execute("CREATE TABLE rows (row bigint GENERATED ALWAYS AS IDENTITY, document bytea NOT NULL)")?;
        let (queue, rows) = mpsc::channel();
        Ok(Self { url: url.to_owned(), queue, _thread: std::thread::spawn(move || write(client, &rows)) })
    }

    /// A way to keep rows in shared commits.
    pub(super) fn writer(&self) -> impl FnMut(&[u8]) -> anyhow::Result<()> + use<> {
        let queue = self.queue.clone();
        move |row: &[u8]| {
            let (told, kept) = mpsc::sync_channel(1);
            queue.send((row.to_vec(), told))?;
            Ok(kept.recv()?)
        }
    }

    /// A way to keep rows on a connection of its own, each in a commit of its own, as a plain service does.
    pub(super) fn single_writer(&self) -> anyhow::Result<impl FnMut(&[u8]) -> anyhow::Result<()> + use<>> {
        let mut client = Client::connect(&self.url, NoTls)?;
        let insert = client.prepare(INSERT)?;
        Ok(move |row: &[u8]| {
            client.execute(&insert, &[&row])?;
            Ok(())
        })
    }
}

fn write(mut client: Client, rows: &Receiver<(Vec<u8>, SyncSender<()>)>) -> Result<(), postgres::Error> {
    let insert = client.prepare("INSERT INTO rows (document) SELECT * FROM unnest($1::bytea[])")?;
    while let Ok(first) = rows.recv() {
        let group: Vec<_> = std::iter::once(first).chain(rows.try_iter()).take(MAX_GROUP).collect();
        let documents: Vec<&[u8]> = group.iter().map(|(row, _)| row.as_slice()).collect();
        client.execute(&insert, &[&documents])?;
        for (_, told) in group {
            let _ = told.try_send(());
        }
    }
    Ok(())
}

pub(super) fn bare_turn<W: FnMut(&[u8]) -> anyhow::Result<()>>(
    clients: usize,
    writer: impl Fn() -> anyhow::Result<W> + Sync,
) -> anyhow::Result<Turn> {
    let row = writes::document()?;
    turn(clients, writer, |keep, _| keep(&row))
}
