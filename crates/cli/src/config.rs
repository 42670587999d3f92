//! The environment, read once.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use proofmark_keys::{Keyring, KnownSigners, Passphrase};
use proofmark_sandbox::keep_from_children;
use proofmark_store::Place as StorePlace;
use zeroize::Zeroizing;

use crate::error::with_help;

/// How the names of our own variables begin.
const OUR_VARIABLES: &str = "PROOFMARK_";
/// The variables with secrets.
const PASSPHRASE: &str = "PROOFMARK_PASSPHRASE";
const UPSTREAM_TOKEN: &str = "PROOFMARK_UPSTREAM_TOKEN";
const API_KEY: &str = "PROOFMARK_API_KEY";

/// The name of the key that is used, and created on first use, when no key is named.
pub(crate) const DEFAULT_KEY: &str = "default";

/// The longest file with a secret, in bytes.
const MAX_SECRET: u64 = 4096;

/// The settings of the environment.
#[derive(Clone)]
pub(crate) struct Config {
    /// The folder of keys and the store: `$PROOFMARK_HOME`, else `proofmark` in the XDG data directory.
    pub(crate) home: PathBuf,
    /// Whether `$PROOFMARK_HOME` names that folder.
    is_home_named: bool,
    /// `$PROOFMARK_STORE`: the store that is used where none is named.
    store: Option<StorePlace>,
    /// `$PROOFMARK_POLICY`: the action policy of commands that a person starts, where none is named.
    pub(crate) policy: Option<PathBuf>,
    /// The passphrase of `$PROOFMARK_PASSPHRASE`, or why it has none.
    passphrase: Result<Option<Passphrase>, NotTextError>,
    /// `$PROOFMARK_UPSTREAM_TOKEN`: the credential for a server that is guarded.
    upstream_token: Result<Option<Passphrase>, NotTextError>,
    /// `$PROOFMARK_API_KEY`: what a guard or a hook authenticates itself with to the server that decides.
    api_key: Result<Option<Passphrase>, NotTextError>,
}

/// The variable has a value that is not text.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("read {0}: it is not UTF-8 text")]
struct NotTextError(&'static str);

impl Config {
    /// Reads the environment. No program that is started afterwards has our variables: some of them are secrets.
    pub(crate) fn from_environment() -> anyhow::Result<Config> {
        let mut ours = keep_from_children(OUR_VARIABLES).context("keep the variables of this program to itself")?;
        let mut taken = |name: &str| ours.remove(OsStr::new(name));
        let home = taken("PROOFMARK_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let data = variable("XDG_DATA_HOME").map(|data| data.join("proofmark"));
        Ok(Config {
            is_home_named: home.is_some(),
            home: home.or(data).unwrap_or_else(users_own_home),
            store: taken("PROOFMARK_STORE").filter(|store| !store.is_empty()).map(StorePlace::from),
            policy: taken("PROOFMARK_POLICY").filter(|policy| !policy.is_empty()).map(PathBuf::from),
            passphrase: taken(PASSPHRASE).map(|value| text(PASSPHRASE, value)).transpose(),
            upstream_token: taken(UPSTREAM_TOKEN).map(|value| text(UPSTREAM_TOKEN, value)).transpose(),
            api_key: taken(API_KEY).map(|value| text(API_KEY, value)).transpose(),
        })
    }

    pub(crate) fn keyring(&self) -> Keyring {
        Keyring::new(&self.home)
    }

    /// The user's own keys and the trust store.
    pub(crate) fn known_signers(&self) -> anyhow::Result<KnownSigners> {
        Ok(KnownSigners::load(&self.home)?)
    }

    /// The folder that says how far the chains of stores have been signed from this home.
    pub(crate) fn ends(&self) -> PathBuf {
        self.home.join("ends")
    }

    /// The folder of what can be made again: in the home that `$PROOFMARK_HOME` names, else in the user's own folder of caches.
    pub(crate) fn cache(&self) -> PathBuf {
        if self.is_home_named {
            return self.home.join("cache");
        }
        let own = || variable("HOME").map(|home| home.join(".cache"));
        variable("XDG_CACHE_HOME").or_else(own).map_or_else(|| self.home.join("cache"), |cache| cache.join("proofmark"))
    }

    /// Where the store is when no other is named.
    pub(crate) fn store_place(&self) -> StorePlace {
        self.store.clone().unwrap_or_else(|| StorePlace::File(self.home.join("proofmark.db")))
    }

    /// The store that the environment names.
    pub(crate) fn named_store(&self) -> Option<&StorePlace> {
        self.store.as_ref()
    }

    /// The settings for a hook, whose store only its own command names: an agent may set variables of the host that starts it,
    /// and another store knows of no denial and of nothing that was spent. `home` is the folder that its command names.
    pub(crate) fn for_hook(&self, home: Option<PathBuf>) -> Config {
        Config { store: None, home: home.unwrap_or_else(|| self.home.clone()), ..self.clone() }
    }

    /// The folder that `$PROOFMARK_HOME` names.
    pub(crate) fn named_home(&self) -> Option<&Path> {
        self.is_home_named.then_some(&self.home)
    }

    /// The passphrase of key files: from the file given, else from the environment.
    pub(crate) fn passphrase(&self, file: Option<&Path>) -> anyhow::Result<Option<Passphrase>> {
        match file {
            Some(file) => secret_file(file, "passphrase").map(Some),
            None => Ok(self.passphrase.clone()?),
        }
    }

    /// The credential for a server that is guarded, from the environment.
    pub(crate) fn upstream_token(&self) -> anyhow::Result<Option<Passphrase>> {
        Ok(self.upstream_token.clone()?)
    }

    /// The API key for the server that decides, from the environment.
    pub(crate) fn api_key(&self) -> anyhow::Result<Option<Passphrase>> {
        Ok(self.api_key.clone()?)
    }
}

/// The secret in a file, without the end of its line. `what` says what it is.
pub(crate) fn secret_file(file: &Path, what: &str) -> anyhow::Result<Passphrase> {
    let context = || format!("read the {what} file `{}`", file.display());
    let mut text = Zeroizing::new(String::new());
    let opened = std::fs::File::open(file).with_context(context)?;
    // One byte more than allowed shows that the file is too long.
    opened.take(MAX_SECRET + 1).read_to_string(&mut text).with_context(context)?;
    if text.len() as u64 > MAX_SECRET {
        // A passphrase cut short would still encrypt a new key.
        return Err(with_help(
            format!("{}: it has more than {MAX_SECRET} bytes", context()),
            format!("use a shorter {what}"),
        ));
    }
    // Editors end a file with a line break; spaces may belong to the secret.
    Ok(Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// The folder of keys and the store of a user who has set no variable for it.
pub(crate) fn users_own_home() -> PathBuf {
    variable("HOME").map_or_else(|| PathBuf::from(".proofmark"), |home| home.join(".local/share/proofmark"))
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn text(name: &'static str, value: OsString) -> Result<Passphrase, NotTextError> {
    // A passphrase that was read in part, or left out, would leave a new key without its protection.
    value.into_string().map(Zeroizing::new).map_err(|_| NotTextError(name))
}
