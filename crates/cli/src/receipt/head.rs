//! `proofmark receipt head`.

use std::io::Write;

use clap::Args;
use proofmark_store::Tenant;
use proofmark_verifier::{chain_head, decisions_head};

use crate::config::Config;
use crate::exit::Exit;
use crate::options::{Signing, StoreAt};
use crate::out;

/// Print the signed head of a chain: its length and its last receipt
///
/// Keep the head elsewhere: with it, `proofmark receipt verify --as-chain --head` finds receipts that are missing at the end.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark receipt head --chain nightly > head.json
  proofmark receipt head --decisions > head.json")]
pub(crate) struct Head {
    /// The head of this chain
    #[arg(long, value_name = "NAME", required_unless_present = "decisions", conflicts_with = "decisions")]
    chain: Option<String>,
    /// The tenant of the chain: one of a server, or `local`, the command line
    #[arg(long, value_name = "TENANT", requires = "chain", default_value_t = Tenant::LOCAL)]
    tenant: Tenant,
    /// The head of all decisions: they are one chain
    #[arg(long)]
    decisions: bool,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    store: StoreAt,
}

impl Head {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let key = self.signing.key(config)?;
        let head = match &self.chain {
            Some(chain) => chain_head(&store.of(&self.tenant), chain, &key)?,
            None => decisions_head(&store, &key)?,
        };
        writeln!(out::stdout(), "{}", head.to_text())?;
        Ok(Exit::Yes)
    }
}
