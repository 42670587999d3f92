//! One job in memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

use proofmark_checks::{Checks, Request};
use proofmark_receipt::{Draft, Receipt, ReceiptId, Sha256Digest, json};
use proofmark_store::{StoredJob, Tenant};
use proofmark_verifier::sync::lock;
use tracing::Span;

use crate::{JobState, JobView, Work};

/// How long a worker may take to return a cancelled job; the sandbox gives up on a process sooner.
const RETURN_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct Job {
    pub(super) id: ReceiptId,
    pub(super) work: Task,
    pub(super) created_at: i64,
    /// How many times its row was claimed.
    pub(super) attempt: u64,
    /// Which workers it waits for.
    pub(super) lane: Lane,
    /// How long its request is, in bytes.
    pub(super) bytes: usize,
    /// Set when its outcome is no longer wanted; it is dropped then.
    pub(super) cancelled: Arc<AtomicBool>,
    /// Whether it is a row of the store. Set while `row` is held.
    pub(super) stored: AtomicBool,
    /// Held by the thread that stores or ends the job, from before that is written until every follower knows.
    pub(super) row: Mutex<Row>,
    content: Mutex<Option<Arc<Content>>>,
    progress: Mutex<Progress>,
    returned: Condvar,
}

/// What is in memory of a job while it waits.
pub(super) struct Task {
    pub(super) tenant: Tenant,
    pub(super) chain: String,
    pub(super) supersedes: Option<ReceiptId>,
    pub(super) replayable: Option<(String, Sha256Digest)>,
    pub(super) asked_in: Span,
}

/// What a job is to run. While a stored job waits, only its row has this.
pub(super) struct Content {
    pub(super) request: Request,
    pub(super) text: String,
}

/// Which workers a job waits for: one that runs nothing does not wait behind those that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Runs,
    Quick,
}

impl Lane {
    pub(super) fn of(request: &Request) -> Self {
        match request.checks {
            Checks::Suite(_) | Checks::Command(_) => Self::Runs,
            Checks::Constraints { .. } => Self::Quick,
        }
    }
}

#[derive(Default)]
pub(super) struct Row {
    /// Whether the job has ended for this process.
    pub(super) over: bool,
}

struct Progress {
    state: JobState,
    done: usize,
    total: usize,
    receipt: Option<Arc<Receipt>>,
    /// Whether a worker has it.
    running: bool,
    /// Whether it is left to its row, which must be asked for its state.
    handed_over: bool,
    listeners: Vec<Listener>,
}

/// A function that is called with each state of a job, for as long as its [`crate::Following`] lives.
pub(super) struct Listener {
    notify: Box<dyn Fn(&JobView) + Send + Sync>,
    alive: Weak<()>,
}

impl Listener {
    pub(super) fn new(notify: Box<dyn Fn(&JobView) + Send + Sync>, alive: &Arc<()>) -> Self {
        Self { notify, alive: Arc::downgrade(alive) }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.alive.strong_count() > 0
    }

    pub(super) fn notify(&self, view: &JobView) {
        if self.is_alive() {
            (self.notify)(view);
        }
    }
}

/// A job that a worker has run.
pub(super) struct Done {
    pub(super) job: Arc<Job>,
    /// What was run.
    pub(super) content: Arc<Content>,
    /// Its draft, or why there is none.
    pub(super) outcome: Result<Draft, String>,
}

impl Job {
    /// A job that a client submits at this time of the store, in milliseconds after 1970-01-01T00:00:00Z.
    pub(super) fn new(id: ReceiptId, work: Work, total: usize, created_at: i64) -> Self {
        let Work { tenant, request, text, chain, supersedes, replayable, durable: _, asked_in } = work;
        // As it is in memory: of two texts of one length, one may have a hundred times the values of the other.
        let (lane, bytes) = (Lane::of(&request), json::read_size(text.as_bytes()));
        let task = Task { tenant, chain, supersedes, replayable, asked_in };
        let content = Some(Arc::new(Content { request, text }));
        Self { content: Mutex::new(content), created_at, ..Self::waiting(id, task, lane, bytes, total) }
    }

    /// A stored job, whose row has its content.
    pub(super) fn of_row(row: StoredJob, lane: Lane, total: usize) -> Self {
        let StoredJob { tenant, job_id, request, chain, supersedes, created_at, attempt, .. } = row;
        // The answer to a repetition was stored together with the row.
        let task = Task { tenant, chain, supersedes, replayable: None, asked_in: Span::none() };
        let job = Self { created_at, attempt, ..Self::waiting(job_id, task, lane, request.len(), total) };
        job.stored.store(true, Ordering::Relaxed);
        job
    }

