//! The one thread that claims jobs for idle workers, finds out which jobs other processes have taken or are to be cancelled, and
//! polls those that other processes have.
//!
//! It looks often while something changes and seldom while nothing does. What happens in this process wakes it, and so does a
//! hint at what happens in another one; where no hints come, that is found by looking.

use std::time::{Duration, Instant};

use proofmark_checks::Language;
use proofmark_receipt::ReceiptId;
use proofmark_store::{Claim, Hint, JobState as StoredState, Runnable, StoreError, StoredJob, Tenant};
use proofmark_verifier::sync::lock;

use crate::job::Job;
use crate::leases::TakenUp;
use crate::queue::OfLane;
use crate::scheduler::Scheduler;
use crate::{Figures, JobState, JobView, JobWatch, needs};

/// How long after a change this thread looks again.
const SHORTEST: Duration = Duration::from_millis(20);
/// How long it waits where nothing has changed for a while.
const LONGEST: Duration = Duration::from_millis(500);
/// How often it looks for jobs of processes that have ended.
const GIVE_BACK_EVERY: Duration = Duration::from_secs(1);

impl Scheduler {
    /// Runs until everything has stopped. What fails in the store is tried again.
    pub(super) fn run_claims(&self) {
        let (mut patience, mut gave_back) = (SHORTEST, None::<Instant>);
        let mut next = Instant::now();
        loop {
            let woken = self.wake.take(next.saturating_duration_since(Instant::now()));
            if self.stopped.wait(Duration::ZERO) {
                return;
            }
            if gave_back.is_none_or(|at| at.elapsed() >= GIVE_BACK_EVERY) {
                self.give_back();
                gave_back = Some(Instant::now());
            }
            let is_due = Instant::now() >= next;
            let moved = self.look(if is_due { Hint::ANY } else { woken.hint });
            if moved || woken.own {
                patience = SHORTEST;
            } else if is_due {
                patience = (patience * 3 / 2).min(LONGEST);
            } else {
                // Hints do not put off the look at everything.
                continue;
            }
            next = Instant::now() + patience;
        }
    }

    /// Gives back the jobs of processes that have ended. Where this fails it is tried again.
    fn give_back(&self) {
        if let Ok(jobs @ 1..) = self.store.give_back_jobs() {
            self.report(JobWatch::GaveBack(jobs));
        }
    }

    /// Looks at what may have changed; whether anything has.
    fn look(&self, at: Hint) -> bool {
        // First, so that a worker that has ended a job begins the next one soon.
        let mut moved = at.has(Hint::WAITING) && self.claim();
        // A job that is to be cancelled, or was lost.
        moved |= at.has(Hint::CANCELLING) && self.look_at_own();
        moved |= at.has(Hint::MOVED) && self.poll_remote();
        moved
    }

    /// Leaves the stored jobs that this process has lost, and cancels those that another one is asked to cancel; whether there
    /// were any.
    fn look_at_own(&self) -> bool {
        let stored: Vec<_> = self.all_live().into_iter().filter(|job| job.is_stored()).collect();
        if stored.is_empty() {
            return false;
        }
        let Ok(rows) = self.store.jobs_of(&self.owner) else { return false };
        let mut moved = false;
        for job in &stored {
            let row = rows.iter().find(|row| row.job_id == job.id && row.attempt == job.attempt);
            match row {
                Some(row) if row.cancelling => {
                    self.cancel_own(job);
                    moved = true;
                }
                Some(_) => {}
                // It may have been stored after the rows were read.
                None => moved |= self.leave_lost(job),
            }
        }
        moved
    }

    fn leave_lost(&self, job: &Job) -> bool {
        let is_lost = matches!(self.own_row(&job.work.tenant, &job.id), Ok(None));
        if is_lost {
            self.lose(job);
        }
        is_lost
    }

    /// Kills what runs of a job, and leaves it to its row.
    fn lose(&self, job: &Job) {
        // Before its row is locked, which the thread that issues may hold: the job is not ours to finish.
        job.cancel();
        let mut row = lock(&job.row);
        if !row.over {
            self.hand_over(job, &mut row);
        }
    }

    /// Ends a job that a client cancels through another process, once its worker has returned.
    fn cancel_own(&self, job: &Job) {
        job.cancel();
        self.queue.remove(job);
        if job.is_running() {
            return;
        }
        let mut row = lock(&job.row);
        if row.over {
            return;
        }
        match self.store_end(job, StoredState::Cancelled) {
            Ok(()) => self.end(job, &mut row, JobState::Cancelled, None),
            Err(_) => self.hand_over(job, &mut row),
        }
    }

