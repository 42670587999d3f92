//! What every door stands before: a decider that decides, verifications that run, and the store behind both.

use std::sync::atomic::AtomicBool;

use proofmark_receipt::{Json, Profile, SignerId};
use proofmark_verifier::{
    AcceptError, Acceptance, Asked, Attempt, Checked, DecideError, Decider, Language, StoreError, Tenant,
    Verifications, accept, boundary, check_document,
};

use crate::attempt_body::AttemptBody;
use crate::keys::Caller;

/// A decider, and verifications that keep in the same store. Everything here may wait for a disk.
pub struct Services {
    pub(crate) decider: Decider,
    pub(crate) verifications: Verifications,
    languages: Vec<Language>,
}

impl Services {
    /// A services for work in these languages.
    #[must_use]
    pub fn new(decider: Decider, verifications: Verifications, languages: Vec<Language>) -> Services {
        Services { decider, verifications, languages }
    }

    /// The languages there are runtimes for.
    pub(crate) fn languages(&self) -> &[Language] {
        &self.languages
    }

    /// Whether there is a policy to decide by.
    pub(crate) fn decides(&self) -> bool {
        self.decider.policy().is_some()
    }

    /// Judges an attempt at a step of a run that the caller began, or that `begun_by` did, unless `stop` is set meanwhile.
    pub(crate) fn accept(
        &self,
        caller: &Caller,
        begun_by: Option<&str>,
        sent: &AttemptBody,
        stop: &AtomicBool,
    ) -> Result<Acceptance, AcceptError> {
        let attempt = Attempt {
            workflow: &sent.workflow,
            policy: None,
            step: &sent.step,
            sender: caller.sender(),
            run: sent.run.as_deref(),
            begun_by,
            number: sent.number,
            response: sent.response.as_bytes(),
            trace: sent.trace.as_deref().map(str::as_bytes),
            context: sent.context.as_ref(),
            receipts: None,
            presented: &sent.receipts,
            trusted: self.decider.trusted(),
            stop,
        };
        accept(&attempt, Some(self.decider.key()), Some(self.decider.store()))
    }

    /// Decides on an action, unless `stop` is set meanwhile, and returns the text of the receipt.
    pub(crate) fn decide(
        &self,
        tenant: &Tenant,
        request: &boundary::Request,
        stop: &AtomicBool,
    ) -> Result<String, DecideError> {
        Ok(self.decider.decide(&Asked { request, tenant, candidate: None, replayable: None, stop })?.to_text())
    }

    /// Checks a receipt of either kind. `trust` names the signers to trust, in place of those trusted here.
    pub(crate) fn check(&self, receipt: &str, trust: Option<&[SignerId]>) -> Checked {
        check_document(receipt.as_bytes(), Profile::Vrf, trust.unwrap_or_else(|| self.decider.trusted()))
    }

    /// A tenant's receipt.
    pub(crate) fn receipt(&self, tenant: &Tenant, id: &str) -> Result<Option<Json>, StoreError> {
        let Ok(id) = id.parse() else { return Ok(None) };
        let kept = self.decider.store().of(tenant).receipt(&id)?;
        Ok(kept.map(|kept| kept.receipt.document().clone()))
    }

    /// The text of a tenant's decision receipt.
    pub(crate) fn decision(&self, tenant: &Tenant, id: &str) -> Result<Option<String>, StoreError> {
        let kept = self.decider.store().of(tenant).decision(id)?;
        Ok(kept.map(|kept| kept.document))
    }
}
