use std::sync::mpsc;

use proofmark_receipt::{ChainTip, Receipt, ReceiptId};
use rusqlite::Connection;

use crate::bundle::{self, Bundle, BundleRow, Decision, StepRun};
use crate::error::StoreError;
use crate::jobs::{self, Change, StoredJob};
use crate::kept::{self, CountFilter, Spend, Spent, StoredReceipt, VerdictCounts};
use crate::page::{Cursor, Filter, Page};
use crate::read;
use crate::reviews::{self, Review};
use crate::served::{self, Answer, Decisions, DecisionsWanted, Findings};
use crate::store::{NewReceipt, Store};
use crate::tenant::Tenant;
use crate::write::{ReceiptRow, Write};
use crate::writer::Pending;

/// What is kept for one tenant. It finds no row of another, and writes none; receipts that the command line keeps count
/// as evidence for all.
///
/// Reading fails with [`StoreError`] when the store cannot be read, and, for one receipt, with [`StoreError::Damaged`]
/// when it is not as it was kept. A list leaves such a receipt out.
#[derive(Clone)]
pub struct TenantStore<'a> {
    store: &'a Store,
    tenant: Tenant,
}

impl<'a> TenantStore<'a> {
    pub(crate) fn new(store: &'a Store, tenant: Tenant) -> Self {
        Self { store, tenant }
    }

    /// Whose rows these are.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// Hands a receipt to the writer, which keeps receipts in the order they are handed over. Waits while too many are
    /// ahead of it.
    pub fn submit(&self, new: NewReceipt) -> Pending {
        let row = ReceiptRow::new(self.tenant.clone(), new);
        self.store.writer.submit(row.map(|row| Write::Receipt(Box::new(row))))
    }

    /// Hands over what is to be kept together or not at all.
    pub fn submit_bundle(&self, bundle: Bundle) -> Pending {
        let row = BundleRow::new(self.tenant.clone(), bundle);
        self.store.writer.submit(row.map(|row| Write::Bundle(Box::new(row))))
    }

