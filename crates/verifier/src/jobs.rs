//! Verifications as jobs: many at once, fair between tenants, each to be followed and called off.
//!
//! A job is in memory alone until it is kept: one that is answered at once costs one commit, that of its receipt. A kept
//! job is a row of the store and runs under a lease. When its process dies another runs it again; when it has lost its
//! lease it cannot end the job any more. The id of a job is that of its receipt, so it has one at most.

mod job;
mod leases;
mod queue;
mod room;
mod sealing;

use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{io, iter};

use proofmark_checks::{Request, RequestError};
use proofmark_receipt::{Receipt, ReceiptId, Sha256Digest, SigningKey};
use proofmark_sandbox::Host;
use proofmark_store::{MAX_GROUP, Store, StoreError, Tenant};

use crate::clock;
use job::{Job, Lane, Listener};
use queue::Refused;
use room::{Room, lock};

/// The most jobs that wait for a worker.
pub const MAX_WAITING: usize = 1024;

/// The most jobs of one tenant that wait for a worker.
pub const MAX_WAITING_OF_ONE: usize = 256;

/// The most bytes that the requests of waiting jobs have together.
pub const MAX_WAITING_BYTES: usize = 256 << 20;

/// The most bytes that the requests of one tenant's waiting jobs have together.
pub const MAX_WAITING_BYTES_OF_ONE: usize = 64 << 20;

/// How many workers there are for jobs that run nothing.
const QUICK_WORKERS: usize = 2;

/// How long jobs that ended and idempotency keys are remembered, in milliseconds: 7 days.
pub const REMEMBERED_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Workers that verify, and what waits for them.
pub struct Verifications {
    room: Arc<Room>,
    threads: Mutex<Option<Threads>>,
}

struct Threads {
    workers: Vec<JoinHandle<()>>,
    sealing: JoinHandle<()>,
    leases: JoinHandle<()>,
}

/// What is to be verified, and for whom.
#[derive(Clone, Debug)]
pub struct Work {
    /// Whose it is.
    pub tenant: Tenant,
    /// The request.
    pub request: Request,
    /// The same request as whole JSON, from which it can be run again.
    pub text: String,
    /// The chain that the receipt continues.
    pub chain: String,
    /// The tenant's receipt in whose place the new one stands.
    pub supersedes: Option<ReceiptId>,
    /// The client's key, and SHA-256 of what is asked, path and body, by which a repetition is known.
    pub replayable: Option<(String, Sha256Digest)>,
    /// Whether the job is to be kept before it is answered.
    pub durable: bool,
}

/// What became of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It is a new job with this id.
    New(ReceiptId),
    /// It is a repetition of what has this id, and may have ended.
    Same(ReceiptId),
}

/// Why work is not taken.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// Too much is waiting, of all tenants or of this one.
    #[error("take the request: too many are waiting; send it again later")]
    Busy,
    /// The key was used for another request.
    #[error("answer the request `{0}`: its idempotency key was used for another request; choose a new one")]
    KeyReused(String),
    /// The request cannot be planned.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// Nothing is taken any more.
    #[error("take the request: the server is stopping; send it again later")]
    Stopping,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system gave no randomness for the receipt's id.
    #[error("draw a receipt id ({0})")]
    Randomness(#[from] getrandom::Error),
}

/// Where a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits for a worker.
    Waiting,
    /// It runs, or its receipt is being kept.
    Running,
    /// Its receipt is on disk.
    Done,
    /// It came to no receipt, for this reason.
    Failed(String),
    /// It was called off.
    Cancelled,
}

impl JobState {
    /// Whether it changes no more.
    #[must_use]
    pub fn is_end(&self) -> bool {
        match self {
            Self::Waiting | Self::Running => false,
            Self::Done | Self::Failed(_) | Self::Cancelled => true,
        }
    }
}

/// What there is to say about a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobView {
    /// Its id, which its receipt has.
    pub id: ReceiptId,
    /// Where it is.
    pub state: JobState,
    /// How many of its checks have run.
    pub done: usize,
    /// How many there are; a command is one until its report is read.
    pub total: usize,
    /// When it was asked for, in milliseconds after 1970-01-01T00:00:00Z.
    pub created_at: i64,
    /// The receipt of a job that is done.
    pub receipt: Option<Arc<Receipt>>,
}

/// Somebody follows a job until this is dropped.
#[derive(Debug)]
#[must_use = "when this is dropped the listener hears no more"]
pub struct Following {
    _alive: Arc<()>,
}

/// What became of calling a job off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It is cancelled now, and nothing of it runs any more.
    Now,
    /// It had ended before, so.
    Over(JobState),
    /// The tenant has no such job.
    Unknown,
}

impl Verifications {
    /// Starts so many workers for jobs that run something, and two for those that do not. They sign with `key` and keep receipts in `store`. Jobs in it that nobody runs any more
    /// are taken over.
    ///
    /// # Errors
    /// When the operating system has no thread or no randomness to give.
    pub fn start(host: Host, key: SigningKey, store: Arc<Store>, workers: usize) -> io::Result<Self> {
        let owner = clock::receipt_id().map_err(io::Error::other)?.to_string();
        let room = Arc::new(Room::new(host, key, store, owner));
        let (send, judged) = mpsc::sync_channel(MAX_GROUP);
        let spawn = |name: &str, run: Box<dyn FnOnce(&Room) + Send>| {
            let room = Arc::clone(&room);
            thread::Builder::new().name(name.to_owned()).spawn(move || run(&room))
        };
        let worker = |lane| {
            let send = send.clone();
            spawn("verify", Box::new(move |room| room.work(lane, &send)))
        };
        let lanes = iter::repeat_n(Lane::Runs, workers.max(1)).chain(iter::repeat_n(Lane::Quick, QUICK_WORKERS));
        // Should one of these fail, dropping this ends those that run.
        let this = Self { room: Arc::clone(&room), threads: Mutex::new(None) };
        let threads = Threads {
            workers: lanes.map(worker).collect::<io::Result<_>>()?,
            sealing: spawn("seal", Box::new(move |room| room.seal_all(&judged)))?,
            leases: spawn("leases", Box::new(Room::tend_all))?,
        };
        *lock(&this.threads) = Some(threads);
        Ok(this)
    }

