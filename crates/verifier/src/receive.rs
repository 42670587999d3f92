//! Receipts issued elsewhere: verified strictly, then stored with whether their signer is trusted.

use proofmark_receipt::{
    Json, Profile, Receipt, ReceiptId, SignatureStatus, SignerId, Trust, UndecidableCause, verify_receipt,
};
use proofmark_store::{NewReceipt, Pending, StoreError, Tenant, TenantStore};

use crate::decider::Decider;

/// What became of a receipt that a client brought.
#[derive(Clone, Debug)]
pub struct Received {
    /// Its id, where it could be read.
    pub receipt_id: Option<ReceiptId>,
    /// Whether its signature is valid.
    pub answer: SignatureStatus,
    pub trust: Trust,
    /// Why it is not stored; `None` when it is.
    pub refused: Option<NotStored>,
}

/// Why a receipt is not stored.
#[derive(Clone, Debug)]
pub struct NotStored {
    /// A stable name for programs.
    pub code: &'static str,
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Decider {
    /// Checks receipts under the default profile, and stores those that are valid, for a tenant. Receipts that are stored
    /// already stay as they are.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn receive(&self, tenant: &Tenant, documents: Vec<Json>) -> Result<Vec<Received>, StoreError> {
        let store = self.store.of(tenant);
        // All are submitted before the first is waited for, so that they share commits.
        let submitted: Vec<_> = documents.into_iter().map(|document| self.submit(&store, document)).collect();
        let received = submitted.into_iter().map(|(received, submitted)| {
            let Some((receipt, pending)) = submitted else { return Ok(received) };
            match pending.wait() {
                Ok(_) => Ok(received),
                Err(StoreError::Duplicate(_)) => received_again(&store, received, &receipt),
                Err(error) => Err(error),
            }
        });
        received.collect()
    }

    fn submit(&self, store: &TenantStore<'_>, document: Json) -> (Received, Option<(Receipt, Pending)>) {
        let receipt = match Receipt::from_document(document) {
            Ok(receipt) => receipt,
            Err(error) => {
                let refused = Some(NotStored { code: error.code(), message: error.to_string(), help: error.help() });
                let answer = SignatureStatus::Undecidable(UndecidableCause::Malformed(error));
                return (Received { receipt_id: None, answer, trust: Trust::Unknown, refused }, None);
            }
        };
        let verification = verify_receipt(&receipt, Profile::Vrf, self.trusted());
        let (answer, trust) = (verification.answer, verification.trust);
        // Only a valid signature has neither. What is undecidable is not stored either.
        let refused = match (answer.code(), answer.cause()) {
            (Some(code), Some(message)) => Some(NotStored { code, message, help: answer.help() }),
            (_, _) => None,
        };
        let submitted = match refused.is_none() {
            true => {
                let pending = store.submit(NewReceipt::received(receipt.clone(), trust));
                Some((receipt.clone(), pending))
            }
            false => None,
        };
        (Received { receipt_id: Some(receipt.receipt_id()), answer, trust, refused }, submitted)
    }
}

/// The same receipt may come again; another one of its issuer under its id may not.
fn received_again(store: &TenantStore<'_>, received: Received, receipt: &Receipt) -> Result<Received, StoreError> {
    let issuer = receipt.signature().map(|signature| {
        let written = &signature.signer_id;
        written.parse().map_or_else(|_| written.clone(), |signer: SignerId| signer.to_string())
    });
    let stored = issuer.map(|issuer| store.receipt_by(&receipt.receipt_id(), &issuer)).transpose()?.flatten();
    let same = stored.is_some_and(|stored| stored.receipt.hash() == receipt.hash());
    let refused = (!same).then(|| NotStored {
        code: "receipt_known",
        message: "another receipt of its issuer with this id is already stored".to_owned(),
        help: Some("ids are unique: ask the issuer for a receipt with an id of its own".to_owned()),
    });
    Ok(Received { refused, ..received })
}
