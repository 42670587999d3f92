//! Jobs that wait for a worker: for each lane a queue of each tenant; tenants take turns.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use proofmark_sandbox::SharedJob;
use proofmark_store::{MAX_WAITING, MAX_WAITING_BYTES, MAX_WAITING_BYTES_OF_ONE, MAX_WAITING_OF_ONE, Tenant};
use proofmark_verifier::sync::lock;
use proofmark_verifier::{LOOK_EVERY, Offers};

use crate::job::{Job, Lane};

#[derive(Default)]
pub(super) struct Queue {
    /// How many workers there are.
    workers: OfLane,
    state: Mutex<State>,
    /// Notified when a job waits in the lane, and when the queue is closed. One for each lane: a job wakes one worker that can
    /// run it.
    to_run: Condvar,
    to_judge: Condvar,
    /// Notified when no worker has a job.
    idle: Condvar,
}

#[derive(Default)]
struct State {
    runs: TenantQueues,
    quick: TenantQueues,
    waiting: Load,
    of_tenant: HashMap<Tenant, Load>,
    running: OfLane,
    /// How many workers wait for a job that runs something.
    idle: usize,
    /// The running jobs that an idle worker may join.
    offers: Offers<Arc<Job>>,
    joined: Joined,
    closed: bool,
}

/// How many there are for each lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OfLane {
    pub(super) runs: usize,
    pub(super) quick: usize,
}

impl OfLane {
    fn lane(&mut self, lane: Lane) -> &mut usize {
        match lane {
            Lane::Runs => &mut self.runs,
            Lane::Quick => &mut self.quick,
        }
    }

    pub(super) fn all(self) -> usize {
        self.runs + self.quick
    }
}

/// The workers that joined a job of another.
#[derive(Default)]
struct Joined {
    /// The flag of each that was not asked to leave.
    staying: Vec<Arc<AtomicBool>>,
    /// How many were asked to leave, and have not.
    leaving: usize,
}

/// What a worker is to do next.
pub(super) enum Next {
    Run(Arc<Job>),
    Join(Joining),
}

/// A running job of another worker, whose cases are to be run as well.
pub(super) struct Joining {
    pub(super) job: Arc<Job>,
    pub(super) shared: Arc<SharedJob>,
    /// Set when a job waits for the worker that joined.
    pub(super) leave: Arc<AtomicBool>,
}

/// The jobs that wait in one lane.
#[derive(Default)]
struct TenantQueues {
    len: usize,
    /// The tenants with something waiting; the first is next.
    order: VecDeque<Tenant>,
    queues: HashMap<Tenant, VecDeque<Arc<Job>>>,
}

/// How much waits.
#[derive(Clone, Copy, Default)]
struct Load {
    jobs: usize,
    /// Of requests, in memory or on disk.
    bytes: usize,
}

/// Why a job is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Full,
    Closed,
}

impl Queue {
    /// A queue for so many workers.
    pub(super) fn new(workers: OfLane) -> Self {
        Self { workers, ..Self::default() }
    }

    pub(super) fn workers(&self) -> OfLane {
        self.workers
    }

    /// How many jobs would begin at once.
    pub(super) fn room(&self) -> OfLane {
        let state = lock(&self.state);
        if state.closed {
            return OfLane::default();
        }
        OfLane {
            runs: self.workers.runs.saturating_sub(state.running.runs + state.runs.len),
            quick: self.workers.quick.saturating_sub(state.running.quick + state.quick.len),
        }
    }

    /// Appends a job to its tenant's queue.
    pub(super) fn push(&self, job: &Arc<Job>) -> Result<(), Refused> {
        let mut state = lock(&self.state);
        let all = state.waiting.with(job);
        let of_one = state.of_tenant.get(&job.work.tenant).copied().unwrap_or_default().with(job);
        let too_many = all.jobs > MAX_WAITING || of_one.jobs > MAX_WAITING_OF_ONE;
        if too_many || all.bytes > MAX_WAITING_BYTES || of_one.bytes > MAX_WAITING_BYTES_OF_ONE {
            return Err(if state.closed { Refused::Closed } else { Refused::Full });
        }
        self.append(&mut state, job)
    }

    /// Appends a job that was accepted before, however many wait.
    pub(super) fn push_accepted(&self, job: &Arc<Job>) -> Result<(), Refused> {
        self.append(&mut lock(&self.state), job)
    }