    /// Takes work into the queue.
    ///
    /// # Errors
    /// [`SubmitError`]; then there is no such job.
    pub fn submit(&self, work: Work) -> Result<Submitted, SubmitError> {
        let total = room::checks(&work.request, &self.room.caps)?;
        if let Some(older) = &work.supersedes {
            let own = self.room.store.of(&work.tenant).receipt(older)?.filter(|kept| kept.trust.is_none());
            own.ok_or(StoreError::NoReceipt(*older))?;
        }
        let (id, durable) = (clock::receipt_id()?, work.durable);
        let job = Arc::new(Job::new(id, work, total));
        if let Some(before) = self.enter(&job)? {
            return Ok(Submitted::Same(before));
        }
        if durable && let Err(error) = self.room.keep(&job) {
            self.room.fail(&job, &error.to_string());
            return Err(error.into());
        }
        Ok(Submitted::New(id))
    }

    /// Makes a job outlive this process; when this returns it is on disk, or it has ended.
    ///
    /// # Errors
    /// Whatever keeps the store from being written; [`StoreError::Answered`] where another process has answered a request
    /// with its key meanwhile.
    pub fn keep(&self, tenant: &Tenant, id: &ReceiptId) -> Result<(), StoreError> {
        self.room.live(tenant, id).map_or(Ok(()), |job| self.room.keep(&job))
    }

    /// Where a tenant's job is; none where it has none with this id.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn job(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Option<JobView>, StoreError> {
        match self.room.live(tenant, id) {
            Some(job) => Ok(Some(job.view())),
            None => self.room.ended(tenant, id),
        }
    }

    /// Calls `listener` at once with where the job is, and again at each change until it ends or what is returned is
    /// dropped. It must neither wait nor ask anything here: the job waits until it returns. None where the tenant has no such job.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn follow(
        &self,
        tenant: &Tenant,
        id: &ReceiptId,
        listener: Box<dyn Fn(&JobView) + Send + Sync>,
    ) -> Result<Option<Following>, StoreError> {
        let alive = Arc::new(());
        let mut listener = Listener::new(listener, &alive);
        let following = Following { _alive: alive };
        if let Some(job) = self.room.live(tenant, id) {
            match job.listen(listener) {
                None => return Ok(Some(following)),
                Some(back) => listener = back,
            }
        }
        let Some(view) = self.room.ended(tenant, id)? else { return Ok(None) };
        self.room.listen_from_afar(tenant, &view, listener);
        Ok(Some(following))
    }

    /// Calls a job off. What runs of it is killed, and has ended when this returns.
    ///
    /// # Errors
    /// Whatever keeps the store from being written; a job that was kept runs again then.
    pub fn cancel(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Cancelled, StoreError> {
        self.room.cancel(tenant, id)
    }

    /// Takes nothing more. What runs may end within `patience` and is killed then. Jobs that were kept are let go, so
    /// that whoever starts next runs them at once; the others fail.
    pub fn stop(&self, patience: Duration) {
        let threads = lock(&self.threads).take();
        let waiting = self.room.queue.close();
        waiting.iter().for_each(|job| self.room.let_go(job));
        self.room.queue.wait_idle(patience);
        self.room.all_live().iter().for_each(|job| job.call_off());
        if let Some(Threads { workers, sealing, leases }) = threads {
            // A panic over there has been reported where it was; what it left undone is let go below.
            workers.into_iter().for_each(|one| drop(one.join()));
            drop(sealing.join());
            self.room.stopped.set();
            drop(leases.join());
        }
        self.room.stopped.set();
        self.room.all_live().iter().for_each(|job| self.room.let_go(job));
        // Where this fails the leases run out by themselves.
        let _run_out_else = self.room.store.release_leases(&self.room.owner);
    }

    /// Puts the job into the queue, or answers which one it repeats.
    fn enter(&self, job: &Arc<Job>) -> Result<Option<ReceiptId>, SubmitError> {
        let mut keys = None;
        if let Some((key, request)) = &job.work.replayable {
            let held = keys.insert(lock(&self.room.keys));
            if let Some(before) = self.room.answered(held, &job.work.tenant, key, request)? {
                return Ok(Some(before));
            }
            held.insert((job.work.tenant.clone(), key.clone()), (*request, job.id));
        }
        lock(&self.room.jobs).insert(job.id, Arc::clone(job));
        if let Err(refused) = self.room.queue.push(job) {
            lock(&self.room.jobs).remove(&job.id);
            if let (Some(held), Some((key, _))) = (&mut keys, &job.work.replayable) {
                held.remove(&(job.work.tenant.clone(), key.clone()));
            }
            return Err(match refused {
                Refused::Full => SubmitError::Busy,
                Refused::Closed => SubmitError::Stopping,
            });
        }
        Ok(None)
    }
}

impl Drop for Verifications {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}
