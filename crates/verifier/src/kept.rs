//! What is done on the word of a kept receipt, after it was judged what that is worth.

use proofmark_receipt::{Receipt, ReceiptId};
use proofmark_store::{Spent, StoreError, StoredReceipt, Tenant};

use crate::clock;
use crate::decider::Decider;
use crate::evaluation::{Evaluation, evaluation};
use crate::worth::{Subject, Terms, Worth, WorthError};

/// A receipt that was used up, and what it was.
#[derive(Clone, Debug)]
pub struct Redeemed {
    /// The receipt.
    pub receipt: Receipt,
    /// What it is.
    pub worth: Worth,
    /// By whom it was used up, and when.
    pub spent: Spent,
}

/// Why a kept receipt cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UseError {
    /// It does not prove what is asked for.
    #[error("use the receipt: {0}")]
    Worth(#[from] WorthError),
    /// There is none, it was used up before, or the store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Decider {
    /// Uses a tenant's receipt up, once, if it is what these terms ask for.
    ///
    /// # Errors
    /// [`UseError`]; then it is not used up by this.
    pub fn redeem(&self, tenant: &Tenant, id: &ReceiptId, terms: &Terms, by: &str) -> Result<Redeemed, UseError> {
        let store = self.store.of(tenant);
        let kept = store.receipt(id)?.ok_or(StoreError::NoReceipt(*id))?;
        let worth = Worth::of(&kept, &self.trusted);
        worth.redeemable(&kept.receipt, terms)?;
        let spent = store.redeem(&kept, by, clock::now_in(&self.store)?.unix_millis())?;
        Ok(Redeemed { receipt: kept.receipt, worth, spent })
    }

    /// What a tenant's receipt answers the evaluator of a job who wants it to be about this; none where the tenant has no
    /// such receipt.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn evaluation(
        &self,
        tenant: &Tenant,
        id: &ReceiptId,
        about: &Subject,
    ) -> Result<Option<(Receipt, Evaluation)>, StoreError> {
        let store = self.store.of(tenant);
        // The question is what came of the job, whatever was brought under its id.
        let kept = store.job_receipt(id)?.map_or_else(|| store.receipt(id), |kept| Ok(Some(kept)))?;
        let Some(kept) = kept else { return Ok(None) };
        let request = store.request(id)?;
        let worth = Worth::of(&kept, &self.trusted);
        let evaluation = evaluation(&kept.receipt, &worth, request.as_deref(), about);
        Ok(Some((kept.receipt, evaluation)))
    }

    /// A tenant's receipt that can be run again, with its request; none where the tenant has no such receipt.
    ///
    /// # Errors
    /// [`UseError`] when it cannot.
    pub fn rerunnable(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Option<(StoredReceipt, String)>, UseError> {
        let store = self.store.of(tenant);
        let Some(kept) = store.receipt(id)? else { return Ok(None) };
        let request = store.request(id)?;
        let text = Worth::of(&kept, &self.trusted).answers(&kept.receipt, request.as_deref())?.to_owned();
        Ok(Some((kept, text)))
    }
}
