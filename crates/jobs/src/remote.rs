//! Jobs that another process has, or that have ended: their rows say how they are.

use std::collections::HashMap;

use proofmark_receipt::{Profile, Receipt, ReceiptId, Trust, verify_receipt};
use proofmark_store::{Hint, JobState as StoredState, StoreError, StoredJob, Tenant};
use proofmark_verifier::Accepted;
use proofmark_verifier::sync::lock;

use crate::job::{Listener, RemoteFollower};
use crate::scheduler::Scheduler;
use crate::{JobState, JobView, needs};

/// How far the jobs of processes are, by their names, as they said when they last renewed their leases.
type Progress = HashMap<ReceiptId, (usize, usize)>;

impl Scheduler {
    /// How the tenant's job ended, or its state where another process has it.
    pub(super) fn ended(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Option<JobView>, StoreError> {
        if let Some(view) = self.remembered(tenant, id) {
            return Ok(Some(view));
        }
        let row = self.store.of(tenant).job(id)?;
        let progress = match row.as_ref().and_then(|row| row.owner.as_deref()) {
            Some(owner) => self.progress_of(owner)?,
            None => Progress::new(),
        };
        self.stored(tenant, id, row.as_ref(), &progress)
    }

    /// Notifies the listener of the job's state, and of each change while another process has the job.
    pub(super) fn follow_remote(&self, tenant: &Tenant, view: &JobView, listener: Listener) {
        listener.notify(view);
        if !view.state.is_end() {
            lock(&self.remote).push(RemoteFollower::new(tenant, view, listener));
            self.wake.set(Hint::MOVED);
        }
    }

    /// Notifies the followers of jobs that other processes have of what has changed; whether anything has. The list is taken
    /// out of its lock first: listeners are called, and the store is read, without it.
    pub(super) fn poll_remote(&self) -> bool {
        let mut followers: Vec<RemoteFollower> = std::mem::take(&mut *lock(&self.remote));
        followers.retain(|follower| follower.listener.is_alive());
        if followers.is_empty() {
            return false;
        }
        let ids: Vec<ReceiptId> = followers.iter().map(|follower| follower.seen.id).collect();
        let (mut moved, mut left) = (false, Vec::new());
        match self.store.all_tenants_jobs(&ids) {
            Ok(rows) => {
                let mut round =
                    Round { rows: rows.into_iter().map(|row| (row.job_id, row)).collect(), owners: HashMap::new() };
                for follower in followers {
                    let (changed, going_on) = self.tell(follower, &mut round);
                    moved |= changed;
                    left.extend(going_on);
                }
            }
            Err(_) => left = followers,
        }
        // Added, not assigned: others may have begun to follow meanwhile.
        lock(&self.remote).append(&mut left);
        moved
    }

    /// Notifies a follower of what has changed; whether anything has, and the follower unless the job has ended.
    fn tell(&self, mut follower: RemoteFollower, round: &mut Round) -> (bool, Option<RemoteFollower>) {
        let id = follower.seen.id;
        // This process may have claimed the job.
        if let Some(job) = self.live(&follower.tenant, &id) {
            match job.listen(follower.listener) {
                None => return (true, None),
                Some(listener) => follower.listener = listener,
            }
        }
        let row = round.rows.get(&id).filter(|row| row.tenant == follower.tenant);
        let progress = row.and_then(|row| row.owner.as_ref()).map(|owner| {
            round.owners.entry(owner.clone()).or_insert_with(|| self.progress_of(owner).unwrap_or_default())
        });
        let none = Progress::new();
        let view = match self.remembered(&follower.tenant, &id) {
            Some(view) => Ok(Some(view)),
            None => self.stored(&follower.tenant, &id, row, progress.as_deref().unwrap_or(&none)),
        };
        let mut changed = false;
        if let Ok(Some(view)) = view
            && view != follower.seen
        {
            follower.listener.notify(&view);
            follower.seen = view;
            changed = true;
        }
        let over = follower.seen.state.is_end();
        (changed, (!over).then_some(follower))
    }

    fn progress_of(&self, owner: &str) -> Result<Progress, StoreError> {
        let worker = self.store.worker(owner)?;
        let count = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let jobs = worker.into_iter().flat_map(|worker| worker.presence.progress);
        Ok(jobs.map(|one| (one.job_id, (count(one.done), count(one.total)))).collect())
    }

    /// The state of a job by its row and by what its process said of it.
    fn stored(
        &self,
        tenant: &Tenant,
        id: &ReceiptId,
        row: Option<&StoredJob>,
        progress: &Progress,
    ) -> Result<Option<JobView>, StoreError> {
        let view = |state, (done, total), created_at, receipt| {
            let lacking = row.filter(|row| row.owner.is_none() && state == JobState::Waiting);
            let lacking = lacking.and_then(|row| needs::lacking(&row.needs, &lock(&self.known)));
            Some(JobView { id: *id, state, done, total, created_at, receipt, lacking })
        };
        if let Some(row) = row {
            let total = usize::try_from(row.checks).unwrap_or(usize::MAX);
            let said = progress.get(id).copied();
            let (state, checks) = match &row.state {
                // What was claimed runs at once; what a process stored for itself may wait in its queue.
                StoredState::Waiting if said.is_some() || (row.owner.is_some() && row.attempt > 0) => {
                    (Some(JobState::Running), said.unwrap_or((0, total)))
                }
                StoredState::Waiting => (Some(JobState::Waiting), (0, total)),
                StoredState::Failed(why) => (Some(JobState::Failed(why.clone())), (0, total)),
                StoredState::Cancelled => (Some(JobState::Cancelled), (0, total)),
                StoredState::Done => (None, (0, total)),
            };
            if let Some(state) = state {
                return Ok(view(state, checks, row.created_at, None));
            }
        }
        // Rows are deleted after `REMEMBERED_MS`; receipts stay, and answer for their jobs.
        let Some(stored) = self.store.of(tenant).job_receipt(id)? else { return Ok(None) };
        let total = usize::try_from(stored.receipt.results().total).unwrap_or(usize::MAX);
        let created_at = row.map_or_else(|| stored.receipt.verified_at().unix_millis(), |row| row.created_at);
        if let Some(refused) = self.refused(row, &stored.receipt) {
            return Ok(view(JobState::Failed(refused), (0, total), created_at, None));
        }
        Ok(view(JobState::Done, (total, total), created_at, Some(stored.receipt.into())))
    }

    /// Why a receipt of a job that was left to workers is not the answer to it. Who can write to the store can store any
    /// receipt: only a signature by this server or by one of its workers makes one an answer.
    fn refused(&self, row: Option<&StoredJob>, receipt: &Receipt) -> Option<String> {
        let signers = self.front_signers()?;
        // A row is deleted long after its job has ended. Its receipt has the id of the job, which a worker signs only for what a
        // server accepted under this id.
        let accepted = row.map(|row| Accepted::of(row, &self.servers)).transpose();
        match accepted {
            Err(error) => return Some(format!("accept the receipt that a worker stored: failed to {error}")),
            Ok(Some(accepted)) if !accepted.is_answered_by(receipt) => {
                return Some("accept the receipt that a worker stored: it is about other work".to_owned());
            }
            Ok(_) => {}
        }
        let verification = verify_receipt(receipt, Profile::Vrf, &signers);
        if verification.trust == Trust::Trusted {
            return None;
        }
        let signer = verification.signer.map(|signer| signer.to_string()).unwrap_or_default();
        Some(match verification.answer.cause() {
            Some(cause) => format!("accept the receipt that a worker stored: its signature does not hold: {cause}"),
            None => format!("accept the receipt that a worker stored: its signer `{signer}` is not admitted here"),
        })
    }
}

/// What one round of polling has read.
struct Round {
    rows: HashMap<ReceiptId, StoredJob>,
    owners: HashMap<String, Progress>,
}
