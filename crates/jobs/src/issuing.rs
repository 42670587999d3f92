//! The one thread that issues receipts of jobs: what was judged while the store committed is handed over together.
//!
//! Workers do not issue: a worker that waited for a commit would run nothing meanwhile. This thread holds the `row` of every
//! job of a group, from before its receipt is submitted until its followers know how it ended, so that no other thread cancels a job
//! whose receipt is about to be stored, or stores a row for it. No other thread that holds one row waits for another, and
//! none that holds one waits for this thread, so it may hold many.

use std::iter;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use proofmark_receipt::Verdict;
use proofmark_store::{JobEnd, JobState as StoredState, MAX_GROUP, StoreError, Write};
use proofmark_verifier::clock;
use proofmark_verifier::sync::lock;
use proofmark_verifier::{Destination, IssueError, Issuing};

use crate::job::{Done, Job, Row};
use crate::scheduler::{Scheduler, answer};
use crate::{JobState, JobWatch};

/// Why a job has no receipt.
#[derive(Debug, thiserror::Error)]
enum NotIssued {
    #[error("{0}")]
    Judged(String),
    #[error(transparent)]
    Issue(#[from] IssueError),
}

impl Scheduler {
    /// Issues what the workers send until the last of them has ended.
    pub(super) fn issue_all(&self, judged: &Receiver<Done>) {
        while let Ok(first) = judged.recv() {
            let group: Vec<Done> = iter::once(first).chain(judged.try_iter().take(MAX_GROUP - 1)).collect();
            self.issue(&group);
        }
    }

    fn issue(&self, group: &[Done]) {
        let held = group.iter().map(|done| (done, lock(&done.job.row)));
        // A job that was cancelled or handed over while it waited here has ended, and gets no receipt.
        let open: Vec<(&Done, MutexGuard<'_, Row>)> = held.filter(|(_, row)| !row.over).collect();
        // All are submitted before the first is waited for, so that they share a commit.
        let submitted: Vec<_> = open.into_iter().map(|(done, row)| (done, row, self.submit(done))).collect();
        for (done, mut row, issuing) in submitted {
            let receipt = issuing.and_then(|issuing| Ok(issuing.wait()?));
            match receipt {
                Ok(receipt) => self.end(&done.job, &mut row, JobState::Done, Some(Arc::new(receipt))),
                Err(error) => self.not_issued(&done.job, &mut row, &error),
            }
        }
    }

    /// Submits the receipt of a job with everything that is stored with it.
    fn submit(&self, done: &Done) -> Result<Issuing, NotIssued> {
        let (job, work) = (&done.job, &done.job.work);
        let mut draft = done.outcome.clone().map_err(NotIssued::Judged)?;
        draft.verified_at = clock::when(&self.store, &draft.verified_at);
        // The row of a stored job was stored together with its answer.
        let with: Option<Write> = if job.is_stored() {
            Some(self.job_end(job, StoredState::Done).into())
        } else {
            answer(job).map(Write::from)
        };
        let to = Destination {
            tenant: &work.tenant,
            chain: Some(work.chain.clone()),
            request: Some(done.content.text.clone()),
            // As in `Scheduler::verify`, which writes it into the receipt.
            supersedes: work.supersedes.filter(|_| draft.verdict != Verdict::Error),
            with: with.into_iter().collect(),
        };
        Ok(self.issuer.issue(draft, to)?)
    }

    fn not_issued(&self, job: &Job, row: &mut Row, error: &NotIssued) {
        let why = error.to_string();
        if !job.is_stored() {
            return self.end(job, row, JobState::Failed(why), None);
        }
        let of_store = match error {
            NotIssued::Issue(IssueError::Store(error)) => Some(error),
            NotIssued::Issue(_) | NotIssued::Judged(_) => None,
        };
        let unwritten = if runs_again(error) {
            None
        } else {
            match self.store_end(job, StoredState::Failed(why.clone())) {
                Ok(()) => {
                    of_store.inspect(|error| self.report_not_stored(job, error, None));
                    return self.end(job, row, JobState::Failed(why), None);
                }
                // The row still waits, so the job must not end here.
                Err(error) => Some(error),
            }
        };
        match unwritten.as_ref().or(of_store) {
            // It is another process's.
            Some(StoreError::JobTaken(_)) | None => {}
            Some(error) => self.report_not_stored(job, error, Some(self.unstored.note(job.id, Instant::now()))),
        }
        self.hand_over(job, row)
    }

    fn report_not_stored(&self, job: &Job, error: &StoreError, again_in: Option<Duration>) {
        self.report(JobWatch::NotStored { tenant: &job.work.tenant, id: job.id, error, again_in });
    }

    /// Writes how a stored job has ended without a receipt.
    pub(super) fn store_end(&self, job: &Job, state: StoredState) -> Result<(), StoreError> {
        self.store.of(&job.work.tenant).submit(self.job_end(job, state)).wait().map(drop)
    }

    fn job_end(&self, job: &Job, state: StoredState) -> JobEnd {
        JobEnd { job_id: job.id, owner: self.owner.clone(), attempt: job.attempt, state }
    }
}

/// Whether a stored job keeps its row, because the error is not the job's fault: it runs again, or another process has ended
/// it.
fn runs_again(error: &NotIssued) -> bool {
    match error {
        NotIssued::Judged(_)
        | NotIssued::Issue(IssueError::Sign(_) | IssueError::NoChain(_) | IssueError::Reserved(_)) => false,
        NotIssued::Issue(IssueError::Store(error)) => !matches!(
            error,
            StoreError::TooLarge { .. }
                | StoreError::Text
                | StoreError::LongKey { .. }
                | StoreError::ChainName(_)
                | StoreError::NotLinked(_)
                | StoreError::NoReceipt(_)
                // A receipt of ours has this id: running again would not change that.
                | StoreError::Duplicate(_)
                | StoreError::Superseded(_)
        ),
    }
}
