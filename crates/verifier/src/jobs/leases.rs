//! The one thread that renews leases, takes over jobs whose process died, and polls jobs that other processes have.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proofmark_checks::{Format, Request};
use proofmark_receipt::ReceiptId;
use proofmark_store::{JobEnd, JobState as StoredState, LEASE_MS, StoreError, StoredJob, Tenant};

use super::job::{Job, Lane, RemoteFollower};
use super::scheduler::{Scheduler, checks};
use super::{MAX_WAITING, REMEMBERED_MS};
use crate::sync::lock;

/// How often leases are renewed.
const RENEW_EVERY: Duration = Duration::from_secs(3);
const _: () = assert!(RENEW_EVERY.as_millis() as i64 * 3 < LEASE_MS, "a lease outlasts two renewals that fail");

/// How often old answers and jobs are deleted.
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

impl Scheduler {
    /// Runs until everything has stopped. What fails in the store is tried again at the next turn: until then leases expire at
    /// worst, and a process that has lost one cannot end the job.
    pub(super) fn run_leases(&self) {
        let mut pruned: Option<Instant> = None;
        loop {
            self.renew();
            self.take_over();
            self.poll_remote();
            if pruned.is_none_or(|at| at.elapsed() >= PRUNE_EVERY) {
                self.prune();
                pruned = Some(Instant::now());
            }
            if self.stopped.wait(RENEW_EVERY) {
                return;
            }
        }
    }

    fn renew(&self) {
        let Ok(ours) = self.store.renew_leases(&self.owner) else { return };
        // What the store could renew is ours; a lease that another process took over is not among them.
        let ours: HashSet<(Tenant, ReceiptId)> = ours.into_iter().collect();
        let is_ours = |job: &Job| ours.contains(&(job.work.tenant.clone(), job.id));
        for job in self.all_live().iter().filter(|job| job.is_stored() && !is_ours(job)) {
            // It may have been stored after the leases were renewed.
            if let Ok(None) = self.waiting_row(&job.work.tenant, &job.id) {
                // Before its row is locked, which the thread that issues may hold: the job is not ours to finish.
                job.cancel();
                let mut row = lock(&job.row);
                if !row.over {
                    self.hand_over(job, &mut row);
                }
            }
        }
        // A row that is ours and has no job here was handed over, for instance when the store failed: it runs again.
        for (tenant, id) in ours.iter().filter(|(_, id)| !self.is_live(id)) {
            self.take_up(tenant, id);
        }
    }

    fn take_over(&self) {
        let free = MAX_WAITING.saturating_sub(self.queue.waiting());
        // A job taken over now would only wait under our lease; another process may run it.
        if free == 0 || self.queue.is_closed() {
            return;
        }
        let Ok(taken) = self.store.take_over_jobs(&self.owner, free) else { return };
        taken.iter().for_each(|job| self.take_up(&job.tenant, &job.job_id));
    }

    /// Queues a stored job that no other process runs. Its request is read here to see whether it can run, and again when it
    /// does: in between it takes no memory.
    fn take_up(&self, tenant: &Tenant, id: &ReceiptId) {
        if self.is_live(id) {
            return;
        }
        // The row of a job that has just ended is not ours any more. Where the store fails the row stays ours, and is
        // tried again.
        let Ok(Some(row)) = self.waiting_row(tenant, id) else { return };
        let request = Request::read(row.request.as_bytes(), Format::Json, None);
        let planned = request.and_then(|request| Ok((checks(&request, &self.caps)?, Lane::of(&request))));
        match planned {
            Ok((total, lane)) => {
                let job = Arc::new(Job::of_row(row, lane, total));
                lock(&self.jobs).insert(job.id, Arc::clone(&job));
                if self.queue.push_accepted(&job).is_err() {
                    lock(&self.jobs).remove(&job.id);
                }
            }
            Err(error) => {
                let state = StoredState::Failed(error.to_string());
                let end = JobEnd { job_id: *id, owner: self.owner.clone(), state };
                // Where this fails the row stays ours, and is tried again.
                let _again = self.store.of(tenant).submit(end).wait();
            }
        }
    }

    /// Notifies the followers of jobs that other processes have of what has changed. The list is taken out of its lock first:
    /// listeners are called, and the store is read, without it.
    fn poll_remote(&self) {
        let followers: Vec<RemoteFollower> = std::mem::take(&mut *lock(&self.remote));
        let mut left = Vec::new();
        for mut follower in followers.into_iter().filter(|follower| follower.listener.is_alive()) {
            // This process may have taken the job over.
            if let Some(job) = self.live(&follower.tenant, &follower.seen.id) {
                match job.listen(follower.listener) {
                    None => continue,
                    Some(listener) => follower.listener = listener,
                }
            }
            if let Ok(Some(view)) = self.ended(&follower.tenant, &follower.seen.id)
                && view != follower.seen
            {
                follower.listener.notify(&view);
                follower.seen = view;
            }
            if !follower.seen.state.is_end() {
                left.push(follower);
            }
        }
        // Added, not assigned: others may have begun to follow meanwhile.
        lock(&self.remote).append(&mut left);
    }

    fn prune(&self) {
        // In small transactions, between which other writes get their turn.
        while self.store.prune(REMEMBERED_MS).is_ok_and(|pruned| pruned > 0) {}
    }

    fn is_live(&self, id: &ReceiptId) -> bool {
        lock(&self.jobs).contains_key(id)
    }

    /// The row of a job that waits under a lease of ours.
    fn waiting_row(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Option<StoredJob>, StoreError> {
        let is_owned = |job: &StoredJob| job.lease.as_ref().is_some_and(|lease| lease.owner == self.owner);
        let ours = |job: &StoredJob| job.state == StoredState::Waiting && is_owned(job);
        Ok(self.store.of(tenant).job(id)?.filter(ours))
    }
}
