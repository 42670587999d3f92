//! The one thread that keeps leases, takes over what others left, and asks after what others have.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proofmark_checks::{Format, Request};
use proofmark_receipt::ReceiptId;
use proofmark_store::{Bundle, JobEnd, JobState as Kept, StoreError, StoredJob, Tenant};

use super::job::{Job, Lane, Listener};
use super::room::{Room, checks, lock};
use super::{JobView, MAX_WAITING, REMEMBERED_MS};
use crate::clock;

/// How long a lease holds, in milliseconds.
pub(super) const LEASE_MS: i64 = 10_000;

/// How often leases are renewed.
const RENEW_EVERY: Duration = Duration::from_secs(3);

/// How often what is old is forgotten.
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

/// Somebody who follows a job that another process has.
pub(super) struct Afar {
    tenant: Tenant,
    seen: JobView,
    listener: Listener,
}

impl Afar {
    pub(super) fn new(tenant: &Tenant, seen: &JobView, listener: Listener) -> Self {
        Self { tenant: tenant.clone(), seen: seen.clone(), listener }
    }
}

impl Room {
    /// Goes on until everything has stopped. What the store fails at is tried again at the next turn: until then leases
    /// run out at worst, and who has lost one cannot end the job.
    pub(super) fn tend_all(&self) {
        let mut pruned: Option<Instant> = None;
        loop {
            self.renew();
            self.take_over();
            self.ask_after();
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
        let Ok(now) = self.now() else { return };
        let Ok(ours) = self.store.renew_leases(&self.lease(now), now) else { return };
        let ours: HashSet<(Tenant, ReceiptId)> = ours.into_iter().collect();
        let is_ours = |job: &Job| ours.contains(&(job.work.tenant.clone(), job.id));
        for job in self.all_live().iter().filter(|job| job.is_kept() && !is_ours(job)) {
            // It may have been kept after the leases were renewed.
            if let Ok(None) = self.waiting_row(&job.work.tenant, &job.id) {
                job.call_off();
                let mut row = lock(&job.row);
                if !row.over {
                    self.give_away(job, &mut row);
                }
            }
        }
        for (tenant, id) in ours.iter().filter(|(_, id)| !self.is_live(id)) {
            self.take_up(tenant, id);
        }
    }

    fn take_over(&self) {
        let room = MAX_WAITING.saturating_sub(self.queue.waiting());
        if room == 0 || self.queue.is_closed() {
            return;
        }
        let Ok(now) = self.now() else { return };
        let Ok(taken) = self.store.take_over_jobs(&self.lease(now), now, room) else { return };
        taken.iter().for_each(|kept| self.take_up(&kept.tenant, &kept.job.job_id));
    }

    /// Runs a job of the store that nobody else runs. Its request is read here to see whether it can run, and again when
    /// it does: in between it is on disk.
    fn take_up(&self, tenant: &Tenant, id: &ReceiptId) {
        if self.is_live(id) {
            return;
        }
        // The row of a job that has just ended is not ours any more; where the store fails the row stays ours, and is tried again.
        let Ok(Some(row)) = self.waiting_row(tenant, id) else { return };
        let request = Request::read(row.job.request.as_bytes(), Format::Json, None);
        let planned = request.and_then(|request| Ok((checks(&request, &self.caps)?, Lane::of(&request))));
        match planned {
            Ok((total, lane)) => {
                let job = Arc::new(Job::of_row(tenant.clone(), row.job, lane, total));
                lock(&self.jobs).insert(job.id, Arc::clone(&job));
                if self.queue.push_accepted(&job).is_err() {
                    lock(&self.jobs).remove(&job.id);
                }
            }
            Err(error) => {
                let state = Kept::Failed(error.to_string());
                let job = Some(JobEnd { job_id: *id, owner: self.owner.clone(), state });
                let bundle = Bundle { job, at: clock::now().unix_millis(), ..Bundle::default() };
                // It stays ours where this fails, and is tried again.
                let _again = self.store.of(tenant).submit_bundle(bundle).wait();
            }
        }
    }

    /// Tells those who follow a job from afar what has changed.
    fn ask_after(&self) {
        let asked: Vec<Afar> = std::mem::take(&mut *lock(&self.afar));
        let mut left = Vec::new();
        for mut one in asked.into_iter().filter(|one| one.listener.is_alive()) {
            // It may have come back to us.
            if let Some(job) = self.live(&one.tenant, &one.seen.id) {
                match job.listen(one.listener) {
                    None => continue,
                    Some(listener) => one.listener = listener,
                }
            }
            if let Ok(Some(view)) = self.ended(&one.tenant, &one.seen.id)
                && view != one.seen
            {
                one.listener.tell(&view);
                one.seen = view;
            }
            if !one.seen.state.is_end() {
                left.push(one);
            }
        }
        lock(&self.afar).append(&mut left);
    }

    fn prune(&self) {
        let Ok(now) = self.now() else { return };
        let before = now.saturating_sub(REMEMBERED_MS);
        while self.store.prune(before).is_ok_and(|pruned| pruned > 0) {}
    }

    fn is_live(&self, id: &ReceiptId) -> bool {
        lock(&self.jobs).contains_key(id)
    }

    /// The row of a job that waits under a lease of ours.
    fn waiting_row(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Option<StoredJob>, StoreError> {
        let ours = |kept: &StoredJob| kept.state == Kept::Waiting && kept.job.lease.owner == self.owner;
        Ok(self.store.of(tenant).job(id)?.filter(ours))
    }
}
