//! Verifications as jobs: many at once, fair between tenants, each to be followed and cancelled.
//!
//! **States.** A job waits, runs, and ends as done, failed or cancelled; an end is final.
//!
//! | from | to | by |
//! |---|---|---|
//! | waiting | running | a worker takes it from the queue |
//! | running | done, failed | the thread that issues, once its receipt is on disk, or there is none |
//! | waiting, running | cancelled | a client, through [`Verifications::cancel`]; or a process that shares the store |
//! | running | waiting | a process that gives it back, or whose lease ends |
//! | running | failed | the fifth process whose lease ends while it has the job |
//! | waiting, running | failed | [`Verifications::stop`], for a job that is not stored |
//!
//! **In memory or in the store.** A job is in memory alone until it is stored: one that is answered at once costs one commit,
//! that of its receipt. A stored job is a row and outlives the process. While it waits, its request is in the row alone. The id
//! of a job is the id of its receipt, and its end is one write with the receipt, refused to a process that no longer has the
//! job, or that has it in a later attempt. So a job may run more than once, and never has two receipts. The row says who may
//! end a stored job; a process that finds out that it may not hands the job over: it forgets the job, and those who follow it
//! follow the row.
//!
//! **Several processes.** Each process that shares a store has a lease, which it renews every 3 s. A [`Role::Front`] stores the
//! jobs that it accepts without an owner. The others claim such jobs, as many as would begin at once, and only those that they
//! can run (`needs`). When a lease ends, every process that notices gives back the jobs; a process that has not renewed its
//! own for 8 s kills what it runs, before another one may run it. A front takes receipts by its own key and by those of its
//! workers, and says which those are; a worker claims nothing until every front takes its receipts,
//! and unless it knows the key of every front. Who accepts a job signs what it accepts ([`proofmark_verifier::Accepted`]): the row is compared with that
//! before it is run, and the receipt before it is the answer.
//!
//! **Threads.** One tests the isolation of the host and ends (`probed`). Workers: some for jobs that run something, with a
//! sandbox each, which wait for that test; two for jobs that run nothing. One thread issues receipts (`issuing`); one renews
//! the lease (`leases`); one claims jobs and polls those that other processes have (`claims`); and one, which never waits for
//! the store, kills what runs when the lease was not renewed (`lost_lease`).
//!
//! **One suite, several workers.** A worker that finds no job joins one that runs and takes cases of it. A new job comes first:
//! where no worker is idle, one that joined leaves at once, and the case that it had is run again by another.
//!
//! **Locks** are taken in this order, and never the other way round:
//!
//! 1. `Job::row`: held by the thread that stores, cancels or ends the job, from before it writes until every follower knows.
//!    The thread that issues holds the rows of a whole group; no other thread holds two.
//! 2. `Scheduler::keys`: held while a job with an idempotency key enters, so that two requests with one key make one job, and
//!    for a moment while a job leaves.
//! 3. `Scheduler::jobs`, `ended`, `remote` and `host`, and the queue's state: each held for a moment, and never two of them.
//!    While the queue's state is held, that of a [`proofmark_sandbox::SharedJob`] may be, which calls nothing here.
//! 4. `Job::progress`: held while listeners are called. A listener therefore neither waits nor calls anything here.

mod claims;
mod handing;
mod issuing;
mod job;
mod leases;
mod lost_lease;
mod needs;
mod probed;
mod queue;
mod remote;
mod scheduler;
mod signal;
mod unstored;

use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{io, iter};

use proofmark_checks::{Language, Request, RequestError};
use proofmark_receipt::document::shown;
use proofmark_receipt::{Receipt, ReceiptId, Sha256Digest, SignError, SignerId, SigningKey};
use proofmark_sandbox::Host;
use proofmark_store::{Hint, Listening, MAX_GROUP, Store, StoreError, StoredWorker, Tenant};

use job::{Job, Lane, Listener};
use proofmark_verifier::clock;
use proofmark_verifier::sync::lock;
use queue::{OfLane, Refused};
use scheduler::Scheduler;
use tracing::Span;

/// How many workers there are for jobs that run nothing.
const QUICK_WORKERS: usize = 2;

/// How long jobs that ended and idempotency keys are remembered, in milliseconds: 7 days.
pub const REMEMBERED_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Workers that verify, and the jobs that wait for them.
pub struct Verifications {
    scheduler: Arc<Scheduler>,
    threads: Mutex<Option<Threads>>,
}

