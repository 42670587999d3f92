//! `proofmark log`.

mod add;
mod fsck;
mod init;
mod mirror;
mod monitor;
mod prove;
mod show;
pub(crate) mod trust;
pub(crate) mod verify;
mod witness;

use std::sync::Arc;

use clap::Subcommand;
use proofmark_log::{LogHome, LogKeeper, Witnesses};
use proofmark_receipt::SigningKey;
use proofmark_server::LogClient;
use proofmark_store::Store;
use proofmark_tlog::{LogSigner, Policy};

use crate::config::Config;
use crate::exit::Exit;
use crate::options::Unlock;

/// Keep, prove, copy and watch the transparency log of the store
#[derive(Subcommand)]
pub(crate) enum Log {
    Init(init::Init),
    Show(show::Show),
    Add(add::Add),
    Prove(prove::Prove),
    Verify(verify::Verify),
    Fsck(fsck::Fsck),
    Mirror(mirror::Mirror),
    Monitor(monitor::Monitor),
    Witness(witness::Witness),
}

impl Log {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Log::Init(command) => command.run(config),
            Log::Show(command) => command.run(config),
            Log::Add(command) => command.run(config),
            Log::Prove(command) => command.run(config),
            Log::Verify(command) => command.run(config),
            Log::Fsck(command) => command.run(config),
            Log::Mirror(command) => command.run(config),
            Log::Monitor(command) => command.run(config),
            Log::Witness(command) => command.run(config),
        }
    }
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

/// The witnesses of a policy, asked over HTTP.
pub(crate) fn witnesses(policy: Option<&Policy>) -> anyhow::Result<Option<Witnesses>> {
    let Some(policy) = policy.filter(|policy| policy.witnesses().iter().any(|witness| witness.url.is_some())) else {
        return Ok(None);
    };
    let client = Arc::new(LogClient::new()?);
    Ok(Some(Witnesses::new(policy.witnesses(), Box::new(move |url, body| client.post(url, body)))))
}

/// Signs for the log of this store.
fn keeper<'s>(
    config: &Config,
    unlock: &Unlock,
    store: &'s Store,
    witnesses: Option<&'s Witnesses>,
) -> anyhow::Result<LogKeeper<'s>> {
    let keeper = LogKeeper::new(store, home(config), signer(config, unlock)?);
    Ok(match witnesses {
        Some(witnesses) => keeper.with_witnesses(witnesses),
        None => keeper,
    })
}
