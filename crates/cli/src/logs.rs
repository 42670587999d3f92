//! The log of this home, and which logs and witnesses are trusted.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Args;
use proofmark_log::LogHome;
use proofmark_receipt::SigningKey;
use proofmark_tlog::{KeyType, LogSigner, MAX_POLICY_BYTES, Policy, Vkey};

use crate::config::Config;
use crate::error::with_help;
use crate::input;
use crate::options::Unlock;

/// Which logs are trusted, and which witnesses are enough.
#[derive(Args)]
pub(crate) struct LogTrust {
    /// Trust the log with this verifier key, as `proofmark log show` prints it; can be repeated [default: this home's own log]
    #[arg(long, value_name = "VKEY", value_parser = log_key)]
    log_key: Vec<Vkey>,
    /// The logs and witnesses that are trusted, and how many witnesses have to cosign: a policy in the form of C2SP tlog-policy
    #[arg(long, value_name = "FILE")]
    log_policy: Option<PathBuf>,
}

/// [`LogTrust`], read.
pub(crate) struct TrustedLogs {
    pub(crate) keys: Vec<Vkey>,
    pub(crate) policy: Option<Policy>,
}

/// The key of a log: one of a witness signs no checkpoint.
fn log_key(text: &str) -> Result<Vkey, String> {
    let key: Vkey = text.parse().map_err(|error: proofmark_tlog::VkeyError| error.to_string())?;
    match key.key_type() {
        KeyType::Note => Ok(key),
        KeyType::Cosignature => Err("it is the key of a witness or a mirror; name witnesses in a policy".to_owned()),
    }
}

impl LogTrust {
    /// Whether a log is named.
    pub(crate) fn is_named(&self) -> bool {
        !self.log_key.is_empty() || self.log_policy.is_some()
    }

    /// Reads the policy. Where neither is given, the log of this home is trusted.
    pub(crate) fn read(&self, config: &Config) -> anyhow::Result<TrustedLogs> {
        let policy = self.policy()?;
        let mut keys = self.log_key.clone();
        if keys.is_empty() && policy.is_none() {
            let home = home(config);
            if home.origin()?.is_none() {
                return Err(with_help(
                    "verify the log: no log is trusted",
                    "name its key with `--log-key`, as `proofmark log show` prints it, or a policy with `--log-policy`",
                ));
            }
            keys = home.vkeys()?;
        }
        Ok(TrustedLogs { keys, policy })
    }

    /// The policy, where one is named.
    pub(crate) fn policy(&self) -> anyhow::Result<Option<Policy>> {
        self.log_policy.as_deref().map(policy_file).transpose()
    }
}

impl TrustedLogs {
    /// The keys of all logs that are trusted.
    pub(crate) fn vkeys(&self) -> Vec<Vkey> {
        let of_policy = self.policy.iter().flat_map(Policy::logs).map(|log| log.key.clone());
        self.keys.iter().cloned().chain(of_policy).collect()
    }
}

/// A policy in a file.
pub(crate) fn policy_file(path: &std::path::Path) -> anyhow::Result<Policy> {
    let bytes = input::read_limited(path, MAX_POLICY_BYTES as u64)?;
    let context = || format!("read the log policy `{}`", path.display());
    Policy::parse(&bytes).map_err(|error| anyhow!(error)).with_context(context)
}

/// The log of this home.
pub(crate) fn home(config: &Config) -> LogHome {
    LogHome::of(&config.home)
}

/// The key of the log. On a terminal, the passphrase of an encrypted one is asked for.
pub(crate) fn key(config: &Config, unlock: &Unlock) -> anyhow::Result<SigningKey> {
    let home = home(config);
    let name = home.key_name()?;
    let (key, _) = unlock.unlock(config, &name, |passphrase| home.keyring().load(&name, passphrase))?;
    Ok(key)
}

/// What signs for the log.
pub(crate) fn signer(config: &Config, unlock: &Unlock) -> anyhow::Result<LogSigner> {
    Ok(home(config).signer_of(&key(config, unlock)?)?)
}
