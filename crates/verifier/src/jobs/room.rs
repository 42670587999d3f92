//! What the threads of [`super::Verifications`] share, and how a job leaves it.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use proofmark_checks::{Caps, Checks, Format, Request, RequestError};
use proofmark_receipt::{Receipt, ReceiptId, Sha256Digest, SigningKey, Verdict};
use proofmark_sandbox::{Host, Watch, Worker};
use proofmark_store::{Answer, Bundle, JobState as Kept, Lease, NewJob, Store, StoreError, Tenant};

use super::job::{Content, Job, Lane, Listener, Row};
use super::leases::{Afar, LEASE_MS};
use super::queue::Queue;
use super::sealing::Done;
use super::{Cancelled, JobState, JobView, SubmitError};
use crate::clock;
use crate::run;

/// How many jobs that ended without a trace in the store are remembered for those who ask what came of them.
const MAX_ENDED: usize = 1024;

/// The idempotency keys of what is in memory, by tenant and key.
pub(super) type Keys = HashMap<(Tenant, String), (Sha256Digest, ReceiptId)>;

pub(super) struct Room {
    host: Host,
    pub(super) caps: Caps,
    pub(super) key: SigningKey,
    pub(super) store: Arc<Store>,
    /// Our name on leases.
    pub(super) owner: String,
    pub(super) queue: Queue,
    /// Those that wait, run or are being sealed. Locked after `keys`, never before it.
    pub(super) jobs: Mutex<HashMap<ReceiptId, Arc<Job>>>,
    pub(super) keys: Mutex<Keys>,
    ended: Mutex<VecDeque<(Tenant, JobView)>>,
    pub(super) afar: Mutex<Vec<Afar>>,
    pub(super) stopped: Signal,
}

/// Something that happens once.
#[derive(Default)]
pub(super) struct Signal {
    happened: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    pub(super) fn set(&self) {
        *lock(&self.happened) = true;
        self.changed.notify_all();
    }

