//! The environment, read once.

use std::env;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use proofmark_verifier::{Keyring, KnownSigners, Passphrase};
use zeroize::Zeroizing;

use crate::error::with_help;

/// The name of the key that is used, and created on first use, when no key is named.
pub(crate) const DEFAULT_KEY: &str = "default";

/// The longest passphrase file, in bytes.
const MAX_PASSPHRASE: u64 = 4096;

/// The settings of the environment.
pub(crate) struct Config {
    /// The folder of keys and the store: `$PROOFMARK_HOME`, else `proofmark` in the XDG data directory.
    pub(crate) home: PathBuf,
    /// The passphrase of `$PROOFMARK_PASSPHRASE`, or why it has none.
    passphrase: Result<Option<Passphrase>, NotTextError>,
}

/// The variable has a value that is not text.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("read PROOFMARK_PASSPHRASE: it is not UTF-8 text")]
struct NotTextError;

impl Config {
    pub(crate) fn from_environment() -> Config {
        let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let data = || folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(".local/share")));
        let home = folder("PROOFMARK_HOME").or_else(|| Some(data()?.join("proofmark")));
        Config {
            home: home.unwrap_or_else(|| PathBuf::from(".proofmark")),
            passphrase: env::var_os("PROOFMARK_PASSPHRASE").map(text).transpose(),
        }
    }

    pub(crate) fn keyring(&self) -> Keyring {
        Keyring::new(&self.home)
    }

    /// The user's own keys and the trust store.
    pub(crate) fn known_signers(&self) -> anyhow::Result<KnownSigners> {
        Ok(KnownSigners::load(&self.home)?)
    }

    /// The path of the store: the path given, else the one in `home`.
    pub(crate) fn store_path(&self, given: Option<&Path>) -> PathBuf {
        given.map_or_else(|| self.home.join("proofmark.db"), Path::to_owned)
    }

    /// The passphrase of key files: from the file given, else from the environment.
    pub(crate) fn passphrase(&self, file: Option<&Path>) -> anyhow::Result<Option<Passphrase>> {
        let Some(file) = file else { return Ok(self.passphrase.clone()?) };
        let context = || format!("read the passphrase file `{}`", file.display());
        let mut text = Zeroizing::new(String::new());
        let opened = std::fs::File::open(file).with_context(context)?;
        // One byte more than allowed shows that the file is too long.
        opened.take(MAX_PASSPHRASE + 1).read_to_string(&mut text).with_context(context)?;
        if text.len() as u64 > MAX_PASSPHRASE {
            // A passphrase cut short would still encrypt a new key.
            return Err(with_help(
                format!("{}: it has more than {MAX_PASSPHRASE} bytes", context()),
                "use a shorter passphrase",
            ));
        }
        // Editors end a file with a line break; spaces may belong to the passphrase.
        Ok(Some(Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned())))
    }
}

fn text(value: OsString) -> Result<Passphrase, NotTextError> {
    // A passphrase that was read in part, or left out, would leave a new key without its protection.
    value.into_string().map(Zeroizing::new).map_err(|_| NotTextError)
}
