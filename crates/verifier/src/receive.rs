//! Receipts issued elsewhere: verified strictly, then kept with how far their signer is trusted.

use proofmark_receipt::{
    Profile, Receipt, ReceiptId, Sha256Digest, SignatureStatus, SignerId, Trust, UndecidableCause, verify_receipt,
};
use proofmark_store::{NewReceipt, StoreError, Tenant, TenantStore};

use crate::decider::Decider;

/// What became of a receipt somebody brought.
#[derive(Clone, Debug)]
pub struct Received {
    /// Its id, where it could be read.
    pub receipt_id: Option<ReceiptId>,
    /// What checking it came to.
    pub answer: SignatureStatus,
    /// Whether its signer is trusted.
    pub trust: Trust,
    /// Why it is not kept, as a short stable name and in words; `None` when it is.
    pub refused: Option<(&'static str, String)>,
}

impl Decider {
    /// Checks receipts under the default profile, and keeps those that are valid, for a tenant. Those kept before stay as
    /// they are. They share their commits.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    pub fn receive(&self, tenant: &Tenant, texts: Vec<String>) -> Result<Vec<Received>, StoreError> {
        let store = self.store.of(tenant);
        let submit = |text: &String| {
            let (received, receipt) = self.check(text);
            let pending = receipt.map(|receipt| {
                let (hash, trust) = (receipt.hash(), Some(received.trust));
                let issuer = receipt.signature().map(|signature| signature.signer_id.clone());
                (hash, issuer, store.submit(NewReceipt { trust, ..NewReceipt::of(receipt) }))
            });
            (received, pending)
        };
        let submitted: Vec<_> = texts.iter().map(submit).collect();
        let answered = submitted.into_iter().map(|(received, pending)| {
            let Some((hash, issuer, pending)) = pending else { return Ok(received) };
            match pending.wait() {
                Ok(()) => Ok(received),
                Err(StoreError::Duplicate(id)) => brought_again(&store, received, &id, issuer, hash),
                Err(error) => Err(error),
            }
        });
        answered.collect()
    }

    fn check(&self, text: &str) -> (Received, Option<Receipt>) {
        let receipt = match Receipt::parse(text.as_bytes()) {
            Ok(receipt) => receipt,
            Err(error) => {
                let refused = Some((error.code(), error.to_string()));
                let answer = SignatureStatus::Undecidable(UndecidableCause::Malformed(error));
                return (Received { receipt_id: None, answer, trust: Trust::Unknown, refused }, None);
            }
        };
        let verification = verify_receipt(&receipt, Profile::Vrf, &self.trusted);
        let (answer, trust) = (verification.answer, verification.trust);
        let refused = match (answer.code(), answer.cause()) {
            (Some(code), Some(cause)) => Some((code, cause.to_string())),
            (_, _) => None,
        };
        let valid = refused.is_none();
        (Received { receipt_id: Some(receipt.receipt_id()), answer, trust, refused }, valid.then_some(receipt))
    }
}

/// The same receipt may come again; another one of its issuer under its id may not.
fn brought_again(
    store: &TenantStore<'_>,
    received: Received,
    id: &ReceiptId,
    issuer: Option<String>,
    hash: Sha256Digest,
) -> Result<Received, StoreError> {
    let spelt = |text: String| text.parse().map_or(text, |signer: SignerId| signer.to_string());
    let kept = issuer.map(|issuer| store.receipt_by(id, &spelt(issuer))).transpose()?.flatten();
    let same = kept.is_some_and(|kept| kept.receipt.hash() == hash);
    let known =
        "a receipt of its issuer with this id is kept already; ids are unique, so ask the issuer for one of its own";
    Ok(Received { refused: (!same).then(|| ("receipt_known", known.to_owned())), ..received })
}