    /// The next job of this lane, of the tenant whose turn it is; else a running one to join. Waits for either. None once the
    /// queue is closed.
    pub(super) fn next(&self, lane: Lane) -> Option<Next> {
        let mut state = lock(&self.state);
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.pop(lane) {
                *state.running.lane(lane) += 1;
                // While this lock is held, so that a job is always found either here or running.
                job.set_running();
                return Some(Next::Run(job));
            }
            state = match lane {
                Lane::Quick => self.to_judge.wait(state).unwrap_or_else(PoisonError::into_inner),
                Lane::Runs => match state.join() {
                    Some(joining) => return Some(Next::Join(joining)),
                    None => self.wait_idly(state),
                },
            };
        }
    }

    /// Waits for a job that runs something, or for one to join.
    fn wait_idly<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.idle += 1;
        let mut state = if state.offers.is_any_open() {
            self.to_run.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0
        } else {
            self.to_run.wait(state).unwrap_or_else(PoisonError::into_inner)
        };
        state.idle -= 1;
        state
    }

    /// Lets idle workers join a running job.
    pub(super) fn offer(&self, job: &Arc<Job>, shared: &Arc<SharedJob>) {
        lock(&self.state).offers.add(Arc::clone(job), shared);
        self.to_run.notify_all();
    }

    /// Lets no further worker join the job.
    pub(super) fn withdraw(&self, job: &Job) {
        lock(&self.state).offers.withdraw(|offered| offered.id == job.id);
    }

    /// A worker has left the job that it joined.
    pub(super) fn left(&self, joining: &Joining) {
        let mut state = lock(&self.state);
        let staying = state.joined.staying.len();
        state.joined.staying.retain(|leave| !Arc::ptr_eq(leave, &joining.leave));
        if state.joined.staying.len() == staying {
            state.joined.leaving -= 1;
        }
    }

    /// A worker has returned a job.
    pub(super) fn returned(&self, lane: Lane) {
        // Called once for each job that `next` gave out, so it does not go below 0.
        let mut state = lock(&self.state);
        *state.running.lane(lane) -= 1;
        if state.running.all() == 0 {
            self.idle.notify_all();
        }
    }

    /// Takes a job out, if it waits.
    pub(super) fn remove(&self, job: &Job) {
        let mut state = lock(&self.state);
        if state.lane(job.lane).remove(job) {
            state.forget(job);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Hands out and takes in nothing more; the jobs that waited.
    pub(super) fn close(&self) -> Vec<Arc<Job>> {
        let mut state = lock(&self.state);
        state.closed = true;
        let waiting = std::iter::from_fn(|| state.pop(Lane::Runs).or_else(|| state.pop(Lane::Quick))).collect();
        self.to_run.notify_all();
        self.to_judge.notify_all();
        waiting
    }

    /// Waits until no worker has a job, for at most this long.
    pub(super) fn wait_idle(&self, patience: Duration) {
        let state = lock(&self.state);
        let waited = self.idle.wait_timeout_while(state, patience, |state| state.running.all() > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn append(&self, state: &mut State, job: &Arc<Job>) -> Result<(), Refused> {
        if state.closed {
            return Err(Refused::Closed);
        }
        state.lane(job.lane).append(job);
        state.waiting = state.waiting.with(job);
        let of_one = state.of_tenant.entry(job.work.tenant.clone()).or_default();
        *of_one = of_one.with(job);
        state.recall();
        self.waiting_for(job.lane).notify_one();
        Ok(())
    }

    fn waiting_for(&self, lane: Lane) -> &Condvar {
        match lane {
            Lane::Runs => &self.to_run,
            Lane::Quick => &self.to_judge,
        }
    }
}

impl State {
    fn lane(&mut self, lane: Lane) -> &mut TenantQueues {
        match lane {
            Lane::Runs => &mut self.runs,
            Lane::Quick => &mut self.quick,
        }
    }

    fn pop(&mut self, lane: Lane) -> Option<Arc<Job>> {
        let job = self.lane(lane).pop()?;
        self.forget(&job);
        Some(job)
    }

    /// A running job for an idle worker to join.
    fn join(&mut self) -> Option<Joining> {
        let (job, shared) = self.offers.best()?;
        let leave = Arc::new(AtomicBool::new(false));
        self.joined.staying.push(Arc::clone(&leave));
        Some(Joining { job, shared, leave })
    }

    /// Asks as many workers to leave the jobs they joined as there are jobs that wait for one: those come first.
    fn recall(&mut self) {
        while self.runs.len > self.idle + self.joined.leaving {
            let Some(leave) = self.joined.staying.pop() else { return };
            leave.store(true, Ordering::Relaxed);
            self.joined.leaving += 1;
        }
    }

    /// A job no longer waits.
    fn forget(&mut self, job: &Job) {
        self.waiting = self.waiting.without(job);
        if let Some(of_one) = self.of_tenant.get_mut(&job.work.tenant) {
            *of_one = of_one.without(job);
            if of_one.jobs == 0 {
                self.of_tenant.remove(&job.work.tenant);
            }
        }
    }
}

impl TenantQueues {
    fn append(&mut self, job: &Arc<Job>) {
        let tenant = &job.work.tenant;
        if !self.queues.contains_key(tenant) {
            self.order.push_back(tenant.clone());
        }
        self.queues.entry(tenant.clone()).or_default().push_back(Arc::clone(job));
        self.len += 1;
    }

    fn pop(&mut self) -> Option<Arc<Job>> {
        // A tenant is in `order` exactly while it has a queue, and no queue is empty.
        let tenant = self.order.pop_front()?;
        let queue = self.queues.get_mut(&tenant)?;
        let job = queue.pop_front()?;
        self.len -= 1;
        if queue.is_empty() {
            drop(self.queues.remove(&tenant))
        } else {
            self.order.push_back(tenant)
        }
        Some(job)
    }

    /// Takes a job out; whether it was there.
    fn remove(&mut self, job: &Job) -> bool {
        let Some(queue) = self.queues.get_mut(&job.work.tenant) else { return false };
        let before = queue.len();
        queue.retain(|one| one.id != job.id);
        let left = queue.len();
        self.len -= before - left;
        if left == 0 {
            self.queues.remove(&job.work.tenant);
            self.order.retain(|tenant| *tenant != job.work.tenant);
        }
        left < before
    }
}

impl Load {
    fn with(self, job: &Job) -> Self {
        Self { jobs: self.jobs + 1, bytes: self.bytes.saturating_add(job.bytes) }
    }

    fn without(self, job: &Job) -> Self {
        Self { jobs: self.jobs.saturating_sub(1), bytes: self.bytes.saturating_sub(job.bytes) }
    }
}
