//! Options that several commands have.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use clap::Args;
use proofmark_evidence::{Capabilities, Capability, span};
use proofmark_keys::{Keyring, KeyringError, KnownSigners, Passphrase, TrustedSigners};
use proofmark_receipt::{SigningKey, Timestamp};
use proofmark_store::{Cursor, Place as StorePlace, Store, StoreError, Tenant};
use proofmark_verifier::now;

use crate::config::{Config, DEFAULT_KEY};
use crate::out;
use crate::paint::printable;
use crate::passphrase;
use crate::shell_words;

/// The longest time for which a review counts, in milliseconds: 30 days.
const MAX_REVIEW: i64 = 30 * 86_400_000;

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
    /// Read the key's passphrase from this file [default: $PROOFMARK_PASSPHRASE, or a prompt on a terminal]
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// A reviewer's verdict on a decision.
#[derive(Args)]
pub(crate) struct ReviewBy {
    /// The decision of the action: its id (the first digits suffice), the file of its receipt, or - for standard input
    #[arg(value_name = "FILE|ID|-")]
    pub(crate) decision: String,
    /// The reviewer's key: a name, or the path of a key file
    #[arg(long, value_name = "KEY")]
    pub(crate) key: String,
    /// The reason, for those who read the decision later
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: String,
    /// The request of the decision, where its action is not in the store
    #[arg(long, value_name = "FILE")]
    pub(crate) request: Option<PathBuf>,
    /// Print the action, and do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) unlock: Unlock,
}

/// Where stored documents are.
#[derive(Args)]
pub(crate) struct StoreAt {
    /// Use this store: a file, or the URL of a PostgreSQL database [default: $PROOFMARK_STORE, else proofmark.db in
    /// $PROOFMARK_HOME]
    #[arg(long, value_name = "FILE|URL")]
    store: Option<StorePlace>,
}

/// Says that the password of a URL in this option can be seen.
pub(crate) fn warn_of_password(option: &str, place: &StorePlace) {
    // This is said once: some commands open their store more than once.
    static WARNED: Once = Once::new();
    if matches!(place, StorePlace::Database(url) if url.without_password().is_none()) {
        WARNED.call_once(|| {
            out::note(format_args!(
                "warning: other users of this machine can see the password in `{option}`\n\
                 help: put it into `~/.pgpass` or `PGPASSWORD`, or the whole URL into `PROOFMARK_STORE`"
            ));
        });
    }
}

/// What is stored of decisions.
#[derive(Args)]
pub(crate) struct Recording {
    /// Store the facts of every decision, for `proofmark policy diff`; without it, only of those that wait for a review
    #[arg(long)]
    pub(crate) record_facts: bool,
}

/// The beginning of a period of time.
#[derive(Args)]
pub(crate) struct Since {
    /// Only from this time on: 2026-03-01, 2026-03-01T12:00:00Z, or how long ago, as in 2h or 7d
    #[arg(id = "since", long = "since", value_name = "TIME", value_parser = moment)]
    pub(crate) from: Option<i64>,
}

/// A period of time.
#[derive(Args)]
pub(crate) struct Period {
    #[command(flatten)]
    pub(crate) since: Since,
    /// Only before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) until: Option<i64>,
}

/// Whose entries are listed.
#[derive(Args)]
pub(crate) struct OfTenant {
    /// Only of this tenant: one of a server, or `local`, the command line
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<Tenant>,
}

/// Which page of a list is printed.
#[derive(Args)]
pub(crate) struct Paging {
    /// List at most this many
    #[arg(short = 'n', long, default_value_t = 50, value_name = "N")]
    pub(crate) limit: usize,
    /// Continue after this page: the cursor that the page before printed
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<Cursor>,
}