    fn waiting(id: ReceiptId, work: Task, lane: Lane, bytes: usize, total: usize) -> Self {
        let progress = Progress {
            state: JobState::Waiting,
            done: 0,
            total,
            receipt: None,
            running: false,
            handed_over: false,
            listeners: Vec::new(),
        };
        Self {
            id,
            work,
            created_at: 0,
            attempt: 0,
            lane,
            bytes,
            cancelled: Arc::default(),
            stored: AtomicBool::new(false),
            row: Mutex::default(),
            content: Mutex::default(),
            progress: Mutex::new(progress),
            returned: Condvar::new(),
        }
    }

    /// What it is to run, where that is in memory.
    pub(super) fn content(&self) -> Option<Arc<Content>> {
        lock(&self.content).clone()
    }

    /// Notes that it is a row of the store, which has its content.
    pub(super) fn set_stored(&self) {
        self.stored.store(true, Ordering::Relaxed);
        *lock(&self.content) = None;
    }

    pub(super) fn view(&self) -> JobView {
        self.view_of(&lock(&self.progress))
    }

    pub(super) fn is_stored(&self) -> bool {
        // Relaxed: what depends on it is done under `row`, or looks at the row itself.
        self.stored.load(Ordering::Relaxed)
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Its outcome is no longer wanted: the worker that has it stops soon.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// A worker takes it.
    pub(super) fn set_running(&self) {
        let mut progress = lock(&self.progress);
        progress.running = true;
        progress.state = JobState::Running;
        self.notify(&mut progress);
    }

    /// This many checks have run, or more.
    pub(super) fn ran(&self, done: usize) {
        // The sandbox counts on while it ends the checks that a cancelled job did not come to.
        if self.is_cancelled() {
            return;
        }
        let mut progress = lock(&self.progress);
        // Several workers may run its checks, and get here in any order.
        progress.done = progress.done.max(done.min(progress.total));
        self.notify(&mut progress);
    }

    /// The worker returns it, and nothing of it runs.
    pub(super) fn set_returned(&self) {
        lock(&self.progress).running = false;
        self.returned.notify_all();
    }

    /// Whether a worker has it.
    pub(super) fn is_running(&self) -> bool {
        lock(&self.progress).running
    }

    /// Waits until no worker has it.
    pub(super) fn wait_returned(&self) {
        let progress = lock(&self.progress);
        // Limited, so that a worker that hangs does not block the client who cancels.
        let waited = self.returned.wait_timeout_while(progress, RETURN_TIMEOUT, |progress| progress.running);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Notifies every listener how it ended; its last view.
    pub(super) fn end(&self, state: JobState, receipt: Option<Arc<Receipt>>) -> JobView {
        let mut progress = lock(&self.progress);
        progress.state = state;
        if let Some(receipt) = receipt {
            progress.total = usize::try_from(receipt.results().total).unwrap_or(usize::MAX);
            progress.done = progress.total;
            progress.receipt = Some(receipt);
        }
        self.notify(&mut progress);
        progress.listeners.clear();
        self.view_of(&progress)
    }

    /// Adds a listener, and notifies it at once; returns it when the job's row must be asked instead.
    pub(super) fn listen(&self, listener: Listener) -> Option<Listener> {
        let mut progress = lock(&self.progress);
        if progress.handed_over {
            return Some(listener);
        }
        listener.notify(&self.view_of(&progress));
        if !progress.state.is_end() {
            // Else subscriptions that ended would pile up while the state does not change.
            progress.listeners.retain(Listener::is_alive);
            progress.listeners.push(listener);
        }
        None
    }

    /// Leaves the job to its row; its listeners.
    pub(super) fn hand_over(&self) -> Vec<Listener> {
        let mut progress = lock(&self.progress);
        progress.handed_over = true;
        std::mem::take(&mut progress.listeners)
    }

    fn notify(&self, progress: &mut Progress) {
        // Under the lock of `progress`, so that listeners see the states in their order.
        if !progress.listeners.is_empty() {
            let view = self.view_of(progress);
            progress.listeners.retain(Listener::is_alive);
            progress.listeners.iter().for_each(|listener| listener.notify(&view));
        }
    }

    fn view_of(&self, progress: &Progress) -> JobView {
        JobView {
            id: self.id,
            state: progress.state.clone(),
            done: progress.done,
            total: progress.total,
            created_at: self.created_at,
            receipt: progress.receipt.clone(),
            // This process has it.
            lacking: None,
        }
    }
}

/// A follower of a job that another process has.
pub(super) struct RemoteFollower {
    pub(super) tenant: Tenant,
    pub(super) seen: JobView,
    pub(super) listener: Listener,
}

impl RemoteFollower {
    pub(super) fn new(tenant: &Tenant, seen: &JobView, listener: Listener) -> Self {
        Self { tenant: tenant.clone(), seen: seen.clone(), listener }
    }
}
