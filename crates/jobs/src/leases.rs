//! The one thread that renews the lease of this process, queues the jobs that it has and lost sight of, and deletes what is old.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use proofmark_receipt::{ReceiptId, SignerId};
use proofmark_store::{
    Hint, JobEnd, JobProgress, JobState as StoredState, LEASE_MS, Presence, StoreError, StoredJob, Tenant,
};
use proofmark_verifier::sync::lock;

use crate::job::{Job, Lane};
use crate::scheduler::{Scheduler, checks};
use crate::{JobState, JobWatch, REMEMBERED_MS, needs};

/// How often it is looked whether there is progress to tell.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// How often the lease is renewed, with and without progress.
const RENEW_EVERY: Duration = Duration::from_secs(3);
const _: () = assert!(RENEW_EVERY.as_millis() as i64 * 3 < LEASE_MS, "a lease outlasts two renewals that fail");

/// How often old answers and jobs are deleted.
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

/// What became of a row that this process had.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TakenUp {
    /// It has ended, or is another process's.
    Lost,
    /// It is here, or is tried again.
    Kept,
}

impl Scheduler {
    /// Runs until everything has stopped. What fails in the store is tried again at the next turn: until then the lease expires
    /// at worst, and a process that has lost a job cannot end it.
    pub(super) fn run_leases(&self) {
        let (mut pruned, mut renewed) = (None::<Instant>, None::<(Instant, Vec<JobProgress>)>);
        loop {
            let progress = self.progress();
            let is_due = |(at, told): &(Instant, Vec<JobProgress>)| at.elapsed() >= RENEW_EVERY || *told != progress;
            if renewed.as_ref().is_none_or(is_due) {
                renewed = Some((Instant::now(), progress.clone()));
                if let Err(error) = self.renew(progress) {
                    self.report(JobWatch::NotRenewed(&error));
                }
            }
            if pruned.is_none_or(|at| at.elapsed() >= PRUNE_EVERY) {
                self.prune();
                pruned = Some(Instant::now());
            }
            if self.stopped.wait(TELL_EVERY) {
                return;
            }
        }
    }

    /// Renews the lease, and finds out whether this process may claim.
    fn renew(&self, progress: Vec<JobProgress>) -> Result<(), StoreError> {
        // Before it is renewed, so that this process never takes its lease for longer than the store does.
        let now = Instant::now();
        self.store.renew(&self.presence(progress))?;
        self.set_renewed(now);
        self.find_admission()?;
        let rows = self.store.jobs_of(&self.owner)?;
        self.unstored.keep(&rows.iter().map(|row| row.job_id).collect());
        // A job that is ours and not here was handed over, for instance when the store failed: it runs again. One that a client cancels is
        // taken up at once, to be ended.
        let is_due = |row: &&StoredJob| row.cancelling || !self.unstored.waits(&row.job_id, Instant::now());
        for row in rows.iter().filter(|row| !self.is_live(&row.job_id)).filter(is_due) {
            // The row of a job that has just ended is not ours any more.
            let _lost = self.take_up(&row.tenant, &row.job_id);
        }
        Ok(())
    }

    /// How far the stored jobs are that run here.
    fn progress(&self) -> Vec<JobProgress> {
        let running = self.all_live().into_iter().filter(|job| job.is_stored()).map(|job| job.view());
        let progress = running.filter(|view| view.state == JobState::Running).map(|view| JobProgress {
            job_id: view.id,
            done: view.done as u64,
            total: view.total as u64,
        });
        let mut progress: Vec<_> = progress.collect();
        progress.sort_unstable_by_key(|one| one.job_id);
        progress
    }

    fn presence(&self, progress: Vec<JobProgress>) -> Presence {
        // A process that ends accepts no more jobs, so no server counts on it.
        let runs = self.runs().filter(|_| self.front.is_none() && !self.queue.is_closed());
        let admits = self.front_signers().map(|signers| signers.iter().map(ToString::to_string).collect());
        Presence { owner: self.owner.clone(), signer: self.signer.clone(), runs, admits, progress }
    }

