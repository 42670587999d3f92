//! Whose signatures count for a command or a server.

use proofmark_boundary::DecisionReceipt;
use proofmark_evidence::{Capabilities, Capability, DatedKey, Signers};
use proofmark_receipt::{ChainHead, Profile, SignerId, Trust, Verification};

use crate::checked::{Checked, check_document, verify_decision, verify_head};

/// Whose signatures count, each for what, and which of the keys are those of one installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedSigners {
    signers: Signers,
    /// Keys of servers of this installation, beside the one that decides: its older ones, and those of servers that share the store.
    servers: Vec<DatedKey>,
    named: bool,
}

impl TrustedSigners {
    /// These signers, and nobody else.
    #[must_use]
    pub fn exactly(signers: Signers) -> Self {
        Self { signers, named: true, ..Self::default() }
    }

    /// Those whom a user knows, where none were named.
    pub(crate) fn known(signers: Signers) -> Self {
        Self { signers, ..Self::default() }
    }

    /// The signers who are trusted, each for what.
    #[must_use]
    pub fn signers(&self) -> &Signers {
        &self.signers
    }

    /// The keys of the installation's servers, beside the one that decides.
    #[must_use]
    pub fn servers(&self) -> &[DatedKey] {
        &self.servers
    }

    /// With the key that the command signs with, which is the user's own: unless others were named.
    #[must_use]
    pub fn with_own(self, signer: SignerId) -> Self {
        if self.named { self } else { self.and(signer) }
    }

    /// With the key that decides here. Its approvals count only where a policy lists it, or it names a reviewer as a server.
    #[must_use]
    pub fn and(self, signer: SignerId) -> Self {
        Self { signers: self.signers.with(DatedKey::endless(signer), Capabilities::ALL), ..self }
    }

    /// With the key of a worker, which verifies work and vouches for nothing else.
    #[must_use]
    pub fn and_worker(self, worker: DatedKey) -> Self {
        Self { signers: self.signers.with(worker, Capabilities::only(Capability::Verification)), ..self }
    }

    /// With the key of another server of this installation, or an older one of this server.
    #[must_use]
    pub fn and_server(mut self, server: DatedKey) -> Self {
        self.servers.push(server.clone());
        Self { signers: self.signers.with(server, Capabilities::ALL), ..self }
    }

    /// The verification of a document by these signers. Where nobody was named, a signer who is not known is not untrusted:
    /// nobody was asked about. One who is known for other documents is.
    #[must_use]
    pub fn judge(&self, verification: Verification) -> Verification {
        let is_known = verification.signer.is_some_and(|signer| self.signers.knows(&signer));
        match verification.trust {
            Trust::Untrusted if !self.named && !is_known => Verification { trust: Trust::Unknown, ..verification },
            Trust::Trusted | Trust::Untrusted | Trust::Unknown => verification,
        }
    }

    /// Verifies a receipt or a decision receipt.
    #[must_use]
    pub fn check(&self, bytes: &[u8], profile: Profile) -> Checked {
        let checked = check_document(bytes, profile, &self.signers);
        Checked { verification: self.judge(checked.verification), ..checked }
    }

    /// Verifies a decision receipt.
    #[must_use]
    pub fn check_decision(&self, receipt: &DecisionReceipt) -> Verification {
        self.judge(verify_decision(receipt, &self.signers))
    }

    /// Verifies the signed end of a chain.
    #[must_use]
    pub fn check_head(&self, head: &ChainHead) -> Verification {
        self.judge(verify_head(head, &self.signers))
    }
}