    /// Claims as many jobs as would begin at once; whether there were any.
    fn claim(&self) -> bool {
        let room = self.queue.room();
        if room == OfLane::default() || !self.may_claim() {
            return false;
        }
        let runnable = self.runnable();
        let running = if runnable.is_some() { room.runs } else { 0 };
        let runnable = runnable.unwrap_or(Runnable::Only(Vec::new()));
        let claim = Claim { owner: self.owner.clone(), running, quick: room.quick, runnable };
        let Ok(claimed) = self.store.claim(&claim) else { return false };
        if !self.is_renewed() {
            // The store took so long that another process may have them. What is still ours is taken up with the next lease.
            return false;
        }
        for job in &claimed {
            self.report(JobWatch::Claimed { tenant: &job.tenant, id: job.job_id, attempt: job.attempt });
            if self.take_up(&job.tenant, &job.job_id) == TakenUp::Lost {
                // This process was stopped in between for longer than its lease lasts.
                self.report(JobWatch::Left { tenant: &job.tenant, id: job.job_id });
            }
        }
        !claimed.is_empty()
    }

    /// Whether the lease lasts, and every server that leaves jobs to others takes the receipts of this process.
    fn may_claim(&self) -> bool {
        *lock(&self.admitted) == Some(true) && self.is_renewed()
    }

    /// Which jobs this process can run; none until its host was tested.
    fn runnable(&self) -> Option<Runnable> {
        let own = self.runs()?;
        if self.only.is_some() {
            return Some(Runnable::Only(own));
        }
        // It runs what no other process can run, too: to answer that it cannot. What one could that lived not long ago waits
        // for that one to come back.
        let known = lock(&self.known);
        let others = known.iter().filter_map(|worker| worker.presence.runs.as_ref()).flatten();
        let mut better: Vec<String> = others.filter(|name| !own.contains(name)).cloned().collect();
        better.sort();
        better.dedup();
        Some(Runnable::AllBut(better))
    }

    /// What this process runs; none until its host was tested.
    pub(super) fn runs(&self) -> Option<Vec<String>> {
        let runtimes = self.host.runtimes()?;
        if runtimes.is_empty() {
            Some(vec![needs::NOTHING.to_owned()])
        } else {
            Some(needs::of_host(runtimes, self.only.as_deref()))
        }
    }

    /// The row of a job that this process has.
    pub(super) fn own_row(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Option<StoredJob>, StoreError> {
        Ok(self
            .store
            .of(tenant)
            .job(id)?
            .filter(|job| job.state == StoredState::Waiting && job.owner.as_ref() == Some(&self.owner)))
    }

    pub(super) fn figures(&self) -> Result<Figures, StoreError> {
        let stored = self.store.job_figures()?;
        let known = self.store.workers()?;
        let alive = known.iter().filter(|worker| worker.is_alive && worker.presence.runs.is_some());
        let unrunnable = stored.needs.iter().filter(|(need, _)| needs::lacking(need, &known).is_some());
        let live: Vec<_> = self.all_live().into_iter().map(|job| (job.is_stored(), job.view())).collect();
        let count = |of: &dyn Fn(&(bool, JobView)) -> bool| live.iter().filter(|job| of(job)).count() as u64;
        // Of those that processes have, this one knows whether its own wait or run.
        let elsewhere = stored.owned.saturating_sub(count(&|(is_stored, _)| *is_stored));
        let waiting = live.iter().filter(|(_, view)| view.state == JobState::Waiting).map(|(_, view)| view.created_at);
        let oldest = waiting.chain(stored.oldest).min();
        Ok(Figures {
            waiting: stored.waiting.saturating_add(count(&|(_, view)| view.state == JobState::Waiting)),
            running: elsewhere.saturating_add(count(&|(_, view)| view.state == JobState::Running)),
            unrunnable: unrunnable.map(|(_, jobs)| jobs).sum(),
            workers: alive.count() as u64,
            oldest_ms: oldest.map_or(0, |oldest| self.now().saturating_sub(oldest).max(0)),
        })
    }

    /// The languages that processes run who share the store.
    pub(super) fn languages_elsewhere(&self) -> Result<Vec<Language>, StoreError> {
        let workers = self.store.workers()?;
        let runs: Vec<String> = workers
            .into_iter()
            .filter(|worker| worker.is_alive)
            .filter_map(|worker| worker.presence.runs)
            .flatten()
            .collect();
        Ok(needs::languages(&runs).collect())
    }
}
