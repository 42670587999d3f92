//! What the threads of [`crate::Verifications`] share, and how a job leaves it.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use proofmark_checks::{Caps, Checks, Format, Language, Request, RequestError};
use proofmark_quorum::supersedes;
use proofmark_receipt::{Draft, Receipt, ReceiptId, Sha256Digest, SignerId, SigningKey, Verdict};
use proofmark_sandbox::{Host, SharedJob, Watch, Worker};
use proofmark_store::{
    Answer, Hint, JobCancelled, JobState as StoredState, NewJob, Store, StoreError, StoredJob, StoredWorker, Tenant,
    Write,
};
use proofmark_verifier::clock;
use proofmark_verifier::sync::lock;
use proofmark_verifier::{Accepted, Accepting, Environments, Issuer};

use crate::job::{Content, Done, Job, Lane, RemoteFollower, Row};
use crate::probed::ProbedHost;
use crate::queue::{Joining, Next, OfLane, Queue};
use crate::signal::{Signal, Wake};
use crate::unstored::Unstored;
use crate::{Cancelled, JobSettings, JobState, JobView, JobWatch, QUICK_WORKERS, Report, Role, SubmitError, needs};

/// How many jobs that ended without a receipt are remembered, so that clients can ask how they ended.
const MAX_ENDED: usize = 1024;

/// How often a process looks whether another one has cancelled a job.
const LOOK_WHETHER_CANCELLED: Duration = Duration::from_millis(50);
/// How often it asks again: the other one may have ended.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How long it waits for a process that lives.
const MAX_CANCELLING: Duration = Duration::from_secs(15);

/// The idempotency keys of what is in memory, by tenant and key.
pub(super) type Keys = HashMap<(Tenant, String), (Sha256Digest, ReceiptId)>;

/// The jobs of this process. [`super`] explains their states and the order of the locks.
pub(super) struct Scheduler {
    pub(super) host: Arc<ProbedHost>,
    pub(super) caps: Caps,
    pub(super) issuer: Issuer,
    /// Remembers the digests of what commands could import.
    pub(super) environments: Environments,
    /// Signs what it accepts.
    pub(super) key: Arc<SigningKey>,
    /// Whose jobs it runs and answers for.
    pub(super) servers: Vec<SignerId>,
    pub(super) store: Arc<Store>,
    /// The name of this process's lease.
    pub(super) owner: String,
    /// The signer of its receipts.
    pub(super) signer: String,
    /// Whether it runs only what servers accept.
    pub(super) is_worker: bool,
    /// The languages that it runs; none runs all that the host has.
    pub(super) only: Option<Vec<Language>>,
    /// Where it leaves jobs to workers: whose receipts it takes.
    pub(super) front: Option<RwLock<Arc<[SignerId]>>>,
    report: Option<Report>,
    /// When the lease was renewed.
    pub(super) renewed: Mutex<Instant>,
    /// Whether this process may claim jobs, once it is known.
    pub(super) admitted: Mutex<Option<bool>>,
    /// Of a front: whether workers live that it admits, once it is known, and the names of those that it does not admit.
    pub(super) workers: Mutex<(Option<bool>, HashSet<String>)>,
    /// The processes that share the store, as they were when the lease was last renewed.
    pub(super) known: Mutex<Vec<StoredWorker>>,
    /// Why jobs wait that no worker can run, as last told.
    pub(super) lacking: Mutex<BTreeSet<String>>,
    pub(super) queue: Queue,
    /// Jobs that wait, run or are being issued.
    pub(super) jobs: Mutex<HashMap<ReceiptId, Arc<Job>>>,
    pub(super) keys: Mutex<Keys>,
    ended: Mutex<VecDeque<(Tenant, JobView)>>,
    /// When jobs run again that could not be ended.
    pub(super) unstored: Unstored,
    /// Followers of jobs that another process has.
    pub(super) remote: Mutex<Vec<RemoteFollower>>,
    /// Wakes the thread that claims.
    pub(super) wake: Arc<Wake>,
    pub(super) stopped: Signal,
}

