//! The rows of one tenant.

use std::iter;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver};

use proofmark_receipt::{ChainTip, Receipt, ReceiptId, Sha256Digest};

use crate::engine::db::Db;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::pending::Pending;
use crate::group::write::Write;
use crate::group::writer::Task;
use crate::rows::activity::{self, AgentCount, DecisionCount, VerdictCount};
use crate::rows::answers::{self, Answer};
use crate::rows::claims::{Change, JobCancelled};
use crate::rows::counted::{self, StoredCount};
use crate::rows::counts::{self, CountFilter, TaskTypeCount, VerdictCounts};
use crate::rows::decisions::{self, ActionHistory, ActionState, Decision, Decisions, DecisionsWanted};
use crate::rows::executions::{self, Finding, Findings};
use crate::rows::jobs::{self, StoredJob};
use crate::rows::page::Cursor;
use crate::rows::queue::{self, WaitingDecision, WaitingNotice, WaitingWanted};
use crate::rows::read::{self, Filter, Page};
use crate::rows::receipt_meta::{self, StoredReceipt};
use crate::rows::reviews::{self, Review};
use crate::rows::runs::{self, Runs, StepRun};
use crate::rows::sessions::{self, SessionEntry, Sessions, StoredPin};
use crate::rows::spends::{self, Spend, Spends, Spent};
use crate::store::Store;
use crate::tenant::Tenant;

/// The rows of one tenant. It finds no row of another tenant, and writes none; receipts that the command line stores count as
/// evidence for all.
///
/// Reading fails with [`StoreError`] when the store cannot be read, and, for one receipt, with [`StoreError::Damaged`]
/// when it was changed since it was stored. A list leaves such a receipt out.
#[derive(Clone)]
pub struct TenantStore<'a> {
    store: &'a Store,
    tenant: Tenant,
}

/// How many things the writer takes at a time when each is stored by itself. What others submit has its turn between.
const MAX_EACH: usize = 100;

/// Some of what [`TenantStore::submit_each`] was given, which may not be on disk yet.
#[must_use = "what was submitted is on disk only after `wait` returns"]
pub struct PendingEach {
    pending: Pending,
    of_writer: Receiver<Vec<Option<StoreError>>>,
}

impl PendingEach {
    /// Waits until they are on disk; for each in its order why it was refused, none for one that is stored.
    ///
    /// # Errors
    /// As [`Pending::wait`], for all of them.
    pub fn wait(self) -> Result<Vec<Option<StoreError>>, StoreError> {
        self.pending.wait()?;
        // It was sent before the commit that was just waited for, so it is here.
        Ok(self.of_writer.try_recv().unwrap_or_default())
    }
}

impl Store {
    /// The rows of one tenant.
    #[must_use]
    pub fn of(&self, tenant: &Tenant) -> TenantStore<'_> {
        TenantStore { store: self, tenant: tenant.clone() }
    }
}

