//! Which receipts of a store are worth looking at. However many others there are over the same bytes, these are found.

use std::sync::Arc;

use proofmark_quorum::Votes;
use proofmark_receipt::{Receipt, SignatureStatus, SignerId, Trust, Verification};

use crate::demand::{ReceiptDemand, Wanted};
use crate::receipt::{ReceiptFact, ReceiptKind};
use crate::roles::Roles;
use crate::signers::Signers;

/// The demands that receipts of a store are looked up for. An approval is always looked for.
#[derive(Clone, Debug, Default)]
pub struct Sought(Vec<SoughtReceipt>);

/// A demand, with the values of its rule's expressions.
#[derive(Clone, Debug)]
pub struct SoughtReceipt {
    pub demand: ReceiptDemand,
    pub output: Option<String>,
    pub specification: Option<String>,
    /// Whose judgments count.
    pub roles: Option<Arc<Roles>>,
}

impl FromIterator<SoughtReceipt> for Sought {
    fn from_iter<I: IntoIterator<Item = SoughtReceipt>>(receipts: I) -> Self {
        Self(receipts.into_iter().collect())
    }
}

impl Sought {
    /// Whether a receipt may meet one of the demands, if its signature turns out to be valid, it is not spent, it is
    /// logged, its reviews are as it says, and it has the right age.
    #[must_use]
    pub fn may_be(&self, receipt: &Receipt, trusted: &Signers) -> bool {
        let signer: Option<SignerId> = receipt.signature().and_then(|signature| signature.signer_id.parse().ok());
        let trust = match signer {
            Some(signer) if trusted.of_receipt(receipt).contains(&signer) => Trust::Trusted,
            Some(_) | None => Trust::Untrusted,
        };
        // As if it were so: that is verified of the few that are found.
        let claimed = Verification { answer: SignatureStatus::Valid, trust, signer, hint: None };
        let mut fact = ReceiptFact::new(receipt, &claimed, false);
        match fact.kind {
            // Anybody can claim a quorum, and could hide one that there is behind many that there are not. So only those of trusted
            // collectors are looked for.
            Some(ReceiptKind::Quorum) => fact.votes = Votes::claimed(receipt).ok().filter(|_| trust == Trust::Trusted),
            Some(ReceiptKind::Judgment) => fact.trust = trusted.in_approver(trust, signer.as_ref()),
            _ => {}
        }
        fact.kind == Some(ReceiptKind::Approval) || self.0.iter().any(|sought| sought.accepts(&fact))
    }
}

impl SoughtReceipt {
    fn accepts(&self, fact: &ReceiptFact) -> bool {
        let wanted = Wanted {
            output: self.output.as_deref(),
            specification: self.specification.as_deref(),
            roles: self.roles.as_deref(),
        };
        let demand = ReceiptDemand { max_age_millis: None, logged: None, ..self.demand.clone() };
        demand.meets(&wanted, fact, &fact.verified_at).is_ok()
    }
}
