//! Options that several commands have.

use std::path::PathBuf;

use clap::Args;
use proofmark_receipt::{SignerId, SigningKey};
use proofmark_verifier::{Passphrase, Store, trusted_signers};

use crate::config::{Config, DEFAULT_KEY};

/// The key to sign with.
#[derive(Args)]
pub(crate) struct Signing {
    /// Sign with this key: a name, or the path of a key file [default: `default`, created on first use]
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) unlock: Unlock,
}

/// How an encrypted key is decrypted.
#[derive(Args)]
pub(crate) struct Unlock {
    /// Read the key's passphrase from this file [default: $PROOFMARK_PASSPHRASE]
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// Where stored documents are.
#[derive(Args)]
pub(crate) struct StoreAt {
    /// Use this database [default: proofmark.db in $PROOFMARK_HOME]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// Whose signatures count.
#[derive(Args)]
pub(crate) struct Trusting {
    /// Trust this signer: a signer id, or a public key file (PEM, JWK or JWK set); can be repeated
    #[arg(long, value_name = "KEY")]
    trust: Vec<String>,
}

impl Signing {
    /// The key named, or the default key; none where there is no default key yet.
    pub(crate) fn existing_key(&self, config: &Config) -> anyhow::Result<Option<SigningKey>> {
        match self.key.is_none() && !config.keyring().has(DEFAULT_KEY) {
            true => Ok(None),
            false => self.key(config).map(Some),
        }
    }

    /// The key named; else the default key, which is created on first use.
    pub(crate) fn key(&self, config: &Config) -> anyhow::Result<SigningKey> {
        config.signing_key(self.key.as_deref(), self.unlock.passphrase(config)?.as_ref())
    }
}

impl Unlock {
    /// The passphrase of the file named, else of the environment.
    pub(crate) fn passphrase(&self, config: &Config) -> anyhow::Result<Option<Passphrase>> {
        config.passphrase(self.passphrase_file.as_deref())
    }
}

impl StoreAt {
    pub(crate) fn path(&self, config: &Config) -> PathBuf {
        config.store_path(self.store.as_deref())
    }

    /// Opens the store, which is created on first use.
    pub(crate) fn open(&self, config: &Config) -> anyhow::Result<Store> {
        Ok(Store::open(&config.store_path(self.store.as_deref()))?)
    }

    /// Opens the store, if there is one.
    pub(crate) fn open_if_there(&self, config: &Config) -> anyhow::Result<Option<Store>> {
        let path = config.store_path(self.store.as_deref());
        Ok(if path.exists() { Some(Store::open_existing(&path)?) } else { None })
    }

    /// Opens the store to read it; it must exist.
    pub(crate) fn open_existing(&self, config: &Config) -> anyhow::Result<Store> {
        Ok(Store::open_existing(&config.store_path(self.store.as_deref()))?)
    }
}

impl Trusting {
    pub(crate) fn signers(&self) -> anyhow::Result<Vec<SignerId>> {
        signers(&self.trust)
    }
}

/// The signers that signer ids and public key files stand for.
pub(crate) fn signers(texts: &[String]) -> anyhow::Result<Vec<SignerId>> {
    let mut signers = Vec::new();
    for text in texts {
        signers.extend(trusted_signers(text)?);
    }
    Ok(signers)
}