impl TenantStore<'_> {
    /// As [`Store::time_when`].
    #[must_use]
    pub fn time_when(&self, shown: i64) -> i64 {
        self.store.time_when(shown)
    }

    /// The tenant.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// Hands one thing to the writer, which stores what it is given in the order it is given. Waits while too many are ahead.
    pub fn submit(&self, write: impl Into<Write>) -> Pending {
        self.submit_all(vec![write.into()])
    }

    /// Hands over things that are stored together or not at all. At most one of them is a receipt.
    pub fn submit_all(&self, writes: Vec<Write>) -> Pending {
        self.store.writer.submit(Task::Write { tenant: self.tenant.clone(), writes })
    }

    /// Hands over things each of which is stored or refused by itself, in fewer steps than one by one.
    pub fn submit_each(&self, writes: Vec<Write>) -> Vec<PendingEach> {
        let mut left = writes.into_iter();
        let parts = iter::from_fn(|| {
            let writes: Vec<Write> = left.by_ref().take(MAX_EACH).collect();
            (!writes.is_empty()).then_some(writes)
        });
        let submit = |writes| {
            let (refused, of_writer) = mpsc::channel();
            let tenant = self.tenant.clone();
            PendingEach { pending: self.store.writer.submit(Task::Each { tenant, writes, refused }), of_writer }
        };
        parts.map(submit).collect()
    }

    /// The state of a step in the run that `begun_by` began; none before its first judgment.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn step_run(&self, begun_by: &str, run: &str, step: &str) -> Result<Option<StepRun>, StoreError> {
        self.read(|db, tenant| runs::step_run(db, tenant, begun_by, run, step))
    }

    /// The states of the steps of the runs of one name, by step and by who began the run; at most [`crate::MAX_LISTED`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn step_runs(&self, run: &str) -> Result<Vec<StepRun>, StoreError> {
        self.read(|db, tenant| runs::runs(db, tenant, run))
    }

    /// Whether `by` began a run of this name, and who else did, if anyone.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn begun(&self, run: &str, by: &str) -> Result<(bool, Option<String>), StoreError> {
        self.read(|db, tenant| runs::begun(db, tenant, run, by))
    }

    /// Whether a receipt that counts once was spent.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn is_spent(&self, spend: &Spend) -> Result<bool, StoreError> {
        self.read(|db, tenant| spends::is_spent(db, tenant, spend))
    }

    /// What of this tenant spent a receipt that counts once: a run, the id of a decision, or the caller who redeemed it. None
    /// where only another tenant did, or none.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn spent_by(&self, spend: &Spend) -> Result<Option<String>, StoreError> {
        self.read(|db, tenant| spends::spent_by(db, tenant, spend))
    }

    /// Whether another receipt, of the tenant or of the command line, has taken the place of this one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn is_superseded(&self, spend: &Spend) -> Result<bool, StoreError> {
        self.read(|db, tenant| spends::is_superseded(db, tenant, spend))
    }

    /// Spends a receipt that was read here: of all callers who try, one succeeds.
    ///
    /// # Errors
    /// [`StoreError::NoReceipt`] where it is another tenant's, [`StoreError::Spent`] where it was spent before,
    /// [`StoreError::Superseded`] where another has taken its place, and when the store cannot be written.
    pub fn redeem(&self, stored: &StoredReceipt, by: &str) -> Result<Spent, StoreError> {
        // It may have been read by `all_tenants_receipt`, or through another tenant's handle.
        if stored.tenant != self.tenant {
            return Err(StoreError::NoReceipt(stored.receipt.receipt_id()));
        }
        let spends = Spends { documents: vec![Spend::of(&stored.receipt)], by: by.to_owned() };
        let written = self.submit(spends).wait()?;
        Ok(Spent { by: by.to_owned(), at: written.at })
    }

    /// The decision with this id.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn decision(&self, id: &str) -> Result<Option<Decision>, StoreError> {
        self.read(|db, tenant| decisions::decision(db, tenant, id))
    }

    /// The decisions that `wanted` describes, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn decisions(&self, wanted: &DecisionsWanted) -> Result<Decisions, StoreError> {
        self.read(|db, tenant| decisions::decisions(db, Some(tenant), wanted))
    }

    /// The answer to the request with this key.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn answer(&self, key: &str) -> Result<Option<Answer>, StoreError> {
        self.read(|db, tenant| answers::answer(db, tenant, key))
    }

    /// The last action that was counted under each of these keys of limits; up to a time, in milliseconds after
    /// 1970-01-01T00:00:00Z, where one is given.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn last_counts(&self, keys: &[(Sha256Digest, Option<i64>)]) -> Result<Vec<Option<StoredCount>>, StoreError> {
        self.read(|db, tenant| keys.iter().map(|(key, until)| counted::last(db, tenant, key, *until)).collect())
    }

    /// What was decided on the action with this fingerprint.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn action_history(&self, fingerprint: &str) -> Result<ActionHistory, StoreError> {
        self.read(|db, tenant| decisions::history(db, tenant, fingerprint))
    }

    /// What a decision on the action with this fingerprint depends on.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn action_state(&self, fingerprint: &str) -> Result<ActionState, StoreError> {
        self.read(|db, tenant| {
            decisions::state(db, tenant, fingerprint, |reading| self.store.clock.of_reading(reading))
        })
    }

    /// How often the action of this decision was reported as executed.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn times_executed(&self, decision_id: &str) -> Result<u64, StoreError> {
        self.read(|db, tenant| executions::times_executed(db, tenant, decision_id))
    }

    /// The findings, with this code if one is given, newest first, at most `limit` after the place `after`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn findings(&self, code: Option<&str>, limit: usize, after: Option<Cursor>) -> Result<Findings, StoreError> {
        self.read(|db, tenant| executions::findings(db, tenant, code, limit, after))
    }

    /// The findings about one decision, the oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn findings_of(&self, decision_id: &str) -> Result<Vec<Finding>, StoreError> {
        self.read(|db, tenant| executions::findings_of(db, tenant, decision_id))
    }

    /// The reports of a decision's execution, the oldest first: whether it was executed, and when that was reported, in
    /// milliseconds after 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn execution_reports(&self, decision_id: &str) -> Result<Vec<(bool, i64)>, StoreError> {
        self.read(|db, tenant| executions::reports(db, tenant, decision_id))
    }

    /// The decisions that wait for a review, those that have waited longest first, at most `limit` and
    /// [`crate::MAX_PAGE`]; and whether there are more.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn waiting(&self, wanted: &WaitingWanted, limit: usize) -> Result<(Vec<WaitingDecision>, bool), StoreError> {
        self.read(|db, tenant| queue::list(db, tenant, wanted, limit))
    }

    /// The notice at this place, if a decision still waits there.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn waiting_notice(&self, place: Cursor) -> Result<Option<WaitingNotice>, StoreError> {
        self.read(|db, tenant| queue::notice(db, tenant, place))
    }

    /// How many decisions wait for a review.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn waiting_count(&self, wanted: &WaitingWanted) -> Result<u64, StoreError> {
        self.read(|db, tenant| queue::count(db, tenant, wanted))
    }

    /// The decision on a subject ([`crate::DecisionIndex::subject`]) that waits for a review.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn waiting_on(&self, subject: &str) -> Result<Option<WaitingDecision>, StoreError> {
        self.read(|db, tenant| queue::on_subject(db, tenant, subject))
    }

    /// The decisions on a subject ([`crate::DecisionIndex::subject`]), newest first; at most `limit` and
    /// [`crate::MAX_PAGE`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn decisions_on(&self, subject: &str, limit: usize) -> Result<Vec<Decision>, StoreError> {
        self.read(|db, tenant| decisions::on_subject(db, tenant, subject, limit))
    }

    /// The reviews of decisions on a subject ([`crate::DecisionIndex::subject`]), newest first; at most `limit` and
    /// [`crate::MAX_LISTED`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn reviews_on(&self, subject: &str, limit: usize) -> Result<Vec<Review>, StoreError> {
        self.read(|db, tenant| reviews::on_subject(db, tenant, subject, limit))
    }

    /// The id of the receipt of the newest approval that a person gave.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn last_approval_of(&self, person: &str) -> Result<Option<String>, StoreError> {
        self.read(|db, tenant| reviews::last_approval_of(db, tenant, person))
    }

    /// How many reviews there are of decisions on a subject.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn review_count(&self, subject: &str) -> Result<u64, StoreError> {
        self.read(|db, tenant| reviews::count_on(db, tenant, subject))
    }

    /// The reviews since a time, in milliseconds after 1970-01-01T00:00:00Z, newest first, each with when its decision was
    /// made; at most `limit` and [`crate::MAX_LISTED`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn reviews_since(&self, since: i64, limit: usize) -> Result<Vec<(Review, i64)>, StoreError> {
        self.read(|db, tenant| reviews::since(db, tenant, since, limit))
    }

    /// How many decisions were alike in each hour since a time, in milliseconds after 1970-01-01T00:00:00Z; the newest
    /// hours first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn decision_counts(&self, since: i64) -> Result<Vec<DecisionCount>, StoreError> {
        self.read(|db, tenant| activity::decisions(db, tenant, since))
    }

    /// The agents that asked for decisions since a time, to the day, those that asked most first; at most `limit`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn agent_counts(&self, since: i64, limit: usize) -> Result<Vec<AgentCount>, StoreError> {
        self.read(|db, tenant| activity::agents(db, tenant, since, limit))
    }

    /// How many receipts were issued here in each hour since a time, in milliseconds after 1970-01-01T00:00:00Z, by
    /// verdict; the newest hours first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn verdicts_by_hour(&self, since: i64) -> Result<Vec<VerdictCount>, StoreError> {
        self.read(|db, tenant| activity::verdicts(db, tenant, since))
    }

    /// Runs with their steps, those that changed last first, after this place; at most `limit` and [`crate::MAX_PAGE`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs(&self, limit: usize, after: Option<Cursor>) -> Result<Runs, StoreError> {
        self.read(|db, tenant| runs::newest(db, Some(tenant), limit, after))
    }

    /// The guarded session in which a decision was made.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn session_of(&self, decision_id: &str) -> Result<Option<String>, StoreError> {
        self.read(|db, tenant| sessions::of_decision(db, tenant, decision_id))
    }

    /// The reviews of a decision, the oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn reviews(&self, decision_id: &str) -> Result<Vec<Review>, StoreError> {
        self.read(|db, tenant| reviews::reviews(db, tenant, decision_id))
    }

    /// The denial of the action with this fingerprint that has not expired `now`, in milliseconds after 1970-01-01T00:00:00Z; of
    /// several the one that expires last.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn denial(&self, fingerprint: &str, now: i64) -> Result<Option<Review>, StoreError> {
        self.read(|db, tenant| reviews::denial(db, tenant, fingerprint, now))
    }

    /// The id of the decision that allowed the subject of this one after it, if one did.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn allowed_since(&self, decision_id: &str) -> Result<Option<String>, StoreError> {
        self.read(|db, tenant| reviews::allowed_since(db, tenant, decision_id))
    }

    /// The facts a decision was made on, as JSON, where they are stored for its reviewers.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn facts(&self, decision_id: &str) -> Result<Option<String>, StoreError> {
        self.read(|db, tenant| reviews::facts(db, tenant, decision_id))
    }

    /// As [`TenantStore::facts`], of the newest decision on a subject ([`crate::DecisionIndex::subject`]).
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn newest_facts(&self, subject: &str) -> Result<Option<String>, StoreError> {
        self.read(|db, tenant| reviews::newest_facts(db, tenant, subject))
    }

    /// The receipt with this id. Where several issuers issued one under it, the one that was issued here, else one whose
    /// signer was trusted when it came; [`StoredReceipt::others`] counts the rest.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it was changed since it was stored, and when the store cannot be read.
    pub fn receipt(&self, id: &ReceiptId) -> Result<Option<StoredReceipt>, StoreError> {
        self.read(|db, tenant| receipt_meta::receipt(db, Some(tenant), id, None))
    }

    /// The receipt with this id that this issuer signed, in the spelling of [`proofmark_receipt::SignerId`].
    ///
    /// # Errors
    /// As [`TenantStore::receipt`].
    pub fn receipt_by(&self, id: &ReceiptId, issuer: &str) -> Result<Option<StoredReceipt>, StoreError> {
        self.read(|db, tenant| receipt_meta::receipt(db, Some(tenant), id, Some(issuer)))
    }

    /// The receipt of the job with this id: issued here, for the job's request. A receipt that a client brought under the id
    /// is another one.
    ///
    /// # Errors
    /// As [`TenantStore::receipt`].
    pub fn job_receipt(&self, id: &ReceiptId) -> Result<Option<StoredReceipt>, StoreError> {
        self.read(|db, tenant| receipt_meta::job_receipt(db, tenant, id))
    }

    /// The request that the receipt with this id, issued here, answers, as JSON, where it was stored.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn request(&self, id: &ReceiptId) -> Result<Option<String>, StoreError> {
        self.read(|db, tenant| receipt_meta::request(db, tenant, id))
    }

    /// The receipts that match `filter`, last stored first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Page, StoreError> {
        self.read(|db, tenant| read::list(db, Some(tenant), filter))
    }

    /// The receipts over one output, as `hashes.output` names it, of this tenant and of the command line: the newest, at most
    /// [`crate::MAX_PAGE`], and of all others those that are sought: again at most so many that are spent, and so many that are not.
    /// `sought` says how a receipt is spent, if it is sought.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn receipts_over(
        &self,
        output: &str,
        sought: &dyn Fn(&Receipt) -> Option<Spend>,
    ) -> Result<Vec<Receipt>, StoreError> {
        self.read(|db, tenant| read::over(db, tenant, output, sought))
    }

    /// How many receipts have each verdict. Those that another has superseded, and those issued elsewhere by signers who
    /// were not trusted, are counted apart: anyone can issue receipts.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn verdict_counts(&self, filter: &CountFilter<'_>) -> Result<VerdictCounts, StoreError> {
        self.read(|db, tenant| counts::verdict_counts(db, tenant, filter))
    }

    /// How many receipts there are of each type of task, those that have most first; at most `limit`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn task_type_counts(&self, limit: usize) -> Result<Vec<TaskTypeCount>, StoreError> {
        self.read(|db, tenant| counts::by_task_type(db, tenant, limit))
    }

    /// The receipts of a chain, first to last; none when there is no such chain.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when one was changed since it was stored, and when the store cannot be read.
    pub fn chain(&self, name: &str) -> Result<Vec<Receipt>, StoreError> {
        self.read(|db, tenant| read::chain(db, tenant, name))
    }

    /// The receipts of a chain from this position on, first to last; at most `limit` and [`crate::MAX_PAGE`].
    ///
    /// # Errors
    /// As [`TenantStore::chain`].
    pub fn chain_from(&self, name: &str, position: u64, limit: usize) -> Result<Vec<Receipt>, StoreError> {
        self.read(|db, tenant| read::chain_from(db, tenant, name, position, limit))
    }

    /// The chains' names and how many receipts each has, by name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn chains(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.read(read::chains)
    }

    /// The last receipt of a chain, which the next one links to; none when there is no such chain.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn tip(&self, chain: &str) -> Result<Option<ChainTip>, StoreError> {
        self.read(|db, tenant| read::tip(db, tenant, chain))
    }

    /// The job with this id.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn job(&self, id: &ReceiptId) -> Result<Option<StoredJob>, StoreError> {
        self.read(|db, tenant| jobs::job(db, tenant, id))
    }

    /// Cancels a job that waits, that the process `by` has, or whose process has ended. Another process that has it is asked
    /// to cancel it.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn cancel_job(&self, id: &ReceiptId, by: &str) -> Result<JobCancelled, StoreError> {
        let (found, cancelled) = mpsc::channel();
        let by = by.to_owned();
        self.store.change(Change::Cancel { job_id: *id, tenant: self.tenant.clone(), by, found })?;
        Ok(cancelled.try_iter().last().unwrap_or(JobCancelled::No))
    }

    /// The entries of a guarded session from this position on, first to last; at most `limit` and [`crate::MAX_PAGE`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn session_entries(&self, session: &str, position: u64, limit: usize) -> Result<Vec<SessionEntry>, StoreError> {
        self.read(|db, tenant| sessions::entries(db, tenant, session, position, limit))
    }

    /// Hands over the documents of a session's entries from this position on, first to last, until `take` breaks; the session's last
    /// entry, as the columns beside the documents have it. Nothing is verified.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn session_since(
        &self,
        session: &str,
        position: u64,
        take: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Option<ChainTip>, StoreError> {
        self.read(|db, tenant| sessions::since(db, tenant, session, position, take))
    }

    /// The newest decision that was made in a session, as its column says.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn last_decision_in(&self, session: &str) -> Result<Option<Decision>, StoreError> {
        self.read(|db, tenant| decisions::last_in_session(db, tenant, session))
    }

    /// The guarded sessions, those begun last first, at most `limit` after the place `after`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn sessions(&self, limit: usize, after: Option<Cursor>) -> Result<Sessions, StoreError> {
        self.read(|db, tenant| sessions::sessions(db, tenant, limit, after))
    }

    /// The definitions of tools that are pinned or wait for approval, by server and tool.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn pins(&self) -> Result<Vec<StoredPin>, StoreError> {
        self.read(sessions::pins)
    }

    fn read<T>(&self, question: impl FnOnce(&Db<'_>, &Tenant) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.store.read_of(&self.tenant, |db| question(db, &self.tenant))
    }
}