struct Threads {
    workers: Vec<JoinHandle<()>>,
    issuing: JoinHandle<()>,
    /// The thread that renews, the one that claims, and the one that kills what was lost.
    store: Vec<JoinHandle<()>>,
    /// What wakes the one that claims, of other processes.
    listening: Listening,
}

/// What a process that shares a store does with jobs.
#[derive(Clone, Debug)]
pub enum Role {
    /// Accepts them, and runs them on so many workers.
    Server { workers: usize },
    /// Accepts them, and leaves them to workers that sign as one of these. Receipts by others are no answer.
    Front { signers: Vec<SignerId> },
    /// Runs those that fronts accepted, on so many workers; code of these languages alone, where they are named.
    Worker { workers: usize, only: Option<Vec<Language>> },
}

/// What [`JobSettings::report`] is called with.
#[derive(Clone, Copy, Debug)]
pub enum JobWatch<'a> {
    /// This process has claimed a job; `attempt` counts the claims of all processes.
    Claimed { tenant: &'a Tenant, id: ReceiptId, attempt: u64 },
    /// A job that this process had has ended.
    Ended { tenant: &'a Tenant, view: &'a JobView },
    /// So many jobs of processes that have ended were given back, or have failed.
    GaveBack(usize),
    /// A job was given back, or lost to another process.
    Left { tenant: &'a Tenant, id: ReceiptId },
    /// The receipt of a job could not be stored, or its end. If the job is not at fault, it runs again after this time.
    NotStored { tenant: &'a Tenant, id: ReceiptId, error: &'a StoreError, again_in: Option<Duration> },
    /// Whether every front takes the receipts of this process.
    Admitted(bool),
    /// How many workers live that this front admits, when that becomes none or some.
    Workers(usize),
    /// So many jobs wait that no worker can run that lives; why. Told by a front, where workers live.
    Lacking { jobs: u64, why: &'a str },
    /// A server leaves jobs to this process, and signs them with a key that it does not know: none is claimed.
    UnknownServer { signer: &'a str },
    /// A worker signs as one that this front does not admit.
    Stranger { signer: &'a str },
    /// The lease was not renewed. It is tried again.
    NotRenewed(&'a StoreError),
}

/// A function that is told what happens to jobs. It must neither wait nor call anything here.
pub type Report = Box<dyn Fn(&JobWatch<'_>) + Send + Sync>;

/// How jobs are run, and where they are stored.
pub struct JobSettings {
    /// Signs the receipts.
    pub key: SigningKey,
    pub store: Arc<Store>,
    pub role: Role,
    /// Whose jobs it runs and answers for, beside those that `key` signs: those of servers that share the store.
    pub servers: Vec<SignerId>,
    pub report: Option<Report>,
}

/// How many jobs there are, of all tenants, and who runs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Jobs that wait, for this process or for any.
    pub waiting: u64,
    /// Those of them that no process can run that lives.
    pub unrunnable: u64,
    /// Jobs that processes have begun, or are about to.
    pub running: u64,
    /// Processes that run jobs.
    pub workers: u64,
    /// How long the oldest job that waits has waited, in milliseconds.
    pub oldest_ms: i64,
}

/// A verification to run.
#[derive(Clone, Debug)]
pub struct Work {
    pub tenant: Tenant,
    pub request: Request,
    /// The same request as complete JSON, from which it can be run again.
    pub text: String,
    /// The chain that the receipt continues.
    pub chain: String,
    /// The tenant's receipt that the new one takes the place of.
    pub supersedes: Option<ReceiptId>,
    /// The client's key, and SHA-256 of the request, path and body, by which a repetition is recognised.
    pub replayable: Option<(String, Sha256Digest)>,
    /// Whether the job is stored before it is answered.
    pub durable: bool,
    /// The request of the log in which it was asked for. [`JobWatch::Ended`] is reported in it, unless another process ends the job.
    pub asked_in: Span,
}

/// The answer to a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It is a new job with this id.
    New(ReceiptId),
    /// It is a repetition of what has this id, and may have ended.
    Same(ReceiptId),
}

/// Why work is rejected.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// Too much is waiting, of all tenants or of this one.
    #[error("accept the request: too many are waiting")]
    Busy,
    /// The key was used for another request.
    #[error("answer the request `{}`: its idempotency key was used for another request", shown(.0))]
    KeyReused(String),
    /// The request cannot be planned.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The stored answer to the request is a job that does other work.
    #[error("answer the request: the job `{0}`, which the store has as its answer, does other work")]
    OtherAnswer(ReceiptId),
    /// What is accepted cannot be signed.
    #[error("sign what is accepted: {0}")]
    Sign(#[from] SignError),
    /// No more work is accepted.
    #[error("accept the request: the server is stopping")]
    Stopping,
    /// The store refused, or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system gave no randomness for the receipt's id.
    #[error("draw a receipt id ({0})")]
    Randomness(#[from] getrandom::Error),
}

impl SubmitError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Busy | Self::Stopping => Some("send it again later".to_owned()),
            Self::KeyReused(_) => Some("choose a new key".to_owned()),
            Self::Store(error) => error.help(),
            Self::Request(error) => error.help(),
            Self::OtherAnswer(_) => Some("find what was changed with `proofmark store check`".to_owned()),
            Self::Sign(error) => error.help(),
            Self::Randomness(_) => None,
        }
    }
}

/// The state of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    Waiting,
    /// Running, or storing its receipt.
    Running,
    /// Its receipt is on disk.
    Done,
    /// It has no receipt, for this reason.
    Failed(String),
    Cancelled,
}

impl JobState {
    /// Whether it is final.
    #[must_use]
    pub fn is_end(&self) -> bool {
        match self {
            Self::Waiting | Self::Running => false,
            Self::Done | Self::Failed(_) | Self::Cancelled => true,
        }
    }
}

/// A job at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct JobView {
    /// Its id, which its receipt has.
    pub id: ReceiptId,
    pub state: JobState,
    /// How many of its checks have run.
    pub done: usize,
    /// How many there are; a command is one until its report is read.
    pub total: usize,
    /// When it was submitted, in milliseconds after 1970-01-01T00:00:00Z.
    pub created_at: i64,
    /// The receipt of a job that is done.
    pub receipt: Option<Arc<Receipt>>,
    /// Why no process runs a job that waits, where none can that lives.
    pub lacking: Option<String>,
}