/// Whose signatures count.
#[derive(Args, Clone)]
pub(crate) struct Trusting {
    /// Trust this signer: a name of the trust store or of a key, or `KINDS=` and a signer id or a public key file (PEM, OpenSSH,
    /// JWK or JWK set), where KINDS are one or more of verification, acceptance, approval and decision, as in
    /// verification=ci.pem; can be repeated [default: the trust store and your own keys]
    #[arg(long, value_name = "SIGNER")]
    trust: Vec<String>,
}

/// A duration such as `90s` or `1h30m`, of at most `most`. Every option with a duration reads it here, so that a number without a
/// unit never means seconds in one command and minutes in another.
pub(crate) fn duration(text: &str, most: Duration) -> Result<Duration, String> {
    let millis = span_up_to(text, i64::try_from(most.as_millis()).unwrap_or(i64::MAX))?;
    Ok(Duration::from_millis(millis.unsigned_abs()))
}

/// How long a review counts, in milliseconds.
pub(crate) fn review_expiry(text: &str) -> Result<i64, String> {
    span_up_to(text, MAX_REVIEW)
}

fn span_up_to(text: &str, most: i64) -> Result<i64, String> {
    let millis = span::millis(text).ok_or("write a number with its unit, as in 90s, 5m or 1h30m")?;
    if millis > most { Err(format!("the longest is {}", span::words(most))) } else { Ok(millis) }
}

impl Paging {
    /// Says how a list goes on after this page, with the whole command: this one, with another cursor.
    pub(crate) fn say_more(next: Cursor) {
        let mut words = vec!["proofmark".to_owned()];
        let mut given = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = given.next() {
            if word == "--after" {
                drop(given.next());
            } else if !word.starts_with("--after=") {
                words.push(word);
            }
        }
        words.extend(["--after".to_owned(), next.to_string()]);
        out::note(format_args!("there are more: continue with `{}`", printable(&shell_words::line(&words))));
    }
}

impl Signing {
    /// The key named, or the default key; none where there is no default key yet.
    pub(crate) fn existing_key(&self, config: &Config) -> anyhow::Result<Option<SigningKey>> {
        if self.key.is_none() && !config.keyring().has(DEFAULT_KEY) {
            return Ok(None);
        }
        self.key(config).map(Some)
    }

    /// The key named; else the default key, which is created on first use.
    pub(crate) fn key(&self, config: &Config) -> anyhow::Result<SigningKey> {
        let keyring = config.keyring();
        match &self.key {
            Some(name) => {
                // Nobody would count what it signs.
                require_endless(&keyring, name)?;
                self.unlock.load(config, name)
            }
            None if keyring.has(DEFAULT_KEY) => {
                require_endless(&keyring, DEFAULT_KEY)?;
                self.unlock.load(config, DEFAULT_KEY)
            }
            None => {
                let key = match keyring.create(DEFAULT_KEY, self.unlock.passphrase(config)?.as_ref()) {
                    // Another process has created it meanwhile: hosts start all their servers at once.
                    Err(KeyringError::Exists(_)) => return self.unlock.load(config, DEFAULT_KEY),
                    created => created?,
                };
                let path = keyring.path(DEFAULT_KEY)?;
                out::announce(format_args!(
                    "created the signing key {} ({})",
                    path.display(),
                    key.signer().fingerprint()
                ));
                Ok(key)
            }
        }
    }
}

/// Refuses a key that has ended.
fn require_endless(keyring: &Keyring, name: &str) -> Result<(), KeyringError> {
    // Only a key of the keyring can have an end; the path of a file names none of them.
    let end = if keyring.has(name) { keyring.end(name)? } else { None };
    match end.filter(|end| end.unix_millis() <= now().unix_millis()) {
        Some(end) => Err(KeyringError::Ended { name: name.to_owned(), end }),
        None => Ok(()),
    }
}

