//! The rows of one tenant.

use std::sync::mpsc::{self, Receiver};
use std::{iter, slice};

use proofmark_receipt::{ChainTip, Receipt, ReceiptId};
use rusqlite::Connection;

use crate::answers::{self, Answer};
use crate::counts::{self, CountFilter, VerdictCounts};
use crate::decisions::{self, ActionHistory, ActionState, Decision, Decisions, DecisionsWanted};
use crate::error::StoreError;
use crate::executions::{self, Findings};
use crate::jobs::{self, Change, StoredJob};
use crate::page::Cursor;
use crate::pending::Pending;
use crate::read::{self, Filter, Page};
use crate::receipt_meta::{self, StoredReceipt};
use crate::reviews::{self, Review};
use crate::runs::{self, StepRun};
use crate::sessions::{self, SessionEntry, Sessions, StoredPin};
use crate::spends::{self, Spend, Spends, Spent};
use crate::store::Store;
use crate::tenant::Tenant;
use crate::write::Write;
use crate::writer::Task;

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
        self.read(|connection, tenant| runs::step_run(connection, tenant, begun_by, run, step))
    }

    /// The states of the steps of the runs of one name, by step and by who began the run; at most [`crate::MAX_LISTED`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn step_runs(&self, run: &str) -> Result<Vec<StepRun>, StoreError> {
        self.read(|connection, tenant| runs::runs(connection, tenant, run))
    }

    /// Whether `by` began a run of this name, and who else did, if anyone.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn begun(&self, run: &str, by: &str) -> Result<(bool, Option<String>), StoreError> {
        self.read(|connection, tenant| runs::begun(connection, tenant, run, by))
    }

    /// Whether a receipt that counts once was spent.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn is_spent(&self, spend: &Spend) -> Result<bool, StoreError> {
        self.read(|connection, tenant| spends::is_spent(connection, tenant, spend))
    }

    /// What of this tenant spent a receipt that counts once: a run, the id of a decision, or the caller who redeemed it. None
    /// where only another tenant did, or none.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn spent_by(&self, spend: &Spend) -> Result<Option<String>, StoreError> {
        self.read(|connection, tenant| spends::spent_by(connection, tenant, spend))
    }

    /// Whether another receipt, of the tenant or of the command line, has taken the place of this one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn is_superseded(&self, spend: &Spend) -> Result<bool, StoreError> {
        self.read(|connection, tenant| spends::is_superseded(connection, tenant, spend))
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
        self.read(|connection, tenant| decisions::decision(connection, tenant, id))
    }

    /// The decisions that `wanted` describes, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn decisions(&self, wanted: &DecisionsWanted) -> Result<Decisions, StoreError> {
        self.read(|connection, tenant| decisions::decisions(connection, Some(tenant), wanted))
    }

    /// The answer to the request with this key.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn answer(&self, key: &str) -> Result<Option<Answer>, StoreError> {
        self.read(|connection, tenant| answers::answer(connection, tenant, key))
    }

    /// What was decided on the action with this fingerprint.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn action_history(&self, fingerprint: &str) -> Result<ActionHistory, StoreError> {
        self.read(|connection, tenant| decisions::history(connection, tenant, fingerprint))
    }

    /// What a decision on the action with this fingerprint depends on, about this subject ([`crate::DecisionIndex::subject`]).
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn action_state(&self, fingerprint: &str, subject: &str) -> Result<ActionState, StoreError> {
        let now = |latest| self.store.clock.now(latest);
        self.read(|connection, tenant| decisions::state(connection, tenant, (fingerprint, subject), now))
    }

    /// How often the action of this decision was reported as executed.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn times_executed(&self, decision_id: &str) -> Result<u64, StoreError> {
        self.read(|connection, tenant| executions::times_executed(connection, tenant, decision_id))
    }

    /// The findings, newest first, at most `limit` after the place `after`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn findings(&self, limit: usize, after: Option<Cursor>) -> Result<Findings, StoreError> {
        self.read(|connection, tenant| executions::findings(connection, tenant, limit, after))
    }

    /// The reviews of a decision, the oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn reviews(&self, decision_id: &str) -> Result<Vec<Review>, StoreError> {
        self.read(|connection, tenant| reviews::reviews(connection, tenant, decision_id))
    }

    /// The denial of a subject ([`crate::DecisionIndex::subject`]) that has not expired `now`, in milliseconds after
    /// 1970-01-01T00:00:00Z; of several the one that expires last.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn denial(&self, subject: &str, now: i64) -> Result<Option<Review>, StoreError> {
        self.read(|connection, tenant| reviews::denial(connection, tenant, subject, now))
    }

    /// The id of the decision that allowed the subject of this one after it, if one did.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn allowed_since(&self, decision_id: &str) -> Result<Option<String>, StoreError> {
        self.read(|connection, tenant| reviews::allowed_since(connection, tenant, decision_id))
    }

    /// The facts a decision was made on, as JSON, where they are stored for its reviewers.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn facts(&self, decision_id: &str) -> Result<Option<String>, StoreError> {
        self.read(|connection, tenant| reviews::facts(connection, tenant, decision_id))
    }

    /// As [`TenantStore::facts`], of the newest decision on a subject ([`crate::DecisionIndex::subject`]).
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn newest_facts(&self, subject: &str) -> Result<Option<String>, StoreError> {
        self.read(|connection, tenant| reviews::newest_facts(connection, tenant, subject))
    }

    /// The receipt with this id. Where several issuers issued one under it, the one that was issued here, else one whose
    /// signer was trusted when it came; [`StoredReceipt::others`] counts the rest.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it was changed since it was stored, and when the store cannot be read.
    pub fn receipt(&self, id: &ReceiptId) -> Result<Option<StoredReceipt>, StoreError> {
        self.read(|connection, tenant| receipt_meta::receipt(connection, slice::from_ref(tenant), id, None))
    }

    /// The receipt with this id that this issuer signed, in the spelling of [`proofmark_receipt::SignerId`].
    ///
    /// # Errors
    /// As [`TenantStore::receipt`].
    pub fn receipt_by(&self, id: &ReceiptId, issuer: &str) -> Result<Option<StoredReceipt>, StoreError> {
        self.read(|connection, tenant| receipt_meta::receipt(connection, slice::from_ref(tenant), id, Some(issuer)))
    }

    /// The receipt of the job with this id: issued here, for the job's request. A receipt that a client brought under the id
    /// is another one.
    ///
    /// # Errors
    /// As [`TenantStore::receipt`].
    pub fn job_receipt(&self, id: &ReceiptId) -> Result<Option<StoredReceipt>, StoreError> {
        self.read(|connection, tenant| receipt_meta::job_receipt(connection, tenant, id))
    }

    /// The request that the receipt with this id, issued here, answers, as JSON, where it was stored.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn request(&self, id: &ReceiptId) -> Result<Option<String>, StoreError> {
        self.read(|connection, tenant| receipt_meta::request(connection, tenant, id))
    }

    /// The receipts that match `filter`, last stored first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Page, StoreError> {
        self.read(|connection, tenant| read::list(connection, Some(tenant), filter))
    }

    /// The receipts over one output, as `hashes.output` names it, of this tenant and of the command line, newest first; at
    /// most [`crate::MAX_PAGE`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn receipts_over(&self, output: &str) -> Result<Vec<Receipt>, StoreError> {
        self.read(|connection, tenant| read::over(connection, tenant, output))
    }

    /// How many receipts have each verdict. Those that another has superseded, and those issued elsewhere by signers who
    /// were not trusted, are counted apart: anyone can issue receipts.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn verdict_counts(&self, filter: &CountFilter<'_>) -> Result<VerdictCounts, StoreError> {
        self.read(|connection, tenant| counts::verdict_counts(connection, tenant, filter))
    }

    /// The receipts of a chain, first to last; none when there is no such chain.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when one was changed since it was stored, and when the store cannot be read.
    pub fn chain(&self, name: &str) -> Result<Vec<Receipt>, StoreError> {
        self.read(|connection, tenant| read::chain(connection, tenant, name))
    }

    /// The receipts of a chain from this position on, first to last; at most `limit` and [`crate::MAX_PAGE`].
    ///
    /// # Errors
    /// As [`TenantStore::chain`].
    pub fn chain_from(&self, name: &str, position: u64, limit: usize) -> Result<Vec<Receipt>, StoreError> {
        self.read(|connection, tenant| read::chain_from(connection, tenant, name, position, limit))
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
        self.read(|connection, tenant| read::tip(connection, tenant, chain))
    }

    /// The job with this id.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn job(&self, id: &ReceiptId) -> Result<Option<StoredJob>, StoreError> {
        self.read(|connection, tenant| jobs::job(connection, tenant, id))
    }

    /// Cancels a job, whichever process runs it; false where it has ended or does not exist.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn cancel_job(&self, id: &ReceiptId) -> Result<bool, StoreError> {
        let (found, cancelled) = mpsc::channel();
        self.store.change(Change::Cancel { job_id: *id, tenant: self.tenant.clone(), found })?;
        Ok(cancelled.try_recv().unwrap_or_default())
    }

    /// The entries of a guarded session from this position on, first to last; at most `limit` and [`crate::MAX_PAGE`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn session_entries(&self, session: &str, position: u64, limit: usize) -> Result<Vec<SessionEntry>, StoreError> {
        self.read(|connection, tenant| sessions::entries(connection, tenant, session, position, limit))
    }

    /// The guarded sessions, those begun last first, at most `limit` after the place `after`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn sessions(&self, limit: usize, after: Option<Cursor>) -> Result<Sessions, StoreError> {
        self.read(|connection, tenant| sessions::sessions(connection, tenant, limit, after))
    }

    /// The definitions of tools that are pinned or wait for approval, by server and tool.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn pins(&self) -> Result<Vec<StoredPin>, StoreError> {
        self.read(sessions::pins)
    }

    fn read<T>(&self, question: impl FnOnce(&Connection, &Tenant) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.store.read(|connection| question(connection, &self.tenant))
    }
}
