//! `proofmark receipt`.

mod export;
mod list;
mod page;
pub(crate) mod read;
mod show;
mod verify;

use clap::Subcommand;

use crate::config::Config;
use crate::exit::Exit;

/// Verify, show, list and export receipts
#[derive(Subcommand)]
pub(crate) enum Receipt {
    /// Verify receipts offline: format, hash, signature, signer
    Verify(verify::Verify),
    /// Show a receipt, an approval, a decision or a chain head as a page
    Show(show::Show),
    /// List the receipts in the store, newest first
    List(list::List),
    /// Print stored receipts, a chain, all decisions, or a signed chain head
    Export(export::Export),
}

impl Receipt {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Receipt::Verify(command) => command.run(config),
            Receipt::Show(command) => command.run(config),
            Receipt::List(command) => command.run(config),
            Receipt::Export(command) => command.run(config),
        }
    }
}