    /// A process may claim while every front takes its receipts; a worker, once one has.
    fn find_admission(&self) -> Result<(), StoreError> {
        let known = self.store.workers()?;
        let workers: Vec<Presence> =
            known.iter().filter(|worker| worker.is_alive).map(|worker| worker.presence.clone()).collect();
        *lock(&self.known) = known;
        if let Some(signers) = self.front_signers() {
            self.find_workers(&workers, &signers);
            return self.find_lacking();
        }
        let fronts: Vec<_> =
            workers.iter().filter_map(|worker| Some((&worker.signer, worker.admits.as_ref()?))).collect();
        let servers: Vec<String> = self.servers.iter().map(ToString::to_string).collect();
        let unknown: BTreeSet<&String> =
            fronts.iter().map(|(signer, _)| *signer).filter(|signer| !servers.contains(signer)).collect();
        let mut admitted = lock(&self.admitted);
        let before = *admitted;
        let now = match fronts.as_slice() {
            // Without a front, a worker goes on with what waits.
            [] => before.unwrap_or(!self.is_worker),
            // What an unknown server has accepted cannot be told from what somebody wrote into the store.
            fronts => unknown.is_empty() && fronts.iter().all(|(_, signers)| signers.contains(&self.signer)),
        };
        *admitted = Some(now);
        drop(admitted);
        if before != Some(now) {
            unknown.iter().for_each(|signer| self.report(JobWatch::UnknownServer { signer }));
        }
        if before != Some(now) {
            self.report(JobWatch::Admitted(now));
            self.wake.set(Hint::WAITING);
        }
        Ok(())
    }

    /// Finds out whether workers live, and which of them are not admitted.
    fn find_workers(&self, workers: &[Presence], signers: &[SignerId]) {
        let signers: Vec<String> = signers.iter().map(ToString::to_string).collect();
        let (admitted, strangers): (Vec<&Presence>, Vec<&Presence>) =
            workers.iter().filter(|worker| worker.runs.is_some()).partition(|worker| signers.contains(&worker.signer));
        let mut known = lock(&self.workers);
        let before = known.0.replace(!admitted.is_empty());
        let new: Vec<&Presence> = strangers.iter().filter(|one| !known.1.contains(&one.owner)).copied().collect();
        known.1 = strangers.iter().map(|stranger| stranger.owner.clone()).collect();
        drop(known);
        if before != Some(!admitted.is_empty()) {
            self.report(JobWatch::Workers(admitted.len()));
        }
        new.iter().for_each(|stranger| self.report(JobWatch::Stranger { signer: &stranger.signer }));
    }

    /// Tells of jobs that no worker can run that lives, once of each reason.
    fn find_lacking(&self) -> Result<(), StoreError> {
        let needs = self.store.job_figures()?.needs;
        let mut why: BTreeMap<String, u64> = BTreeMap::new();
        let known = lock(&self.known);
        for (need, jobs) in needs {
            needs::lacking(&need, &known).into_iter().for_each(|lacking| *why.entry(lacking).or_default() += jobs);
        }
        drop(known);
        let told = std::mem::replace(&mut *lock(&self.lacking), why.keys().cloned().collect());
        // That no worker lives is told by itself.
        if lock(&self.workers).0 == Some(true) {
            let new = why.iter().filter(|(why, _)| !told.contains(*why));
            new.for_each(|(why, jobs)| self.report(JobWatch::Lacking { jobs: *jobs, why }));
        }
        Ok(())
    }

    /// Queues a stored job that this process has. Its request is read here to see whether it can run, and again when it does:
    /// in between it takes no memory.
    pub(super) fn take_up(&self, tenant: &Tenant, id: &ReceiptId) -> TakenUp {
        if self.is_live(id) {
            return TakenUp::Kept;
        }
        let row = match self.own_row(tenant, id) {
            Ok(Some(row)) => row,
            Ok(None) => return TakenUp::Lost,
            // The row stays ours, and is tried again.
            Err(_) => return TakenUp::Kept,
        };
        let attempt = row.attempt;
        let planned = self.request_of(&row).and_then(|request| {
            Ok((checks(&request, &self.caps).map_err(|error| error.to_string())?, Lane::of(&request)))
        });
        match planned {
            Ok((total, lane)) => {
                let job = std::sync::Arc::new(Job::of_row(row, lane, total));
                lock(&self.jobs).insert(job.id, std::sync::Arc::clone(&job));
                if self.queue.push_accepted(&job).is_err() {
                    // This process stops: the job is given back with its lease.
                    self.release(&job);
                }
            }
            Err(error) => {
                let state = StoredState::Failed(error);
                let end = JobEnd { job_id: *id, owner: self.owner.clone(), attempt, state };
                // Where this fails the row stays ours, and is tried again.
                let _again = self.store.of(tenant).submit(end).wait();
            }
        }
        TakenUp::Kept
    }

    fn prune(&self) {
        // In small transactions, between which other writes get their turn.
        while self.store.prune(REMEMBERED_MS).is_ok_and(|pruned| pruned > 0) {}
    }

    fn is_live(&self, id: &ReceiptId) -> bool {
        lock(&self.jobs).contains_key(id)
    }
}
