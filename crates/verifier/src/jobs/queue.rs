//! Jobs that wait for a worker: for each lane a queue of each tenant; tenants take turns.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use proofmark_store::Tenant;

use super::job::{Job, Lane};
use super::{MAX_WAITING, MAX_WAITING_BYTES, MAX_WAITING_BYTES_OF_ONE, MAX_WAITING_OF_ONE};
use crate::sync::lock;

#[derive(Default)]
pub(super) struct Queue {
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
    running: usize,
    closed: bool,
}

/// The jobs that wait in one lane.
#[derive(Default)]
struct TenantQueues {
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

    /// The next job of this lane, of the tenant whose turn it is; waits for one. None once the queue is closed.
    pub(super) fn next(&self, lane: Lane) -> Option<Arc<Job>> {
        let mut state = lock(&self.state);
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.pop(lane) {
                state.running += 1;
                // While this lock is held, so that a job is always found either here or running.
                job.set_running();
                return Some(job);
            }
            state = self.waiting_for(lane).wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A worker has returned a job.
    pub(super) fn returned(&self) {
        // Called once for each job that `next` gave out, so it does not go below 0.
        let mut state = lock(&self.state);
        state.running -= 1;
        if state.running == 0 {
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

    pub(super) fn waiting(&self) -> usize {
        lock(&self.state).waiting.jobs
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
        let waited = self.idle.wait_timeout_while(state, patience, |state| state.running > 0);
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
    }

    fn pop(&mut self) -> Option<Arc<Job>> {
        // A tenant is in `order` exactly while it has a queue, and no queue is empty.
        let tenant = self.order.pop_front()?;
        let queue = self.queues.get_mut(&tenant)?;
        let job = queue.pop_front()?;
        match queue.is_empty() {
            true => drop(self.queues.remove(&tenant)),
            false => self.order.push_back(tenant),
        }
        Some(job)
    }

    /// Takes a job out; whether it was there.
    fn remove(&mut self, job: &Job) -> bool {
        let Some(queue) = self.queues.get_mut(&job.work.tenant) else { return false };
        let before = queue.len();
        queue.retain(|one| one.id != job.id);
        let left = queue.len();
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