/// Whether the isolation of the host was tested; until then, verifications that run code wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelfTest {
    Running,
    Passed,
    /// Verifications that run code end as `error`.
    Failed,
}

/// Subscription; dropping it unsubscribes.
#[derive(Debug)]
#[must_use = "dropping this ends the subscription"]
pub struct Following {
    _alive: Arc<()>,
}

/// The answer to cancelling a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It is cancelled, and nothing of it runs any more.
    Now,
    /// It had ended before, in this state.
    Over(JobState),
    /// The tenant has no such job.
    Unknown,
}

impl Verifications {
    /// Starts a [`Role::Server`] of this many workers for jobs that run something, and two for those that do not. Receipts are
    /// signed with `key` and stored in `store`. `probe` finds the host in a thread of its own; jobs that run something wait for
    /// it.
    ///
    /// # Errors
    /// As [`Verifications::start_as`].
    pub fn start(
        probe: impl FnOnce() -> Host + Send + 'static,
        key: SigningKey,
        store: Arc<Store>,
        workers: usize,
    ) -> io::Result<Self> {
        let role = Role::Server { workers };
        Self::start_as(JobSettings { key, store, role, servers: Vec::new(), report: None }, probe)
    }

    /// Starts what the role needs, and begins the lease of this process. Jobs of processes that have ended are given back.
    /// `probe` is not called by a [`Role::Front`].
    ///
    /// # Errors
    /// When the operating system has no thread or no randomness.
    pub fn start_as(settings: JobSettings, probe: impl FnOnce() -> Host + Send + 'static) -> io::Result<Self> {
        let owner = clock::receipt_id().map_err(io::Error::other)?.to_string();
        let scheduler = Arc::new(Scheduler::new(settings, owner));
        // Workers wait when receipts are issued more slowly than work is judged. They alone keep senders, so the thread
        // that issues ends after the last of them.
        let (send, judged) = mpsc::sync_channel(MAX_GROUP);
        let spawn = |name: &str, run: Box<dyn FnOnce(&Scheduler) + Send>| {
            let scheduler = Arc::clone(&scheduler);
            thread::Builder::new().name(name.to_owned()).spawn(move || run(&scheduler))
        };
        let worker = |lane| {
            let send = send.clone();
            spawn("verify", Box::new(move |scheduler| scheduler.work(lane, &send)))
        };
        let OfLane { runs, quick } = scheduler.queue.workers();
        let lanes = iter::repeat_n(Lane::Runs, runs).chain(iter::repeat_n(Lane::Quick, quick));
        // Should one of these fail, dropping this ends those that run.
        let this = Self { scheduler: Arc::clone(&scheduler), threads: Mutex::new(None) };
        let threads = Threads {
            workers: lanes.map(worker).collect::<io::Result<_>>()?,
            issuing: spawn("issue", Box::new(move |scheduler| scheduler.issue_all(&judged)))?,
            store: vec![
                spawn("leases", Box::new(Scheduler::run_leases))?,
                spawn("claims", Box::new(Scheduler::run_claims))?,
                spawn("lost-lease", Box::new(Scheduler::run_lost_lease))?,
            ],
            listening: scheduler.store.listen({
                let wake = Arc::clone(&scheduler.wake);
                move |hint| wake.hear(hint)
            })?,
        };
        *lock(&this.threads) = Some(threads);
        if !this.leaves_work() {
            // Not joined: it may take long, and the process need not wait for it to end. So it has no share of the store,
            // which is closed while it may go on.
            let host = Arc::clone(&scheduler.host);
            drop(thread::Builder::new().name("self-test".to_owned()).spawn(move || host.probe(probe))?);
        }
        Ok(this)
    }