/// A worker panicked, and is of no more use.
struct Panicked;

impl Scheduler {
    pub(super) fn new(settings: JobSettings, owner: String) -> Self {
        let JobSettings { key, store, role, servers, report } = settings;
        let signer = key.signer();
        let key = Arc::new(key);
        let (workers, only) = match &role {
            Role::Server { workers } => (*workers, None),
            Role::Front { .. } => (0, None),
            Role::Worker { workers, only } => (*workers, only.clone()),
        };
        let workers = match &role {
            Role::Front { .. } => OfLane::default(),
            Role::Server { .. } | Role::Worker { .. } => OfLane { runs: workers.max(1), quick: QUICK_WORKERS },
        };
        let is_worker = matches!(role, Role::Worker { .. });
        Self {
            host: Arc::default(),
            caps: Caps::default(),
            issuer: Issuer::with(Arc::clone(&key), Arc::clone(&store)),
            environments: Environments::default(),
            key,
            servers: servers.into_iter().chain([signer]).collect(),
            store,
            owner,
            signer: signer.to_string(),
            is_worker,
            only,
            front: match role {
                Role::Front { signers } => Some(RwLock::new(signers.into_iter().chain([signer]).collect())),
                Role::Server { .. } | Role::Worker { .. } => None,
            },
            report,
            renewed: Mutex::new(Instant::now()),
            admitted: Mutex::default(),
            workers: Mutex::default(),
            known: Mutex::default(),
            lacking: Mutex::default(),
            queue: Queue::new(workers),
            jobs: Mutex::default(),
            keys: Mutex::default(),
            ended: Mutex::default(),
            unstored: Unstored::default(),
            remote: Mutex::default(),
            wake: Arc::default(),
            stopped: Signal::default(),
        }
    }

    /// The time of the store, in milliseconds after 1970-01-01T00:00:00Z.
    pub(super) fn now(&self) -> i64 {
        clock::known_in(&self.store).unix_millis()
    }

