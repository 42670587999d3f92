//! `proofmark log`.

mod add;
mod fsck;
mod init;
mod mirror;
mod monitor;
mod prove;
mod show;
mod verify;
mod witness;

use std::sync::Arc;

use clap::Subcommand;
use proofmark_log::{LogKeeper, Published, Witnesses};
use proofmark_server::LogClient;
use proofmark_store::Store;
use proofmark_tlog::Policy;
use proofmark_verifier::now;

use crate::config::Config;
use crate::exit::Exit;
use crate::logs::{home, signer};
use crate::options::Unlock;
use crate::out;
use crate::paint::printable;

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

/// The witnesses of a policy, asked over HTTP.
fn witnesses(policy: Option<&Policy>) -> anyhow::Result<Option<Witnesses>> {
    let Some(policy) = policy.filter(|policy| policy.witnesses().iter().any(|witness| witness.url.is_some())) else {
        return Ok(None);
    };
    let client = Arc::new(LogClient::new()?);
    Ok(Some(Witnesses::new(policy.witnesses(), Box::new(move |url, body| client.post(url, body)))))
}

/// The last checkpoint, signed now if anything is new, with the cosignatures that could be had. Who did not cosign is told.
fn cosigned(keeper: &LogKeeper<'_>) -> anyhow::Result<Published> {
    let published = keeper.publish()?;
    let cosigning = keeper.cosign(&published, now().unix_seconds())?;
    for (witness, reason) in &cosigning.missing {
        out::note(format!("warning: the witness `{}` did not cosign: {}", printable(witness), printable(reason)));
    }
    if cosigning.cosigned == 0 { Ok(published) } else { Ok(keeper.publish()?) }
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