impl Unlock {
    /// What `--passphrase-file` names.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.passphrase_file.as_deref()
    }

    /// The passphrase of the file named, else of the environment.
    pub(crate) fn passphrase(&self, config: &Config) -> anyhow::Result<Option<Passphrase>> {
        config.passphrase(self.passphrase_file.as_deref())
    }

    /// The key with this name, or in the file with this path.
    pub(crate) fn load(&self, config: &Config, name: &str) -> anyhow::Result<SigningKey> {
        let (key, _) = self.unlock(config, name, |passphrase| config.keyring().load(name, passphrase))?;
        Ok(key)
    }

    /// What `read` reads, and the passphrase it was read with. On a terminal, the passphrase of an encrypted key is asked for
    /// where none is given.
    pub(crate) fn unlock<T>(
        &self,
        config: &Config,
        name: &str,
        read: impl Fn(Option<&Passphrase>) -> Result<T, KeyringError>,
    ) -> anyhow::Result<(T, Option<Passphrase>)> {
        let given = self.passphrase(config)?;
        match read(given.as_ref()) {
            Err(error) if error.needs_passphrase() => passphrase::ask(name, error, read),
            read => Ok((read?, given)),
        }
    }
}

impl StoreAt {
    /// What `--store` names.
    pub(crate) fn given(&self) -> Option<&StorePlace> {
        self.store.as_ref()
    }

    pub(crate) fn place(&self, config: &Config) -> StorePlace {
        self.store.iter().for_each(|place| warn_of_password("--store", place));
        self.store.clone().unwrap_or_else(|| config.store_place())
    }

    /// Opens the store, which is created on first use.
    pub(crate) fn open(&self, config: &Config) -> anyhow::Result<Store> {
        Ok(Store::open(self.place(config))?.keep_ends(&config.ends())?)
    }

    /// Opens the store, if there is one.
    pub(crate) fn open_if_there(&self, config: &Config) -> anyhow::Result<Option<Store>> {
        match Store::open_existing(self.place(config)) {
            Err(StoreError::Missing { .. }) => Ok(None),
            opened => Ok(Some(opened?.keep_ends(&config.ends())?)),
        }
    }

    /// Opens the store to read it; it must exist.
    pub(crate) fn open_existing(&self, config: &Config) -> anyhow::Result<Store> {
        Ok(Store::open_existing(self.place(config))?.keep_ends(&config.ends())?)
    }
}

impl Trusting {
    /// What `--trust` names.
    pub(crate) fn named(&self) -> &[String] {
        &self.trust
    }

    /// Whom the command trusts.
    pub(crate) fn signers(&self, config: &Config) -> anyhow::Result<TrustedSigners> {
        self.among(&config.known_signers()?)
    }

    /// As [`Trusting::signers`], where the signers that the user knows are loaded.
    pub(crate) fn among(&self, known: &KnownSigners) -> anyhow::Result<TrustedSigners> {
        Ok(known.trusted(&self.trust)?)
    }

    /// As [`Trusting::signers`], for a command that reads decisions alone.
    pub(crate) fn deciders(&self, config: &Config) -> anyhow::Result<TrustedSigners> {
        self.among_for(&config.known_signers()?, Capabilities::only(Capability::Decision))
    }

    /// As [`Trusting::among`], for a command that reads documents of these kinds alone: no others need be named.
    pub(crate) fn among_for(&self, known: &KnownSigners, kinds: Capabilities) -> anyhow::Result<TrustedSigners> {
        Ok(known.trusted_as(&self.trust, kinds)?)
    }
}

/// A time, a day, or how long ago, in milliseconds after 1970-01-01T00:00:00Z.
fn moment(text: &str) -> Result<i64, &'static str> {
    if let Some(ago) = span::millis(text) {
        return Ok(now().unix_millis().saturating_sub(ago));
    }
    let time: Result<Timestamp, _> = text.parse().or_else(|_| format!("{text}T00:00:00Z").parse());
    time.map(|time| time.unix_millis()).map_err(|_| "write 2026-03-01, 2026-03-01T12:00:00Z, or how long ago: 2h, 7d")
}