    /// Of a front: the signers whose receipts it takes.
    pub(super) fn front_signers(&self) -> Option<Arc<[SignerId]>> {
        // They are replaced as a whole.
        self.front.as_ref().map(|signers| signers.read().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Of a front: takes the receipts of these signers from here on, and of nobody else.
    pub(super) fn set_front_signers(&self, signers: Vec<SignerId>) {
        if let Some(front) = &self.front {
            *front.write().unwrap_or_else(PoisonError::into_inner) = signers.into();
        }
    }

    /// Tells the one who started this process what happened to a job.
    pub(super) fn report(&self, what: JobWatch<'_>) {
        if let Some(report) = &self.report {
            report(&what);
        }
    }

    /// Runs jobs of a lane until the queue is closed. Jobs that run something stay in the queue until the host was tested.
    pub(super) fn work(&self, lane: Lane, judged: &SyncSender<Done>) {
        let host = match lane {
            Lane::Runs => self.host.wait(),
            Lane::Quick => Some(None),
        };
        let Some(host) = host else { return };
        let mut worker = host.as_ref().map(Host::worker);
        while let Some(next) = self.queue.next(lane) {
            let ended = match next {
                Next::Run(job) => self.run(worker.as_mut(), &job, judged),
                Next::Join(joining) => self.join(worker.as_mut(), &joining),
            };
            if let Err(Panicked) = ended {
                // The sandbox of the old one may be in the middle of a case.
                worker = host.as_ref().map(Host::worker);
            }
        }
    }

    fn run(&self, worker: Option<&mut Worker>, job: &Arc<Job>, judged: &SyncSender<Done>) -> Result<(), Panicked> {
        let mut ended = Ok(());
        match self.content(job) {
            Some(content) => {
                let run = catch_unwind(AssertUnwindSafe(|| self.verify(worker, job, &content.request)));
                let outcome = run.unwrap_or_else(|_| {
                    ended = Err(Panicked);
                    Err("judge the submission: the verifier panicked; report it with the request".to_owned())
                });
                self.queue.withdraw(job);
                self.hand_in(Done { job: Arc::clone(job), content, outcome }, judged);
            }
            // Its row is still ours, so the leases' thread runs it again, or finds out why it cannot run.
            None => self.release(job),
        }
        job.set_returned();
        self.queue.returned(job.lane);
        // One that is cancelled through another process has its end stored by the thread that is woken.
        self.wake.set(if job.is_cancelled() { Hint::ANY } else { Hint::WAITING });
        ended
    }

    /// Runs cases of a job that another worker has.
    fn join(&self, worker: Option<&mut Worker>, joining: &Joining) -> Result<(), Panicked> {
        let Joining { job, shared, leave } = joining;
        let ended = catch_unwind(AssertUnwindSafe(|| {
            worker.into_iter().for_each(|worker| worker.join(shared, leave, &|done| job.ran(done)));
        }));
        self.queue.left(joining);
        ended.map_err(|_| Panicked)
    }

    fn hand_in(&self, done: Done, judged: &SyncSender<Done>) {
        let job = Arc::clone(&done.job);
        // The receiver is gone only if the thread that issues has panicked.
        if !job.is_cancelled() && judged.send(done).is_err() {
            self.release(&job);
        }
    }

    /// What the job is to run, from memory or from its row.
    fn content(&self, job: &Job) -> Option<Arc<Content>> {
        job.content().or_else(|| {
            let row = self.store.of(&job.work.tenant).job(&job.id).ok()??;
            // Again: it may have been changed since it was claimed.
            let request = self.request_of(&row).ok()?;
            Some(Arc::new(Content { request, text: row.request }))
        })
    }

    /// The request in the row of a job, which is what a server accepted.
    pub(super) fn request_of(&self, row: &StoredJob) -> Result<Request, String> {
        let accepted = Accepted::of(row, &self.servers).and_then(|accepted| accepted.is_request(&row.request));
        accepted.map_err(|error| error.to_string())?;
        Request::read(row.request.as_bytes(), Format::Json, None).map_err(|error| error.to_string())
    }

    fn verify(&self, worker: Option<&mut Worker>, job: &Arc<Job>, request: &Request) -> Result<Draft, String> {
        let (ran, offer) = (|done| job.ran(done), |shared: &Arc<SharedJob>| self.queue.offer(job, shared));
        let watch = Watch { cancelled: &job.cancelled, ran: &ran, offer: &offer };
        let draft = proofmark_verifier::verify(worker, &self.caps, request, job.id, &watch, &self.environments);
        let mut draft = draft.map_err(|error| error.to_string())?;
        // A receipt that says nothing about the work does not take another's place.
        if let Some(older) = &job.work.supersedes
            && draft.verdict != Verdict::Error
        {
            // By its hash: an id alone pins nothing. One that is not stored any more is superseded by nothing that a reader could check.
            let stored = self.store.of(&job.work.tenant).job_receipt(older).map_err(|error| error.to_string())?;
            if let Some(stored) = stored {
                supersedes::write(&stored.receipt, &mut draft.metadata);
            }
        }
        Ok(draft)
    }

    /// The tenant's job, if it is in memory and has not ended.
    pub(super) fn live(&self, tenant: &Tenant, id: &ReceiptId) -> Option<Arc<Job>> {
        lock(&self.jobs).get(id).filter(|job| job.work.tenant == *tenant).cloned()
    }

    pub(super) fn all_live(&self) -> Vec<Arc<Job>> {
        lock(&self.jobs).values().cloned().collect()
    }

    /// How a job ended that this process had.
    pub(super) fn remembered(&self, tenant: &Tenant, id: &ReceiptId) -> Option<JobView> {
        let ended = lock(&self.ended);
        ended.iter().find(|(of, view)| of == tenant && view.id == *id).map(|(_, view)| view.clone())
    }

    /// The job that a request with this key repeats.
    pub(super) fn answered(
        &self,
        keys: &Keys,
        job: &Job,
        (key, request): (&str, &Sha256Digest),
    ) -> Result<Option<ReceiptId>, SubmitError> {
        // First, because a job that is neither stored nor ended has no answer in the store yet.
        let tenant = &job.work.tenant;
        if let Some((before, id)) = keys.get(&(tenant.clone(), key.to_owned())) {
            return (before == request).then_some(Some(*id)).ok_or_else(|| SubmitError::KeyReused(key.to_owned()));
        }
        let content = job.content();
        self.answer_of(tenant, (key, request), content.as_ref().map_or("", |content| &content.text))
    }

    /// Makes the job a row of the store, unless it is one or has ended.
    pub(super) fn persist(&self, job: &Job) -> Result<(), SubmitError> {
        // Held until the row is written: meanwhile the job neither ends nor is cancelled.
        let row = lock(&job.row);
        let Some(content) = job.content().filter(|_| !row.over && !job.is_stored()) else { return Ok(()) };
        let accepting = Accepting {
            id: job.id,
            tenant: &job.work.tenant,
            request: &content.request,
            text: &content.text,
            chain: &job.work.chain,
            supersedes: job.work.supersedes.as_ref(),
        };
        let new = NewJob {
            accepted: accepting.sign(&self.key)?,
            job_id: job.id,
            request: content.text.clone(),
            checks: job.view().total as u64,
            chain: job.work.chain.clone(),
            supersedes: job.work.supersedes,
            needs: needs::of_request(&content.request, &self.store.workers()?),
            owner: Some(self.owner.clone()),
            created_at: job.created_at,
        };
        let writes = std::iter::once(new.into()).chain(answer(job).map(Write::from)).collect();
        self.store.of(&job.work.tenant).submit_all(writes).wait()?;
        // Only after the commit: until then the content is in memory alone.
        job.set_stored();
        Ok(())
    }

    pub(super) fn cancel(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Cancelled, StoreError> {
        let Some(job) = self.live(tenant, id) else { return self.cancel_stored(tenant, id) };
        job.cancel();
        self.queue.remove(&job);
        // `Queue::next` marks a job as running under the queue's lock, so one that was not in the queue is waited for
        // here.
        job.wait_returned();
        let mut row = lock(&job.row);
        if row.over {
            drop(row);
            return match job.view().state {
                // Over without an end: it was handed over, and its row says how it goes on.
                JobState::Waiting | JobState::Running => self.cancel_stored(tenant, id),
                state => Ok(Cancelled::Over(state)),
            };
        }
        if job.is_stored() {
            match self.store.of(tenant).cancel_job(id, &self.owner) {
                Ok(JobCancelled::Now) => {}
                // Another process has it, or has ended it.
                Ok(JobCancelled::Asked | JobCancelled::No) => {
                    self.hand_over(&job, &mut row);
                    drop(row);
                    return self.cancel_stored(tenant, id);
                }
                Err(error) => {
                    self.hand_over(&job, &mut row);
                    return Err(error);
                }
            }
        }
        self.end(&job, &mut row, JobState::Cancelled, None);
        Ok(Cancelled::Now)
    }

    /// Cancels a job that this process does not have. One that another process runs has ended when this returns, or that
    /// process has: then nothing of the job is stored any more.
    fn cancel_stored(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Cancelled, StoreError> {
        let store = self.store.of(tenant);
        match store.cancel_job(id, &self.owner)? {
            JobCancelled::Now => return Ok(Cancelled::Now),
            JobCancelled::No => return self.over(tenant, id),
            JobCancelled::Asked => {}
        }
        let (begun, mut asked) = (Instant::now(), Instant::now());
        loop {
            thread::sleep(LOOK_WHETHER_CANCELLED);
            let row = store.job(id)?;
            match row.as_ref().map(|row| &row.state) {
                Some(StoredState::Cancelled) => return Ok(Cancelled::Now),
                Some(StoredState::Waiting) => {}
                _ => return self.over(tenant, id),
            }
            // A process that lives and does not end the job may not end it later, either.
            let owner = row.and_then(|row| row.owner).filter(|_| begun.elapsed() > MAX_CANCELLING);
            if owner.is_some() || asked.elapsed() > ASK_AGAIN {
                store.cancel_job(id, owner.as_deref().unwrap_or(&self.owner))?;
                asked = Instant::now();
            }
        }
    }

    /// The answer to cancelling a job that has ended, or that the tenant does not have.
    fn over(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Cancelled, StoreError> {
        Ok(self.ended(tenant, id)?.map_or(Cancelled::Unknown, |view| Cancelled::Over(view.state)))
    }

    /// Ends a job in memory; its end is in the store, where it belongs there.
    pub(super) fn end(&self, job: &Job, row: &mut Row, state: JobState, receipt: Option<Arc<Receipt>>) {
        row.over = true;
        let view = job.end(state, receipt);
        job.work.asked_in.in_scope(|| self.report(JobWatch::Ended { tenant: &job.work.tenant, view: &view }));
        // What is done is found by its receipt. A row has the end of a job, but not how many of its checks had run.
        if view.state != JobState::Done {
            let mut ended = lock(&self.ended);
            ended.push_back((job.work.tenant.clone(), view));
            if ended.len() > MAX_ENDED {
                ended.pop_front();
            }
        }
        self.forget(job);
    }

    /// Ends a job that is not stored, unless it has ended.
    pub(super) fn fail(&self, job: &Job, why: &str) {
        job.cancel();
        self.queue.remove(job);
        let mut row = lock(&job.row);
        if !row.over {
            self.end(job, &mut row, JobState::Failed(why.to_owned()), None);
        }
    }

    /// Leaves a stored job to its row: this process, or another, runs it again, or has ended it. Its followers follow the
    /// row.
    pub(super) fn hand_over(&self, job: &Job, row: &mut Row) {
        row.over = true;
        job.cancel();
        self.queue.remove(job);
        // Before it is forgotten: those who find it in memory until then are sent to its row.
        let listeners = job.hand_over();
        self.report(JobWatch::Left { tenant: &job.work.tenant, id: job.id });
        self.forget(job);
        let view = job.view();
        let followers = listeners.into_iter().map(|listener| RemoteFollower::new(&job.work.tenant, &view, listener));
        lock(&self.remote).extend(followers);
        self.wake.set(Hint::ANY);
    }

    /// Gives up a job that this process cannot finish: a stored one to its row, another one fails.
    pub(super) fn release(&self, job: &Job) {
        let mut row = lock(&job.row);
        if row.over {
            return;
        }
        if job.is_stored() {
            self.hand_over(job, &mut row)
        } else {
            self.end(job, &mut row, JobState::Failed(SubmitError::Stopping.to_string()), None)
        }
    }

    fn forget(&self, job: &Job) {
        if let Some((key, _)) = &job.work.replayable {
            // By now an answer that was to be stored is on disk, so a repetition finds it here or there. A job that was
            // neither stored nor done leaves its key free.
            lock(&self.keys).remove(&(job.work.tenant.clone(), key.clone()));
        }
        lock(&self.jobs).remove(&job.id);
    }
}

/// What is stored so that a repetition of the request is recognised.
pub(super) fn answer(job: &Job) -> Option<Answer> {
    let (key, request) = job.work.replayable.clone()?;
    Some(Answer { key, request, document: job.id.to_string() })
}

/// How many checks a request has.
///
/// # Errors
/// When it cannot be planned.
pub(super) fn checks(request: &Request, caps: &Caps) -> Result<usize, RequestError> {
    let plan = request.plan(caps)?;
    Ok(match &request.checks {
        Checks::Constraints { constraints, .. } => constraints.len(),
        Checks::Suite(_) | Checks::Command(_) => plan.submission.map_or(0, |job| job.cases.len()),
    })
}
