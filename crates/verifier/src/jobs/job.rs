//! One job in memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

use proofmark_checks::{Checks, Request};
use proofmark_receipt::{Receipt, ReceiptId, Sha256Digest};
use proofmark_store::{NewJob, Tenant};

use super::room::lock;
use super::{JobState, JobView, Work};
use crate::clock;

/// How long a worker may take to let go of a job that was called off; the sandbox gives up on a process sooner.
const LET_GO: Duration = Duration::from_secs(60);

pub(super) struct Job {
    pub(super) id: ReceiptId,
    pub(super) work: Task,
    pub(super) created_at: i64,
    /// Which workers it waits for.
    pub(super) lane: Lane,
    /// How long its request is, in bytes.
    pub(super) bytes: usize,
    /// Set when nobody wants its outcome any more; what it would be is dropped then.
    pub(super) cancelled: Arc<AtomicBool>,
    /// Whether it is a row of the store. Set while `row` is held.
    pub(super) kept: AtomicBool,
    /// Held by whoever keeps or ends the job, from before it is written until all know.
    pub(super) row: Mutex<Row>,
    content: Mutex<Option<Arc<Content>>>,
    progress: Mutex<Progress>,
    let_go: Condvar,
}

/// What is known of a job while it waits.
pub(super) struct Task {
    pub(super) tenant: Tenant,
    pub(super) chain: String,
    pub(super) supersedes: Option<ReceiptId>,
    pub(super) replayable: Option<(String, Sha256Digest)>,
}

/// What a job is to run. While a job that was kept waits, its row alone has this.
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
    /// Whether this process has nothing more to do with it.
    pub(super) over: bool,
}

struct Progress {
    state: JobState,
    done: usize,
    total: usize,
    receipt: Option<Arc<Receipt>>,
    /// Whether a worker has it.
    running: bool,
    /// Whether another process has it, so that the store must be asked.
    gone: bool,
    listeners: Vec<Listener>,
}

/// Who is told about a job, for as long as somebody listens.
pub(super) struct Listener {
    tell: Box<dyn Fn(&JobView) + Send + Sync>,
    alive: Weak<()>,
}

impl Listener {
    pub(super) fn new(tell: Box<dyn Fn(&JobView) + Send + Sync>, alive: &Arc<()>) -> Self {
        Self { tell, alive: Arc::downgrade(alive) }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.alive.strong_count() > 0
    }

    pub(super) fn tell(&self, view: &JobView) {
        if self.is_alive() {
            (self.tell)(view);
        }
    }
}

impl Job {
    /// A job that somebody asks for.
    pub(super) fn new(id: ReceiptId, work: Work, total: usize) -> Self {
        let Work { tenant, request, text, chain, supersedes, replayable, durable: _ } = work;
        let (lane, bytes) = (Lane::of(&request), text.len());
        let task = Task { tenant, chain, supersedes, replayable };
        let content = Some(Arc::new(Content { request, text }));
        Self { content: Mutex::new(content), ..Self::waiting(id, task, lane, bytes, total) }
    }

    /// A job of the store, which has its content.
    pub(super) fn of_row(tenant: Tenant, row: NewJob, lane: Lane, total: usize) -> Self {
        let NewJob { job_id, request, chain, supersedes, created_at, .. } = row;
        let task = Task { tenant, chain, supersedes, replayable: None };
        let job = Self { created_at, ..Self::waiting(job_id, task, lane, request.len(), total) };
        job.kept.store(true, Ordering::Relaxed);
        job
    }

    fn waiting(id: ReceiptId, work: Task, lane: Lane, bytes: usize, total: usize) -> Self {
        let progress = Progress {
            state: JobState::Waiting,
            done: 0,
            total,
            receipt: None,
            running: false,
            gone: false,
            listeners: Vec::new(),
        };
        Self {
            id,
            work,
            created_at: clock::now().unix_millis(),
            lane,
            bytes,
            cancelled: Arc::default(),
            kept: AtomicBool::new(false),
            row: Mutex::default(),
            content: Mutex::default(),
            progress: Mutex::new(progress),
            let_go: Condvar::new(),
        }
    }

    /// What it is to run, where that is in memory.
    pub(super) fn content(&self) -> Option<Arc<Content>> {
        lock(&self.content).clone()
    }

    /// It is a row of the store from now on, which has its content.
    pub(super) fn is_on_disk(&self) {
        self.kept.store(true, Ordering::Relaxed);
        *lock(&self.content) = None;
    }

    pub(super) fn view(&self) -> JobView {
        self.seen(&lock(&self.progress))
    }

    pub(super) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    pub(super) fn is_called_off(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Nobody wants its outcome any more.
    pub(super) fn call_off(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// A worker has it.
    pub(super) fn taken(&self) {
        let mut progress = lock(&self.progress);
        progress.running = true;
        progress.state = JobState::Running;
        self.tell(&mut progress);
    }

    /// So many checks have run.
    pub(super) fn ran(&self, done: usize) {
        let mut progress = lock(&self.progress);
        progress.done = done.min(progress.total);
        self.tell(&mut progress);
    }

    /// The worker has it no more, and nothing of it runs.
    pub(super) fn returned(&self) {
        lock(&self.progress).running = false;
        self.let_go.notify_all();
    }

    /// Waits until no worker has it.
    pub(super) fn wait_returned(&self) {
        let progress = lock(&self.progress);
        let waited = self.let_go.wait_timeout_while(progress, LET_GO, |progress| progress.running);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Tells everyone how it ended; what is to be seen of it from now on.
    pub(super) fn end(&self, state: JobState, receipt: Option<Arc<Receipt>>) -> JobView {
        let mut progress = lock(&self.progress);
        progress.state = state;
        if let Some(receipt) = receipt {
            progress.total = usize::try_from(receipt.results().total).unwrap_or(usize::MAX);
            progress.done = progress.total;
            progress.receipt = Some(receipt);
        }
        self.tell(&mut progress);
        progress.listeners.clear();
        self.seen(&progress)
    }

    /// Adds a listener, which is told at once; gives it back when the store must be asked.
    pub(super) fn listen(&self, listener: Listener) -> Option<Listener> {
        let mut progress = lock(&self.progress);
        if progress.gone {
            return Some(listener);
        }
        listener.tell(&self.seen(&progress));
        if !progress.state.is_end() {
            progress.listeners.retain(Listener::is_alive);
            progress.listeners.push(listener);
        }
        None
    }

    /// Another process has it from now on; who is to be told then.
    pub(super) fn give_away(&self) -> Vec<Listener> {
        let mut progress = lock(&self.progress);
        progress.gone = true;
        std::mem::take(&mut progress.listeners)
    }

    fn tell(&self, progress: &mut Progress) {
        if !progress.listeners.is_empty() {
            let view = self.seen(progress);
            progress.listeners.retain(Listener::is_alive);
            progress.listeners.iter().for_each(|listener| listener.tell(&view));
        }
    }

    fn seen(&self, progress: &Progress) -> JobView {
        JobView {
            id: self.id,
            state: progress.state.clone(),
            done: progress.done,
            total: progress.total,
            created_at: self.created_at,
            receipt: progress.receipt.clone(),
        }
    }
}
