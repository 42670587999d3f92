//! The one thread that seals: it takes what was judged in groups, and each group costs one commit.

use std::collections::HashMap;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, MutexGuard};

use proofmark_receipt::{ChainTip, Receipt, Verdict};
use proofmark_store::{Bundle, JobEnd, JobState as Kept, MAX_GROUP, NewReceipt, Pending, StoreError, Tenant};

use super::JobState;
use super::job::{Content, Job, Row};
use super::room::{Room, answer, lock};
use crate::clock;
use crate::run::Judged;
use crate::seal::{MAX_CHAIN_RACES, SealError};

/// How many chains' ends are remembered; then all are read again.
const MAX_TIPS: usize = 4096;

/// What a worker has done.
pub(super) struct Done {
    pub(super) job: Arc<Job>,
    /// What was run.
    pub(super) content: Arc<Content>,
    /// What it came to, or why it came to nothing.
    pub(super) outcome: Result<Judged, String>,
}

/// Where tenants' chains end, as far as this thread knows.
type Tips = HashMap<(Tenant, String), Option<ChainTip>>;

/// One job of a group, which nobody else ends meanwhile.
type Held<'a> = (&'a Done, MutexGuard<'a, Row>);

impl Room {
    /// Seals what the workers send until the last of them has ended.
    pub(super) fn seal_all(&self, judged: &Receiver<Done>) {
        let mut tips = Tips::new();
        while let Ok(first) = judged.recv() {
            let rest = judged.try_iter().take(MAX_GROUP - 1);
            let group: Vec<Done> = std::iter::once(first).chain(rest).collect();
            self.seal(&mut tips, &group);
            if tips.len() > MAX_TIPS {
                tips.clear();
            }
        }
    }

    fn seal(&self, tips: &mut Tips, group: &[Done]) {
        let held = group.iter().map(|one| (one, lock(&one.job.row)));
        let mut left: Vec<Held<'_>> = held.filter(|(_, row)| !row.over).collect();
        for _ in 0..MAX_CHAIN_RACES {
            if left.is_empty() {
                return;
            }
            let submitted: Vec<_> = left
                .drain(..)
                .map(|(one, row)| {
                    let pending = self.submit(tips, one);
                    (one, row, pending)
                })
                .collect();
            for (one, mut row, pending) in submitted {
                let kept = pending.and_then(|(receipt, pending)| Ok(pending.wait().map(|()| receipt)?));
                match kept {
                    Ok(receipt) => self.end(&one.job, &mut row, JobState::Done, Some(Arc::new(receipt))),
                    // All that link to one that is refused are refused as well, and made again.
                    Err(NotKept::Seal(SealError::Store(StoreError::ChainMoved { .. }))) => {
                        tips.remove(&chain_of(&one.job));
                        left.push((one, row));
                    }
                    Err(error) => {
                        tips.remove(&chain_of(&one.job));
                        self.not_kept(&one.job, &mut row, error);
                    }
                }
            }
        }
        for (one, mut row) in left {
            self.not_kept(&one.job, &mut row, SealError::Raced(one.job.work.chain.clone()).into());
        }
    }

    /// Signs the receipt behind its chain's tip and hands it to the store, with all that is kept with it.
    fn submit(&self, tips: &mut Tips, done: &Done) -> Result<(Receipt, Pending), NotKept> {
        let (job, work) = (&done.job, &done.job.work);
        let mut draft = done.outcome.clone().map_err(NotKept::Judged)?.draft;
        let (store, chain) = (self.store.of(&work.tenant), chain_of(job));
        let tip = match tips.get(&chain) {
            Some(tip) => tip.clone(),
            None => store.tip(&work.chain).map_err(SealError::from)?,
        };
        draft.link(tip.as_ref());
        let receipt = draft.sign(&self.key).map_err(SealError::from)?;
        tips.insert(chain, receipt.tip());
        let kept = job.is_kept();
        let pending = store.submit_bundle(Bundle {
            receipt: Some(NewReceipt { chain: Some(work.chain.clone()), ..NewReceipt::of(receipt.clone()) }),
            request: Some(done.content.text.clone()),
            supersedes: work.supersedes.filter(|_| receipt.verdict() != Verdict::Error),
            // The row of a job was kept together with its answer.
            answer: if kept { None } else { answer(job) },
            job: kept.then(|| self.job_end(job, Kept::Done)),
            at: clock::now().unix_millis(),
            ..Bundle::default()
        });
        Ok((receipt, pending))
    }

    fn not_kept(&self, job: &Job, row: &mut Row, error: NotKept) {
        let why = error.to_string();
        if !job.is_kept() {
            return self.end(job, row, JobState::Failed(why), None);
        }
        // What is no fault of the job's leaves its row as it is: it runs again, or another has ended it.
        let stays = match &error {
            NotKept::Judged(_) | NotKept::Seal(SealError::Sign(_) | SealError::NoChain(_) | SealError::Reserved(_)) => {
                false
            }
            NotKept::Seal(SealError::Raced(_)) => true,
            NotKept::Seal(SealError::Store(error)) => {
                !matches!(
                    error,
                    StoreError::TooLarge { .. }
                        | StoreError::ChainName(_)
                        | StoreError::NoReceipt(_)
                        // A receipt of ours has this id: running again would not change that.
                        | StoreError::Duplicate(_)
                        | StoreError::Superseded(_)
                )
            }
        };
        match stays || self.keep_failure(job, &why).is_err() {
            true => self.give_away(job, row),
            false => self.end(job, row, JobState::Failed(why), None),
        }
    }

    /// Writes that a kept job came to nothing.
    fn keep_failure(&self, job: &Job, why: &str) -> Result<(), StoreError> {
        let store = self.store.of(&job.work.tenant);
        let job = Some(self.job_end(job, Kept::Failed(why.to_owned())));
        store.submit_bundle(Bundle { job, at: clock::now().unix_millis(), ..Bundle::default() }).wait()
    }

    fn job_end(&self, job: &Job, state: Kept) -> JobEnd {
        JobEnd { job_id: job.id, owner: self.owner.clone(), state }
    }
}

/// The chain a job's receipt continues: tenants have chains of the same names.
fn chain_of(job: &Job) -> (Tenant, String) {
    (job.work.tenant.clone(), job.work.chain.clone())
}

/// Why there is no receipt.
#[derive(Debug, thiserror::Error)]
enum NotKept {
    #[error("{0}")]
    Judged(String),
    #[error(transparent)]
    Seal(#[from] SealError),
}

impl From<StoreError> for NotKept {
    fn from(error: StoreError) -> Self {
        Self::Seal(error.into())
    }
}
