//! The environment, read once.

use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::out;
use anyhow::Context;
use proofmark_receipt::{SignerId, SigningKey};
use proofmark_verifier::{Keyring, Passphrase, Store, trusted_signers};
use zeroize::Zeroizing;

/// The name of the key that is used, and made at first use, when none is named.
pub(crate) const DEFAULT_KEY: &str = "default";

/// The longest passphrase file read.
const MAX_PASSPHRASE: u64 = 4096;

/// What the environment says.
pub(crate) struct Config {
    /// Where keys and the store are: `$PROOFMARK_HOME`, else `proofmark` in the
    /// XDG data directory.
    pub(crate) home: PathBuf,
    /// `$PROOFMARK_PASSPHRASE`.
    passphrase: Option<Passphrase>,
}

impl Config {
    pub(crate) fn from_environment() -> Config {
        let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let data = || folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(".local/share")));
        let home = folder("PROOFMARK_HOME").or_else(|| Some(data()?.join("proofmark")));
        Config {
            home: home.unwrap_or_else(|| PathBuf::from(".proofmark")),
            passphrase: env::var("PROOFMARK_PASSPHRASE").ok().map(Zeroizing::new),
        }
    }

    pub(crate) fn keyring(&self) -> Keyring {
        Keyring::new(&self.home)
    }

    /// The path of the store: the one given, or the one under home.
    pub(crate) fn store_path(&self, given: Option<&Path>) -> PathBuf {
        given.map_or_else(|| self.home.join("proofmark.db"), Path::to_owned)
    }

    /// Opens the store to read; it must be there.
    pub(crate) fn existing_store(&self, given: Option<&Path>) -> anyhow::Result<Store> {
        Ok(Store::open_existing(&self.store_path(given))?)
    }

    /// The passphrase for key files: of the file given, else of the environment.
    pub(crate) fn passphrase(&self, file: Option<&Path>) -> anyhow::Result<Option<Passphrase>> {
        let Some(file) = file else { return Ok(self.passphrase.clone()) };
        let mut text = Zeroizing::new(String::new());
        let opened =
            std::fs::File::open(file).with_context(|| format!("read the passphrase file `{}`", file.display()))?;
        opened.take(MAX_PASSPHRASE).read_to_string(&mut text)?;
        Ok(Some(Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned())))
    }

    /// The key to sign with: the one named, else the default one, which is made
    /// at first use.
    pub(crate) fn signing_key(
        &self,
        named: Option<&str>,
        passphrase: Option<&Passphrase>,
    ) -> anyhow::Result<SigningKey> {
        let keyring = self.keyring();
        match named {
            Some(name) => Ok(keyring.load(name, passphrase)?),
            None if keyring.has(DEFAULT_KEY) => Ok(keyring.load(DEFAULT_KEY, passphrase)?),
            None => {
                let key = keyring.create(DEFAULT_KEY, passphrase)?;
                let path = keyring.path(DEFAULT_KEY)?;
                out::say(format_args!("made the signing key {} ({})", path.display(), key.signer().fingerprint()));
                Ok(key)
            }
        }
    }
}

/// The signers that the values of `--trust` stand for.
pub(crate) fn trusted(texts: &[String]) -> anyhow::Result<Vec<SignerId>> {
    let mut signers = Vec::new();
    for text in texts {
        signers.extend(trusted_signers(text)?);
    }
    Ok(signers)
}
