//! Whom this user knows and whom a command trusts: one rule for all commands.
//!
//! Without names, a command trusts the signers in the trust store and the user's own keys, and says nothing about others.
//! With names, it trusts exactly those, and everybody else is untrusted. Nobody is trusted without it being known for which kinds of
//! documents.

use std::path::Path;

use proofmark_evidence::{Capabilities, DatedKey, Signers};
use proofmark_receipt::{SignerId, Timestamp};

use crate::keyring::Keyring;
use crate::trust::{self, TrustError, trusted_signers};
use crate::trust_store::{TrustStore, TrustedName};
use crate::trusted::TrustedSigners;

/// The signers whom a user knows by name.
#[derive(Clone, Debug, Default)]
pub struct KnownSigners {
    own: Vec<(String, Option<DatedKey>)>,
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
            let until = keyring.end(&name)?;
            own.push((name, signer.map(|signer| DatedKey { signer, until })));
        }
        Ok(Self { own, trusted: TrustStore::new(home).list()? })
    }

    /// How the user knows a signer.
    #[must_use]
    pub fn name(&self, signer: &SignerId) -> Option<KnownAs<'_>> {
        let is_own = |own: &Option<DatedKey>| own.as_ref().is_some_and(|own| own.signer == *signer);
        let own = self.own.iter().find(|(_, own)| is_own(own)).map(|(name, _)| KnownAs::Own(name));
        let trusted = || self.trusted.iter().find(|trusted| trusted.has(signer));
        own.or_else(|| trusted().map(|trusted| KnownAs::Trusted(&trusted.name)))
    }

    /// What is known of a key that the user has or trusts: for what, and until when.
    #[must_use]
    pub fn trusted_for(&self, signer: &SignerId) -> Option<Capabilities> {
        self.all().may(signer)
    }

    /// Whom a command trusts that relies on evidence. Each of `named` is `[KINDS=]SIGNER`: a signer id, a name of the trust store, the
    /// name of an own key, or the path of a public key file; a name wins over a file. Without kinds, a key of the trust store and an
    /// own key are trusted for what they are known for.
    ///
    /// # Errors
    /// [`TrustError`] when one of them is none of these, and for a key that is not known and has no kinds.
    pub fn trusted(&self, named: &[String]) -> Result<TrustedSigners, TrustError> {
        self.trusted_or(named, None)
    }

    /// As [`KnownSigners::trusted`], for a command that knows what it reads: a key that is not known and has no kinds is trusted for
    /// `bare`.
    ///
    /// # Errors
    /// As [`KnownSigners::trusted`].
    pub fn trusted_as(&self, named: &[String], bare: Capabilities) -> Result<TrustedSigners, TrustError> {
        self.trusted_or(named, Some(bare))
    }

    fn trusted_or(&self, named: &[String], bare: Option<Capabilities>) -> Result<TrustedSigners, TrustError> {
        if named.is_empty() {
            return Ok(TrustedSigners::known(self.all()));
        }
        let mut signers = Signers::default();
        for text in named {
            let (kinds, name) = kinds_of(text);
            for (key, known) in self.named(name)? {
                let may = kinds.or(known).or(bare).ok_or_else(|| TrustError::ForWhat(name.to_owned()))?;
                signers = signers.with(key, may);
            }
        }
        Ok(TrustedSigners::exactly(signers))
    }

    /// The keys that these names stand for, each as in [`KnownSigners::trusted`] without kinds.
    ///
    /// # Errors
    /// As [`KnownSigners::trusted`].
    pub fn keys(&self, named: &[String]) -> Result<Vec<DatedKey>, TrustError> {
        let keys = named.iter().map(|name| self.named(name)).collect::<Result<Vec<_>, TrustError>>()?;
        Ok(keys.into_iter().flatten().map(|(key, _)| key).collect())
    }

    /// The user's own keys, and the signers with these names: whose jobs a process runs and answers for.
    ///
    /// # Errors
    /// As [`KnownSigners::trusted`].
    pub fn own_and(&self, named: &[String]) -> Result<Vec<SignerId>, TrustError> {
        let own = self.own.iter().filter_map(|(_, key)| key.clone());
        Ok(own.chain(self.keys(named)?).map(|key| key.signer).collect())
    }

    /// The user's own keys and the trust store.
    fn all(&self) -> Signers {
        let own = self.own.iter().filter_map(|(_, key)| key.clone());
        let own = own.fold(Signers::default(), |all, key| all.with(key, Capabilities::ALL));
        let trusted = self.trusted.iter().flat_map(|trusted| trusted.keys.iter().map(|key| (key, trusted.may)));
        trusted.fold(own, |all, (key, may)| all.with(key.clone(), may))
    }

    /// The keys that a name stands for, each with what it may vouch for where that is known.
    fn named(&self, text: &str) -> Result<Vec<(DatedKey, Option<Capabilities>)>, TrustError> {
        if let Some(signer) = trust::written_out(text)? {
            return Ok(vec![self.as_known(DatedKey::endless(signer))]);
        }
        let own = self.own.iter().find(|(name, _)| name == text);
        let trusted = self.trusted.iter().find(|trusted| trusted.name == text);
        match (own, trusted) {
            (None, Some(trusted)) => Ok(trusted.keys.iter().map(|key| (key.clone(), Some(trusted.may))).collect()),
            (Some((_, Some(key))), None) => Ok(vec![(key.clone(), Some(Capabilities::ALL))]),
            (Some((_, None)), None) => Err(TrustError::NotUnlocked(text.to_owned())),
            // One of the two was meant, and only the user knows which.
            (Some(_), Some(_)) => Err(TrustError::Ambiguous(text.to_owned())),
            (None, None) => Ok(trusted_signers(text)?.into_iter().map(|key| self.as_known(key)).collect()),
        }
    }

    /// The key with the end that is known of it, and with what it is known for.
    fn as_known(&self, key: DatedKey) -> (DatedKey, Option<Capabilities>) {
        let all = self.all();
        let known = all.keys().iter().filter(|trusted| trusted.key.signer == key.signer);
        let ends = known.filter_map(|trusted| trusted.key.until.clone()).chain(key.until);
        let until = ends.min_by_key(Timestamp::unix_millis);
        (DatedKey { signer: key.signer, until }, all.may(&key.signer))
    }
}

/// `KINDS=SIGNER` as the two; kinds are words, so no path that has an `=` is taken for them.
fn kinds_of(text: &str) -> (Option<Capabilities>, &str) {
    let split = text.split_once('=').and_then(|(kinds, signer)| Some((kinds.parse().ok()?, signer)));
    split.map_or((None, text), |(kinds, signer)| (Some(kinds), signer))
}

/// The signer that `[KINDS=]SIGNER` names.
#[must_use]
pub fn without_kinds(text: &str) -> &str {
    kinds_of(text).1
}
