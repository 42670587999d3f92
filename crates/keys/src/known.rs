//! Whom this user knows and whom a command trusts: one rule for all commands.
//!
//! Without names, a command trusts the signers in the trust store and the user's own keys, and says nothing about others.
//! With names, it trusts exactly those, and everybody else is untrusted.

use std::path::Path;

use proofmark_receipt::{Profile, SignerId, Trust, Verification};

use crate::checked::{Checked, check_document};
use crate::keyring::Keyring;
use crate::trust::{self, TrustError, trusted_signers};
use crate::trust_store::{TrustStore, TrustedName};

/// The signers whom a user knows by name.
#[derive(Clone, Debug, Default)]
pub struct KnownSigners {
    own: Vec<(String, Option<SignerId>)>,
    trusted: Vec<TrustedName>,
}

/// How a user knows a signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownAs<'a> {
    /// The key of this name is the user's own.
    Own(&'a str),
    /// The trust store has it under this name.
    Trusted(&'a str),
}

/// Whose signatures count for a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedSigners {
    signers: Vec<SignerId>,
    /// Those of them who only verify work.
    workers: Vec<SignerId>,
    named: bool,
}

impl KnownSigners {
    /// The keys and the trust store under `home`.
    ///
    /// # Errors
    /// [`TrustError`] when one of them cannot be read.
    pub fn load(home: &Path) -> Result<Self, TrustError> {
        let keyring = Keyring::new(home);
        let mut own = Vec::new();
        for name in keyring.names()? {
            // A key that cannot be used signs nothing, and is trusted by nobody.
            let signer = keyring.public(&name).unwrap_or(None);
            own.push((name, signer));
        }
        Ok(Self { own, trusted: TrustStore::new(home).list()? })
    }

    /// How the user knows a signer.
    #[must_use]
    pub fn name(&self, signer: &SignerId) -> Option<KnownAs<'_>> {
        let own = self.own.iter().find(|(_, own)| own.as_ref() == Some(signer)).map(|(name, _)| KnownAs::Own(name));
        let trusted = || self.trusted.iter().find(|trusted| trusted.signers.contains(signer));
        own.or_else(|| trusted().map(|trusted| KnownAs::Trusted(&trusted.name)))
    }

    /// Whom a command trusts. Each of `named` is a signer id, a name of the trust store, the name of an own key, or the path
    /// of a public key file; a name wins over a file.
    ///
    /// # Errors
    /// [`TrustError`] when one of them is none of these.
    pub fn trusted(&self, named: &[String]) -> Result<TrustedSigners, TrustError> {
        if !named.is_empty() {
            let mut signers = Vec::new();
            for text in named {
                signers.extend(self.signers(text)?);
            }
            return Ok(TrustedSigners { signers, named: true, ..TrustedSigners::default() });
        }
        let own = self.own.iter().filter_map(|(_, signer)| *signer);
        let signers = own.chain(self.trusted.iter().flat_map(|trusted| trusted.signers.iter().copied())).collect();
        Ok(TrustedSigners { signers, ..TrustedSigners::default() })
    }

    /// The user's own keys, and the signers named as in [`KnownSigners::trusted`]: whose jobs a process runs and answers for.
    ///
    /// # Errors
    /// As [`KnownSigners::trusted`].
    pub fn own_and(&self, named: &[String]) -> Result<Vec<SignerId>, TrustError> {
        let mut signers: Vec<SignerId> = self.own.iter().filter_map(|(_, signer)| *signer).collect();
        for text in named {
            signers.extend(self.signers(text)?);
        }
        Ok(signers)
    }

    fn signers(&self, text: &str) -> Result<Vec<SignerId>, TrustError> {
        if let Some(signer) = trust::written_out(text)? {
            return Ok(vec![signer]);
        }
        let own = self.own.iter().find(|(name, _)| name == text);
        let trusted = self.trusted.iter().find(|trusted| trusted.name == text);
        match (own, trusted) {
            (None, Some(trusted)) => Ok(trusted.signers.clone()),
            (Some((_, Some(signer))), None) => Ok(vec![*signer]),
            (Some((_, None)), None) => Err(TrustError::NotUnlocked(text.to_owned())),
            // One of the two was meant, and only the user knows which.
            (Some(_), Some(_)) => Err(TrustError::Ambiguous(text.to_owned())),
            (None, None) => trusted_signers(text),
        }
    }
}

impl TrustedSigners {
    /// These signers, and nobody else.
    #[must_use]
    pub fn exactly(signers: Vec<SignerId>) -> Self {
        Self { signers, named: true, ..Self::default() }
    }

    /// The signers who are trusted.
    #[must_use]
    pub fn signers(&self) -> &[SignerId] {
        &self.signers
    }

    /// With the key that the command signs with, which is the user's own: unless others were named.
    #[must_use]
    pub fn with_own(mut self, signer: SignerId) -> Self {
        if !self.named {
            self.signers.push(signer);
        }
        self
    }

    /// With a signer other than the one named.
    #[must_use]
    pub fn and(mut self, signer: SignerId) -> Self {
        self.workers.retain(|worker| *worker != signer);
        self.signers.push(signer);
        self
    }

    /// With a signer who verifies work, and whose word counts for nothing else unless it is trusted by itself.
    #[must_use]
    pub fn and_worker(mut self, signer: SignerId) -> Self {
        if !self.signers.contains(&signer) {
            self.workers.push(signer);
            self.signers.push(signer);
        }
        self
    }

    /// The signers whose decisions and whose records of sessions count: all but those who only verify work.
    #[must_use]
    pub fn deciders(&self) -> Vec<SignerId> {
        self.signers.iter().filter(|signer| !self.workers.contains(signer)).copied().collect()
    }

    /// The verification of a document by these signers. Where nobody was named, a signer who is not known is not untrusted:
    /// nobody was asked about.
    #[must_use]
    pub fn judge(&self, verification: Verification) -> Verification {
        match verification.trust {
            Trust::Untrusted if !self.named => Verification { trust: Trust::Unknown, ..verification },
            Trust::Trusted | Trust::Untrusted | Trust::Unknown => verification,
        }
    }

    /// Verifies a receipt or a decision receipt.
    #[must_use]
    pub fn check(&self, bytes: &[u8], profile: Profile) -> Checked {
        let checked = check_document(bytes, profile, &self.signers);
        Checked { verification: self.judge(checked.verification), ..checked }
    }
}

impl From<Vec<SignerId>> for TrustedSigners {
    fn from(signers: Vec<SignerId>) -> Self {
        Self::exactly(signers)
    }
}
