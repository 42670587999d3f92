//! The thread that drives connections to a database.

use std::io;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time;

/// How long connections may take to say goodbye.
const ENDING: Duration = Duration::from_millis(200);

/// A thread with a runtime of its own. When it is dropped, connections have ended.
pub(crate) struct Driver {
    handle: Handle,
    /// Every connection has one as well, until it has ended.
    alive: Option<Alive>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What a connection has until it has ended.
#[derive(Clone)]
pub(crate) struct Alive(#[expect(dead_code, reason = "it counts by being there")] mpsc::Sender<()>);

impl Driver {
    /// # Errors
    /// When the operating system starts no thread.
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let (alive, mut all_ended) = mpsc::channel::<()>(1);
        let thread = thread::Builder::new().name("store-postgres".to_owned()).spawn(move || {
            runtime.block_on(async {
                let _dropped = stopped.await;
                // A connection that is cut off does not end by itself.
                let _ended_or_not = time::timeout(ENDING, all_ended.recv()).await;
            });
        })?;
        Ok(Self { handle, alive: Some(Alive(alive)), stop: Some(stop), thread: Some(thread) })
    }

    /// Runs `work` on the thread, and waits for it. None when the thread has ended or the work has panicked.
    pub(crate) fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        // Waiting by a plain channel is allowed on every thread, also on one of another runtime.
        let (sender, receiver) = sync_channel(1);
        self.handle.spawn(async move {
            // The caller waits, unless its thread has panicked.
            let _not_waited_for = sender.send(work.await);
        });
        receiver.recv().ok()
    }

    /// Starts `task` on the thread, without waiting for it.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.handle.spawn(task).abort_handle()
    }

    /// What a new connection takes along.
    pub(crate) fn alive(&self) -> Option<Alive> {
        self.alive.clone()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.alive.take());
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was reported by the answers that did not come.
            drop(thread.join());
        }
    }
}
