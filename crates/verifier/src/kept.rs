//! What is done on the word of a kept receipt, after it was judged what that is worth.

use proofmark_receipt::{Receipt, ReceiptId};
use proofmark_store::{KeptReceipt, Spent, StoreError};

use crate::acp::{self, Evaluation};
use crate::clock;
use crate::desk::Desk;
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

impl Desk {
    /// Uses a tenant's receipt up, once, if it is what these terms ask for.
    ///
    /// # Errors
    /// [`UseError`]; then it is not used up by this.
    pub fn redeem(&self, tenant: &str, id: &ReceiptId, terms: &Terms, by: &str) -> Result<Redeemed, UseError> {
        let kept = self.kept(tenant, id)?.ok_or(StoreError::NoReceipt(*id))?;
        let worth = Worth::of(&kept, &self.trusted);
        worth.redeemable(&kept.receipt, terms)?;
        let at = clock::now().unix_millis();
        self.store.redeem(id, tenant, by, at)?;
        Ok(Redeemed { receipt: kept.receipt, worth, spent: Spent { by: by.to_owned(), at } })
    }

    /// What a tenant's receipt answers the evaluator of a job who wants it to be about this; none where the tenant has no
    /// such receipt.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub fn evaluation(
        &self,
        tenant: &str,
        id: &ReceiptId,
        about: &Subject,
    ) -> Result<Option<(Receipt, Evaluation)>, StoreError> {
        let Some(kept) = self.kept(tenant, id)? else { return Ok(None) };
        let request = self.store.request(id)?;
        let worth = Worth::of(&kept, &self.trusted);
        let evaluation = acp::evaluation(&kept.receipt, &worth, request.as_deref(), about);
        Ok(Some((kept.receipt, evaluation)))
    }

    /// A tenant's receipt that can be run again, with its request; none where the tenant has no such receipt.
    ///
    /// # Errors
    /// [`UseError`] when it cannot.
    pub fn rerunnable(&self, tenant: &str, id: &ReceiptId) -> Result<Option<(KeptReceipt, String)>, UseError> {
        let Some(kept) = self.kept(tenant, id)? else { return Ok(None) };
        let request = self.store.request(id)?;
        let text = Worth::of(&kept, &self.trusted).answers(&kept.receipt, request.as_deref())?.to_owned();
        Ok(Some((kept, text)))
    }

    fn kept(&self, tenant: &str, id: &ReceiptId) -> Result<Option<KeptReceipt>, StoreError> {
        Ok(self.store.kept_receipt(id)?.filter(|kept| kept.tenant == tenant))
    }
}