    /// Whether it leaves what it accepts to workers.
    #[must_use]
    pub fn leaves_work(&self) -> bool {
        self.scheduler.front.is_some()
    }

    /// Where it leaves jobs to workers: takes the receipts of these signers from here on, and of nobody else.
    pub fn set_front_signers(&self, signers: Vec<SignerId>) {
        self.scheduler.set_front_signers(signers);
    }

    /// The store that the jobs and receipts are in.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.scheduler.store
    }

    /// The processes that share the store and live, or did within the last hour.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn workers(&self) -> Result<Vec<StoredWorker>, StoreError> {
        self.scheduler.store.workers()
    }

    /// Whether the lease of this process lasts.
    #[must_use]
    pub fn is_renewed(&self) -> bool {
        self.scheduler.is_renewed()
    }

    /// Whether this process has a duty, which one of those that share the store has ([`Store::take_on`]).
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn take_on(&self, duty: &str) -> Result<bool, StoreError> {
        Ok(self.is_renewed() && self.scheduler.store.take_on(duty, &self.scheduler.owner)?)
    }

    /// How many jobs there are.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn figures(&self) -> Result<Figures, StoreError> {
        self.scheduler.figures()
    }

    /// Whether the isolation of the host was tested.
    #[must_use]
    pub fn self_test(&self) -> SelfTest {
        self.scheduler.host.self_test()
    }

    /// The languages that there are runtimes for, here or on the workers; empty until the host was asked for them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn languages(&self) -> Result<Vec<Language>, StoreError> {
        if self.leaves_work() {
            self.scheduler.languages_elsewhere()
        } else {
            Ok(self.scheduler.host.languages().to_vec())
        }
    }

    /// Puts work into the queue.
    ///
    /// # Errors
    /// [`SubmitError`]; then there is no such job.
    pub fn submit(&self, work: Work) -> Result<Submitted, SubmitError> {
        let total = scheduler::checks(&work.request, &self.scheduler.caps)?;
        if let Some(older) = &work.supersedes {
            // The store checks this again with the receipt; here the client learns it before anything runs.
            let own = self.scheduler.store.of(&work.tenant).receipt(older)?.filter(|stored| stored.trust.is_none());
            own.ok_or(StoreError::NoReceipt(*older))?;
        }
        let (id, durable) = (clock::receipt_id()?, work.durable);
        if self.leaves_work() {
            return self.scheduler.hand_out(id, work, total);
        }
        let job = Arc::new(Job::new(id, work, total, self.scheduler.now()));
        if let Some(before) = self.enter(&job)? {
            return Ok(Submitted::Same(before));
        }
        // The job is queued already, so it may have begun or even ended; `persist` holds `row` to see that.
        if durable && let Err(error) = self.scheduler.persist(&job) {
            self.scheduler.fail(&job, &error.to_string());
            return Err(error);
        }
        Ok(Submitted::New(id))
    }

    /// Makes a job outlive this process; when this returns it is on disk, or it has ended.
    ///
    /// # Errors
    /// When the store cannot be written; [`StoreError::Answered`] where another process has answered a request with its key
    /// meanwhile; when it cannot be signed.
    pub fn persist(&self, tenant: &Tenant, id: &ReceiptId) -> Result<(), SubmitError> {
        self.scheduler.live(tenant, id).map_or(Ok(()), |job| self.scheduler.persist(&job))
    }

    /// A tenant's job; none where the tenant has none with this id.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn job(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Option<JobView>, StoreError> {
        match self.scheduler.live(tenant, id) {
            Some(job) => Ok(Some(job.view())),
            None => self.scheduler.ended(tenant, id),
        }
    }

    /// Calls `listener` at once with the job's state, and again at each change until the job ends or the subscription is
    /// dropped. The listener must neither wait nor call anything here: the job waits until it returns. None where the tenant
    /// has no such job.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn follow(
        &self,
        tenant: &Tenant,
        id: &ReceiptId,
        listener: Box<dyn Fn(&JobView) + Send + Sync>,
    ) -> Result<Option<Following>, StoreError> {
        let alive = Arc::new(());
        let mut listener = Listener::new(listener, &alive);
        let following = Following { _alive: alive };
        if let Some(job) = self.scheduler.live(tenant, id) {
            match job.listen(listener) {
                None => return Ok(Some(following)),
                // Handed over since it was looked up: its row is followed.
                Some(back) => listener = back,
            }
        }
        let Some(view) = self.scheduler.ended(tenant, id)? else { return Ok(None) };
        self.scheduler.follow_remote(tenant, &view, listener);
        Ok(Some(following))
    }

    /// Cancels a job. Its processes are gone when this returns; where another process has the job, that one ends them, or its
    /// lease ends.
    ///
    /// # Errors
    /// When the store cannot be written; a stored job runs again then.
    pub fn cancel(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Cancelled, StoreError> {
        self.scheduler.cancel(tenant, id)
    }

    /// Accepts no more work. What runs may end within `patience` and is killed then. Stored jobs are released, so that the
    /// next process runs them at once; the others fail.
    pub fn stop(&self, patience: Duration) {
        let threads = lock(&self.threads).take();
        let waiting = self.scheduler.queue.close();
        self.scheduler.host.abandon();
        for job in &waiting {
            self.scheduler.release(job);
            if job.is_stored() {
                // At once, and not when all has ended. Where it fails, that gives it back.
                let _later = self.scheduler.store.release_job(&self.scheduler.owner, &job.id);
            }
        }
        self.scheduler.queue.wait_idle(patience);
        // Sandboxes look at this flag, so the workers that are joined below return soon.
        self.scheduler.all_live().iter().for_each(|job| job.cancel());
        if let Some(Threads { workers, issuing, store, listening }) = threads {
            // A panic there has been reported where it was; jobs that it left are released below.
            workers.into_iter().for_each(|one| drop(one.join()));
            drop(issuing.join());
            // Last: jobs whose receipts are being issued still need the lease.
            drop(listening);
            self.scheduler.stopped.set();
            self.scheduler.wake.set(Hint::ANY);
            store.into_iter().for_each(|one| drop(one.join()));
        }
        self.scheduler.stopped.set();
        self.scheduler.wake.set(Hint::ANY);
        self.scheduler.all_live().iter().for_each(|job| self.scheduler.release(job));
        // Where this fails the lease expires by itself.
        let _expires_else = self.scheduler.store.give_up_lease(&self.scheduler.owner);
    }

    /// Puts the job into the queue, or answers which one it repeats.
    fn enter(&self, job: &Arc<Job>) -> Result<Option<ReceiptId>, SubmitError> {
        let mut keys = None;
        if let Some((key, request)) = &job.work.replayable {
            let held = keys.insert(lock(&self.scheduler.keys));
            if let Some(before) = self.scheduler.answered(held, job, (key, request))? {
                return Ok(Some(before));
            }
            held.insert((job.work.tenant.clone(), key.clone()), (*request, job.id));
        }
        // Before it is queued: a worker may finish it at once, and what is inserted after that would stay forever.
        lock(&self.scheduler.jobs).insert(job.id, Arc::clone(job));
        if let Err(refused) = self.scheduler.queue.push(job) {
            lock(&self.scheduler.jobs).remove(&job.id);
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
