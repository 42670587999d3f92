//! What waits for a worker: a queue for each tenant, which take turns.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use proofmark_store::Tenant;

use super::job::Job;
use super::room::lock;
use super::{MAX_WAITING, MAX_WAITING_BYTES, MAX_WAITING_OF_ONE};

#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The tenants with something waiting; the first is next.
    turns: VecDeque<Tenant>,
    lanes: HashMap<Tenant, VecDeque<Arc<Job>>>,
    waiting: usize,
    bytes: usize,
    running: usize,
    closed: bool,
}

/// Why a job is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Full,
    Closed,
}

impl Queue {
    /// Appends a job to its tenant's queue.
    pub(super) fn push(&self, job: &Arc<Job>) -> Result<(), Refused> {
        let mut state = lock(&self.state);
        let of_one = state.lanes.get(&job.work.tenant).map_or(0, VecDeque::len);
        let bytes = state.bytes.saturating_add(job.work.text.len());
        if state.waiting >= MAX_WAITING || of_one >= MAX_WAITING_OF_ONE || bytes > MAX_WAITING_BYTES {
            return Err(if state.closed { Refused::Closed } else { Refused::Full });
        }
        self.append(&mut state, job)
    }

    /// Appends a job that was accepted before, however many wait.
    pub(super) fn push_accepted(&self, job: &Arc<Job>) -> Result<(), Refused> {
        self.append(&mut lock(&self.state), job)
    }

    /// The next job, of the tenant whose turn it is; waits for one. None once the queue is closed.
    pub(super) fn next(&self) -> Option<Arc<Job>> {
        let mut state = lock(&self.state);
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.pop() {
                state.running += 1;
                // Before anyone can look for it here in vain.
                job.taken();
                return Some(job);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A worker is done with what it was given.
    pub(super) fn returned(&self) {
        lock(&self.state).running -= 1;
        self.changed.notify_all();
    }

    /// Takes a job out, if it waits.
    pub(super) fn remove(&self, job: &Job) {
        let mut state = lock(&self.state);
        let Some(lane) = state.lanes.get_mut(&job.work.tenant) else { return };
        let before = lane.len();
        lane.retain(|one| one.id != job.id);
        let (left, gone) = (lane.len(), before - lane.len());
        state.waiting -= gone;
        state.bytes -= gone * job.work.text.len();
        if left == 0 {
            state.lanes.remove(&job.work.tenant);
            state.turns.retain(|tenant| *tenant != job.work.tenant);
        }
    }

    pub(super) fn waiting(&self) -> usize {
        lock(&self.state).waiting
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Hands out and takes in nothing more; what was waiting.
    pub(super) fn close(&self) -> Vec<Arc<Job>> {
        let mut state = lock(&self.state);
        state.closed = true;
        let waiting = std::iter::from_fn(|| state.pop()).collect();
        self.changed.notify_all();
        waiting
    }

    /// Waits until no worker has a job, for at most this long.
    pub(super) fn wait_idle(&self, patience: Duration) {
        let state = lock(&self.state);
        let waited = self.changed.wait_timeout_while(state, patience, |state| state.running > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn append(&self, state: &mut State, job: &Arc<Job>) -> Result<(), Refused> {
        if state.closed {
            return Err(Refused::Closed);
        }
        let tenant = &job.work.tenant;
        if !state.lanes.contains_key(tenant) {
            state.turns.push_back(tenant.clone());
        }
        state.lanes.entry(tenant.clone()).or_default().push_back(Arc::clone(job));
        state.waiting += 1;
        state.bytes += job.work.text.len();
        // Workers wait on the same condition as who waits for them to end.
        self.changed.notify_all();
        Ok(())
    }
}

impl State {
    fn pop(&mut self) -> Option<Arc<Job>> {
        let tenant = self.turns.pop_front()?;
        let lane = self.lanes.get_mut(&tenant)?;
        let job = lane.pop_front()?;
        match lane.is_empty() {
            true => drop(self.lanes.remove(&tenant)),
            false => self.turns.push_back(tenant),
        }
        self.waiting -= 1;
        self.bytes -= job.work.text.len();
        Some(job)
    }
}