    /// The state of a step in the run that `begun_by` began; none before its first judgment.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn step_run(&self, begun_by: &str, run: &str, step: &str) -> Result<Option<StepRun>, StoreError> {
        self.read(|connection, tenant| bundle::step_run(connection, tenant, begun_by, run, step))
    }

    /// The states of all steps, or of those of runs of one name, last changed first; at most [`crate::MAX_LISTED`].
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn step_runs(&self, run: Option<&str>) -> Result<Vec<StepRun>, StoreError> {
        self.read(|connection, tenant| bundle::runs(connection, tenant, run))
    }

    /// Whether `by` began a run of this name, and who else did, if anybody.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn begun(&self, run: &str, by: &str) -> Result<(bool, Option<String>), StoreError> {
        self.read(|connection, tenant| bundle::begun(connection, tenant, run, by))
    }

    /// Whether a receipt that counts once was used up.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn is_spent(&self, spend: &Spend) -> Result<bool, StoreError> {
        self.read(|connection, tenant| kept::is_spent(connection, tenant, spend))
    }

    /// What of this tenant used up a receipt that counts once: a run, the id of a decision, or who redeemed it. None where
    /// nothing did, or only somebody else.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn spent_by(&self, spend: &Spend) -> Result<Option<String>, StoreError> {
        self.read(|connection, tenant| kept::spent_by(connection, tenant, spend))
    }

    /// Whether another receipt stands in the place of this one, of the tenant or of the command line.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn is_superseded(&self, spend: &Spend) -> Result<bool, StoreError> {
        self.read(|connection, tenant| kept::is_superseded(connection, tenant, spend))
    }

    /// Uses up a receipt that was read here, which counts once: of all who try, one succeeds. `at` is in milliseconds
    /// after 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    /// [`StoreError::NoReceipt`] where it is another tenant's, [`StoreError::Spent`] where it was used up before,
    /// [`StoreError::Superseded`] where another stands in its place, and whatever keeps the store from being written.
    pub fn redeem(&self, kept: &StoredReceipt, by: &str, at: i64) -> Result<Spent, StoreError> {
        if kept.tenant != self.tenant {
            return Err(StoreError::NoReceipt(kept.receipt.receipt_id()));
        }
        let spends = vec![Spend::of(&kept.receipt)];
        self.submit_bundle(Bundle { spends, spent_by: by.to_owned(), at, ..Bundle::default() }).wait()?;
        Ok(Spent { by: by.to_owned(), at })
    }

    /// The decision with this id.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn decision(&self, id: &str) -> Result<Option<Decision>, StoreError> {
        self.read(|connection, tenant| bundle::decision(connection, tenant, id))
    }

    /// The decisions that are wanted, newest first.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn decisions(&self, wanted: &DecisionsWanted) -> Result<Decisions, StoreError> {
        self.read(|connection, tenant| served::decisions(connection, Some(tenant), wanted))
    }

    /// What was answered to the request with this key.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn answer(&self, key: &str) -> Result<Option<Answer>, StoreError> {
        self.read(|connection, tenant| served::answer(connection, tenant, key))
    }

    /// How often the action with this fingerprint was denied since it was allowed last.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn denied(&self, fingerprint: &str) -> Result<u64, StoreError> {
        self.read(|connection, tenant| served::denied(connection, tenant, fingerprint))
    }

    /// How often the action of this decision was reported as executed.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn times_executed(&self, decision_id: &str) -> Result<u64, StoreError> {
        self.read(|connection, tenant| served::times_executed(connection, tenant, decision_id))
    }

    /// The findings, newest first, at most `limit` after the place `after`.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn findings(&self, limit: usize, after: Option<Cursor>) -> Result<Findings, StoreError> {
        self.read(|connection, tenant| served::findings(connection, tenant, limit, after))
    }

    /// The reviews of a decision, the oldest first.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn reviews(&self, decision_id: &str) -> Result<Vec<Review>, StoreError> {
        self.read(|connection, tenant| reviews::reviews(connection, tenant, decision_id))
    }

    /// The denial of a subject ([`crate::DecisionIndex::subject`]) that has not ended `now`, in milliseconds after
    /// 1970-01-01T00:00:00Z; of several the one that ends last.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn denial(&self, subject: &str, now: i64) -> Result<Option<Review>, StoreError> {
        self.read(|connection, tenant| reviews::denial(connection, tenant, subject, now))
    }

    /// The id of the decision that allowed the subject of this one after it, if one did.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn allowed_since(&self, decision_id: &str) -> Result<Option<String>, StoreError> {
        self.read(|connection, tenant| reviews::allowed_since(connection, tenant, decision_id))
    }

    /// The facts a decision was made on, as JSON, where they are kept for its reviewers.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn facts(&self, decision_id: &str) -> Result<Option<String>, StoreError> {
        self.read(|connection, tenant| reviews::facts(connection, tenant, decision_id))
    }

    /// As [`TenantStore::facts`], of the newest decision on a subject ([`crate::DecisionIndex::subject`]).
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn newest_facts(&self, subject: &str) -> Result<Option<String>, StoreError> {
        self.read(|connection, tenant| reviews::newest_facts(connection, tenant, subject))
    }

    /// The receipt with this id. Where several issuers gave one under it, the one that was issued here, else one whose
    /// signer was trusted when it came; [`StoredReceipt::others`] counts the rest.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is not as it was kept, and whatever keeps the store from being read.
    pub fn receipt(&self, id: &ReceiptId) -> Result<Option<StoredReceipt>, StoreError> {
        self.read(|connection, tenant| kept::receipt(connection, Some(tenant), id, None))
    }

    /// The receipt with this id that this issuer signed, in the spelling of [`proofmark_receipt::SignerId`].
    ///
    /// # Errors
    /// As [`TenantStore::receipt`].
    pub fn receipt_by(&self, id: &ReceiptId, issuer: &str) -> Result<Option<StoredReceipt>, StoreError> {
        self.read(|connection, tenant| kept::receipt(connection, Some(tenant), id, Some(issuer)))
    }

    /// The receipt that came of the job with this id: issued here, for the job's request. What somebody brought under the
    /// id is not it.
    ///
    /// # Errors
    /// As [`TenantStore::receipt`].
    pub fn job_receipt(&self, id: &ReceiptId) -> Result<Option<StoredReceipt>, StoreError> {
        self.read(|connection, tenant| kept::job_receipt(connection, tenant, id))
    }

    /// The request that the receipt with this id, issued here, answers, as JSON, where it was kept.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn request(&self, id: &ReceiptId) -> Result<Option<String>, StoreError> {
        self.read(|connection, tenant| kept::request(connection, tenant, id))
    }

    /// The receipts that `filter` lets through, newest first: in the reverse order of their being kept.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn list(&self, filter: &Filter) -> Result<Page, StoreError> {
        self.read(|connection, tenant| read::list(connection, Some(tenant), filter))
    }

    /// The receipts over one output, as `hashes.output` names it, of this tenant and of the command line, newest first; at
    /// most [`crate::MAX_PAGE`].
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn receipts_over(&self, output: &str) -> Result<Vec<Receipt>, StoreError> {
        self.read(|connection, tenant| read::over(connection, tenant, output))
    }

    /// How many receipts have each verdict. Those that another has superseded, and those issued elsewhere by signers who
    /// were not trusted, are counted apart: anybody can issue receipts.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn tally(&self, of: &CountFilter<'_>) -> Result<VerdictCounts, StoreError> {
        self.read(|connection, tenant| kept::tally(connection, tenant, of))
    }

    /// The receipts of a chain, first to last; none when there is no such chain.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when one is not as it was kept, and whatever keeps the store from being read.
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
    /// Whatever keeps the store from being read.
    pub fn chains(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.read(read::chains)
    }

    /// The last receipt of a chain, which the next one links to; none when there is no such chain.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn tip(&self, chain: &str) -> Result<Option<ChainTip>, StoreError> {
        self.read(|connection, tenant| read::tip(connection, tenant, chain))
    }

    /// The job with this id.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn job(&self, id: &ReceiptId) -> Result<Option<StoredJob>, StoreError> {
        self.read(|connection, tenant| jobs::job(connection, tenant, id))
    }

    /// Cancels a job, in whichever process it runs; false where it has ended or there is none.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    pub fn cancel_job(&self, id: &ReceiptId, at: i64) -> Result<bool, StoreError> {
        let (found, cancelled) = mpsc::channel();
        self.store.change(Change::Cancel { job_id: *id, tenant: self.tenant.clone(), at, found })?;
        Ok(cancelled.try_recv().unwrap_or_default())
    }

    fn read<T>(&self, question: impl FnOnce(&Connection, &Tenant) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.store.read(|connection| question(connection, &self.tenant))
    }
}
