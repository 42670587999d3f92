//! `proofmark store accept-loss`.

use std::io::Write;

use clap::Args;
use proofmark_receipt::{Json, Object, object};
use proofmark_store::Loss;

use crate::config::Config;
use crate::confirm::confirm;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::paint::printable;

/// Have chains go on that have lost their ends
///
/// Beside the keys, `$PROOFMARK_HOME` says how far each chain of a store was signed from there. A chain that ends before that, or has
/// another document there, is not extended: the store is an older copy, or its database lost commits. Where what is missing cannot be
/// restored, this command prints what each chain has lost, and has it go on from what is stored. The next document of the chain states the
/// loss, and `proofmark receipt verify --as-chain` shows it.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark store accept-loss
  proofmark store accept-loss --yes --json

Exit codes: 0 accepted, or nothing is lost; 1 not accepted; 2 the store could not be read.")]
pub(crate) struct AcceptLoss {
    #[command(flatten)]
    store: StoreAt,
    /// Accept without being asked
    #[arg(long)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl AcceptLoss {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let losses = store.losses()?;
        let place = self.store.place(config).to_string();
        losses
            .iter()
            .for_each(|loss| out::note(format!("{}: {}", printable(&loss.chain()), printable(&loss.to_string()))));
        let is_accepted = losses.is_empty() || confirm("accept", "the loss", self.yes)?;
        if is_accepted {
            store.accept_losses(&losses)?;
        }
        let mut out = out::stdout();
        if self.json {
            let losses: Vec<Json> = losses.iter().map(|loss| object_of(loss).into()).collect();
            out.json(&object! { "store": place, "accepted": is_accepted, "losses": losses }.to_text())?;
        } else {
            let what = match (losses.len(), is_accepted) {
                (0, _) => "no chain has lost anything that was signed from here",
                (_, true) => "accepted: the next document of each chain states what was lost",
                (_, false) => "not accepted",
            };
            writeln!(out, "{what}")?;
        }
        Ok(if is_accepted { Exit::Yes } else { Exit::No })
    }
}

fn object_of(loss: &Loss) -> Object {
    let lost = loss.lost();
    object! {
        "chain": loss.chain(),
        "tenant" ?: loss.tenant().map(|tenant| tenant.to_string()),
        "position": lost.position,
        "hash": lost.hash.to_string(),
        "stored_position" ?: loss.stored.as_ref().map(|stored| stored.position),
        "stored_hash" ?: loss.stored.as_ref().map(|stored| stored.hash.to_string()),
    }
}
