//! Moves the write-ahead log of a file into the database, beside the writer.
//!
//! SQLite moves the log at the end of a commit, and the clients of that commit wait for it: some milliseconds, every few
//! thousand pages. Here a thread with a connection of its own moves most of it, while the writer goes on. The pages that came
//! meanwhile are few. The writer moves those itself, after it has answered, because a log begins anew only when all of it is
//! moved.
//!
//! SQLite syncs the database only when it has moved all of the log. So the thread moves again what came while it moved, until it
//! has moved all there was: else the sync of everything would be left to the writer, and its clients would wait for it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

use crate::engine::sqlite;

/// After how many pages in the log the thread moves them. Pages that many commits change are moved once, so fewer are moved
/// than with SQLite's 1,000; a log of 16 MiB is still moved within some milliseconds.
const LOG_PAGES: i32 = 4_000;

/// After how many pages the writer moves them itself, whatever the thread does.
const MAX_LOG_PAGES: i32 = 16 * LOG_PAGES;

/// How often the thread moves what came while it moved. Each time there is less of it.
const MAX_PASSES: u32 = 16;

const RESTS: u8 = 0;
const MOVES: u8 = 1;
const HAS_MOVED: u8 = 2;

/// The thread, and what it and the writer tell each other.
pub(crate) struct Log {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// How many pages the log has, as the last commit left it.
    pages: AtomicI32,
    /// [`RESTS`], [`MOVES`] or [`HAS_MOVED`].
    phase: AtomicU8,
}

impl Log {
    /// Takes over moving the log of the database at `path` from `writer`, its connection that writes.
    ///
    /// # Errors
    /// When the operating system cannot start a thread.
    pub(crate) fn start(writer: &mut Connection, path: &Path) -> io::Result<Self> {
        let state = Arc::new(State::default());
        let (wake, woken) = mpsc::sync_channel(1);
        let (thread_state, thread_path) = (Arc::clone(&state), path.to_owned());
        let thread = thread::Builder::new()
            .name("store-log".to_owned())
            .spawn(move || move_when_woken(&thread_path, &thread_state, &woken))?;
        let counted = Arc::clone(&state);
        // This replaces SQLite's own moving. Without it the log is moved at the end of a commit, as before.
        let _kept = writer.wal_hook(Some(move |_: &mut _, pages| {
            counted.pages.store(pages, Ordering::Relaxed);
            Ok(())
        }));
        Ok(Self { wake: Some(wake), thread: Some(thread), state })
    }

    /// To be called between groups: has the thread move a long log, and moves with `writer` what the thread has left.
    pub(crate) fn tend(&self, writer: &Connection) {
        let pages = self.state.pages.load(Ordering::Relaxed);
        let phase = self.state.phase.load(Ordering::Acquire);
        if phase == HAS_MOVED || pages > MAX_LOG_PAGES {
            // Where nothing was committed while it was moved, the log has begun anew already.
            if pages > LOG_PAGES {
                let _as_much_as_can_be = move_log(writer);
                // The next commit tells how long the log is then.
                self.state.pages.store(0, Ordering::Relaxed);
            }
            let _while_it_moves = self.change(HAS_MOVED, RESTS);
        } else if pages > LOG_PAGES && self.change(RESTS, MOVES) {
            // A thread that has ended moves nothing more: then the writer does, at its own limit.
            let _ended = self.wake.as_ref().map(|wake| wake.try_send(()));
        }
    }

    fn change(&self, from: u8, to: u8) -> bool {
        self.state.phase.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has moved nothing, which the writer makes up for.
            drop(thread.join());
        }
    }
}

fn move_when_woken(path: &Path, state: &State, woken: &Receiver<()>) {
    let mut connection = None;
    while woken.recv().is_ok() {
        if connection.is_none() {
            connection = sqlite::open_to_move(path).ok();
        }
        if let Some(connection) = &connection {
            move_most(connection, state);
        }
        state.phase.store(HAS_MOVED, Ordering::Release);
    }
}

/// Moves the log until a pass has moved all of it, so that the database is synced; or as far as that goes.
fn move_most(connection: &Connection, state: &State) {
    for _ in 0..MAX_PASSES {
        let moved = move_log(connection);
        if moved.is_err() || moved.is_ok_and(|pages| pages == state.pages.load(Ordering::Relaxed)) {
            return;
        }
    }
}

/// Moves as much as can be moved without waiting for anybody; how long the log was when that began. What cannot be moved now is
/// moved the next time.
fn move_log(connection: &Connection) -> rusqlite::Result<i32> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1))
}
