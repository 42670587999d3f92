//! Uses of stored receipts: redeeming, evaluating and running again, each after judging what the receipt proves.

use proofmark_receipt::{Receipt, ReceiptId};
use proofmark_store::{Spent, StoreError, StoredReceipt, Tenant};

use crate::decider::Decider;
use crate::evaluation::{Evaluation, evaluation};
use crate::worth::{Subject, Terms, Worth, WorthError};

/// A receipt that was spent, and what it proved.
#[derive(Clone, Debug)]
pub struct Redeemed {
    pub receipt: Receipt,
    pub worth: Worth,
    pub spent: Spent,
}

/// Why a stored receipt cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UseError {
    /// It does not prove what is asked for.
    #[error("use the receipt: {0}")]
    Worth(#[from] WorthError),
    /// There is none, it was spent before, or the store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl UseError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Worth(error) => error.help().map(str::to_owned),
            Self::Store(error) => error.help(),
        }
    }
}

impl Decider {
    /// Spends a tenant's receipt, once, if it is what these terms ask for.
    ///
    /// # Errors
    /// [`UseError`]; then it is not spent by this.
    pub fn redeem(&self, tenant: &Tenant, id: &ReceiptId, terms: &Terms, by: &str) -> Result<Redeemed, UseError> {
        let store = self.store.of(tenant);
        let stored = store.receipt(id)?.ok_or(StoreError::NoReceipt(*id))?;
        let worth = Worth::of(&stored, self.trusted().signers());
        worth.redeemable(&stored.receipt, terms)?;
        // The writer checks again that it is neither spent nor superseded; its signature and content cannot change
        // meanwhile.
        let spent = store.redeem(&stored, by)?;
        Ok(Redeemed { receipt: stored.receipt, worth, spent })
    }

    /// The evaluation of a job that a tenant's receipt supports, if it is about `about`; none where the tenant has no such
    /// receipt.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn evaluation(
        &self,
        tenant: &Tenant,
        id: &ReceiptId,
        about: &Subject,
    ) -> Result<Option<(Receipt, Evaluation)>, StoreError> {
        let store = self.store.of(tenant);
        // The receipt of the job comes first, whatever else was stored under its id.
        let stored = store.job_receipt(id)?.map_or_else(|| store.receipt(id), |stored| Ok(Some(stored)))?;
        let Some(stored) = stored else { return Ok(None) };
        let request = store.request(id)?;
        let worth = Worth::of(&stored, self.trusted().signers());
        let evaluation = evaluation(&stored.receipt, &worth, request.as_deref(), about);
        Ok(Some((stored.receipt, evaluation)))
    }

    /// A tenant's receipt that can be run again, with its request; none where the tenant has no such receipt.
    ///
    /// # Errors
    /// [`UseError`] when it cannot.
    pub fn rerunnable(&self, tenant: &Tenant, id: &ReceiptId) -> Result<Option<(StoredReceipt, String)>, UseError> {
        let store = self.store.of(tenant);
        let Some(stored) = store.receipt(id)? else { return Ok(None) };
        let request = store.request(id)?;
        let text =
            Worth::of(&stored, self.trusted().signers()).answers(&stored.receipt, request.as_deref())?.to_owned();
        Ok(Some((stored, text)))
    }
}