    /// Waits for it, for at most this long; whether it has happened.
    pub(super) fn wait(&self, patience: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(lock(&self.happened), patience, |happened| !*happened);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Room {
    pub(super) fn new(host: Host, key: SigningKey, store: Arc<Store>, owner: String) -> Self {
        Self {
            host,
            caps: Caps::default(),
            key,
            store,
            owner,
            queue: Queue::default(),
            jobs: Mutex::default(),
            keys: Mutex::default(),
            ended: Mutex::default(),
            afar: Mutex::default(),
            stopped: Signal::default(),
        }
    }

    /// Runs jobs of a lane until the queue is closed.
    pub(super) fn work(&self, lane: Lane, judged: &SyncSender<Done>) {
        let mut worker = self.host.worker();
        while let Some(job) = self.queue.next(lane) {
            match self.content(&job) {
                Some(content) => self.run(&mut worker, &job, content, judged),
                // A row that is still ours is taken up again, or says why it cannot run.
                None => self.let_go(&job),
            }
            job.returned();
            self.queue.returned();
        }
    }

    fn run(&self, worker: &mut Worker, job: &Arc<Job>, content: Arc<Content>, judged: &SyncSender<Done>) {
        let run = catch_unwind(AssertUnwindSafe(|| self.verify(worker, job, &content.request)));
        let outcome = run.unwrap_or_else(|_| {
            *worker = self.host.worker();
            Err("judge the submission: the verifier broke; report it with the request".to_owned())
        });
        // Only when sealing broke nobody takes it.
        if !job.is_called_off() && judged.send(Done { job: Arc::clone(job), content, outcome }).is_err() {
            self.let_go(job);
        }
    }

    /// What the job is to run, from memory or from its row.
    fn content(&self, job: &Job) -> Option<Arc<Content>> {
        job.content().or_else(|| {
            let text = self.store.of(&job.work.tenant).job(&job.id).ok()??.job.request;
            let request = Request::read(text.as_bytes(), Format::Json, None).ok()?;
            Some(Arc::new(Content { request, text }))
        })
    }

    fn verify(&self, worker: &mut Worker, job: &Job, request: &Request) -> Result<run::Judged, String> {
        let watch = Watch { cancelled: &job.cancelled, ran: &|done| job.ran(done) };
        let judged = run::verify(worker, &self.caps, request, job.id, &watch);
        let mut judged = judged.map_err(|error| error.to_string())?;
        // What says nothing about the work takes no receipt's place.
        if let Some(older) = &job.work.supersedes
            && judged.draft.verdict != Verdict::Error
        {
            judged.draft.metadata.insert("supersedes", older.to_string());
        }
        Ok(judged)
    }

    /// The tenant's job, if it is in memory and has not ended.
    pub(super) fn live(&self, tenant: &Tenant, id: &ReceiptId) -> Option<Arc<Job>> {
        lock(&self.jobs).get(id).filter(|job| job.work.tenant == *tenant).cloned()
    }

    pub(super) fn all_live(&self) -> Vec<Arc<Job>> {
        lock(&self.jobs).values().cloned().collect()
    }

    /// What came of the tenant's job, or where another process has it.
    pub(super) fn ended(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Option<JobView>, StoreError> {
        let remembered = lock(&self.ended).iter().find(|(of, view)| of == tenant && view.id == *id).cloned();
        match remembered {
            Some((_, view)) => Ok(Some(view)),
            None => self.stored(tenant, id),
        }
    }

    fn stored(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Option<JobView>, StoreError> {
        let store = self.store.of(tenant);
        let row = store.job(id)?;
        let view = |state, done, total, created_at, receipt| {
            Some(JobView { id: *id, state, done, total, created_at, receipt })
        };
        if let Some(row) = &row {
            let total = usize::try_from(row.job.checks).unwrap_or(usize::MAX);
            let state = match &row.state {
                Kept::Waiting => Some(JobState::Waiting),
                Kept::Failed(why) => Some(JobState::Failed(why.clone())),
                Kept::Cancelled => Some(JobState::Cancelled),
                Kept::Done => None,
            };
            if let Some(state) = state {
                return Ok(view(state, 0, total, row.job.created_at, None));
            }
        }
        let Some(kept) = store.job_receipt(id)? else { return Ok(None) };
        let total = usize::try_from(kept.receipt.results().total).unwrap_or(usize::MAX);
        let created_at = row.map_or_else(|| kept.receipt.verified_at().unix_millis(), |row| row.job.created_at);
        Ok(view(JobState::Done, total, total, created_at, Some(Arc::new(kept.receipt))))
    }

    /// The job that a request with this key repeats.
    pub(super) fn answered(
        &self,
        keys: &Keys,
        tenant: &Tenant,
        key: &str,
        request: &Sha256Digest,
    ) -> Result<Option<ReceiptId>, SubmitError> {
        let reused = || SubmitError::KeyReused(key.chars().take(80).collect());
        if let Some((before, id)) = keys.get(&(tenant.clone(), key.to_owned())) {
            return (before == request).then_some(Some(*id)).ok_or_else(reused);
        }
        let Some(answer) = self.store.of(tenant).answer(key)? else { return Ok(None) };
        let id = answer.document.parse().ok().filter(|_| answer.request == *request);
        id.map(Some).ok_or_else(reused)
    }

    /// Makes the job a row of the store, unless it is one or has ended.
    pub(super) fn keep(&self, job: &Job) -> Result<(), StoreError> {
        let row = lock(&job.row);
        let Some(content) = job.content().filter(|_| !row.over && !job.is_kept()) else { return Ok(()) };
        let now = self.now()?;
        let new = NewJob {
            job_id: job.id,
            request: content.text.clone(),
            checks: job.view().total as u64,
            chain: job.work.chain.clone(),
            supersedes: job.work.supersedes,
            lease: self.lease(now),
            created_at: job.created_at,
        };
        let bundle = Bundle { new_job: Some(new), answer: answer(job), at: now, ..Bundle::default() };
        self.store.of(&job.work.tenant).submit_bundle(bundle).wait()?;
        job.is_on_disk();
        Ok(())
    }

    /// The time by which leases run out, in milliseconds after 1970-01-01T00:00:00Z.
    pub(super) fn now(&self) -> Result<i64, StoreError> {
        Ok(clock::now_in(&self.store)?.unix_millis())
    }

    pub(super) fn lease(&self, now: i64) -> Lease {
        Lease { owner: self.owner.clone(), until: now.saturating_add(LEASE_MS) }
    }

    pub(super) fn cancel(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Cancelled, StoreError> {
        let Some(job) = self.live(tenant, id) else { return self.cancel_stored(tenant, id) };
        job.call_off();
        self.queue.remove(&job);
        job.wait_returned();
        let mut row = lock(&job.row);
        if row.over {
            drop(row);
            return match job.view().state {
                JobState::Waiting | JobState::Running => self.cancel_stored(tenant, id),
                state => Ok(Cancelled::Over(state)),
            };
        }
        if job.is_kept() {
            match self.store.of(tenant).cancel_job(id, clock::now().unix_millis()) {
                Ok(true) => {}
                Ok(false) => {
                    self.give_away(&job, &mut row);
                    return self.what_became(tenant, id);
                }
                Err(error) => {
                    self.give_away(&job, &mut row);
                    return Err(error);
                }
            }
        }
        self.end(&job, &mut row, JobState::Cancelled, None);
        Ok(Cancelled::Now)
    }

    fn cancel_stored(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Cancelled, StoreError> {
        match self.store.of(tenant).cancel_job(id, clock::now().unix_millis())? {
            true => Ok(Cancelled::Now),
            false => self.what_became(tenant, id),
        }
    }

    fn what_became(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Cancelled, StoreError> {
        Ok(self.ended(tenant, id)?.map_or(Cancelled::Unknown, |view| Cancelled::Over(view.state)))
    }

    /// Ends a job in memory; what is to be written of it has been.
    pub(super) fn end(&self, job: &Job, row: &mut Row, state: JobState, receipt: Option<Arc<Receipt>>) {
        row.over = true;
        let view = job.end(state, receipt);
        if !job.is_kept() && view.state != JobState::Done {
            let mut ended = lock(&self.ended);
            ended.push_back((job.work.tenant.clone(), view));
            if ended.len() > MAX_ENDED {
                ended.pop_front();
            }
        }
        self.forget(job);
    }

    /// Ends a job that is no row of the store, unless it has ended.
    pub(super) fn fail(&self, job: &Job, why: &str) {
        job.call_off();
        self.queue.remove(job);
        let mut row = lock(&job.row);
        if !row.over {
            self.end(job, &mut row, JobState::Failed(why.to_owned()), None);
        }
    }

    /// Has nothing more to do with a kept job: its row says what is to become of it.
    pub(super) fn give_away(&self, job: &Job, row: &mut Row) {
        row.over = true;
        job.call_off();
        self.queue.remove(job);
        let listeners = job.give_away();
        self.forget(job);
        let view = job.view();
        lock(&self.afar).extend(listeners.into_iter().map(|listener| Afar::new(&job.work.tenant, &view, listener)));
    }

    /// Lets go of a job because everything stops.
    pub(super) fn let_go(&self, job: &Job) {
        let mut row = lock(&job.row);
        if row.over {
            return;
        }
        match job.is_kept() {
            true => self.give_away(job, &mut row),
            false => self.end(job, &mut row, JobState::Failed(SubmitError::Stopping.to_string()), None),
        }
    }

    /// Tells the listener where the job is, and goes on doing so while another process has it.
    pub(super) fn listen_from_afar(&self, tenant: &Tenant, view: &JobView, listener: Listener) {
        listener.tell(view);
        if !view.state.is_end() {
            lock(&self.afar).push(Afar::new(tenant, view, listener));
        }
    }

    fn forget(&self, job: &Job) {
        if let Some((key, _)) = &job.work.replayable {
            lock(&self.keys).remove(&(job.work.tenant.clone(), key.clone()));
        }
        lock(&self.jobs).remove(&job.id);
    }
}

/// What is kept so that a repetition of the request is known.
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

/// The content is whole whatever became of who held it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
