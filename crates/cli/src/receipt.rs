//! `proofmark receipt`.

mod demands;
mod export;
mod exported;
mod head;
mod list;
mod logged;
pub(crate) mod page;
mod printing;
pub(crate) mod read;
mod response;
mod show;
mod tiers;
mod verify;

use clap::Subcommand;

use crate::config::Config;
use crate::exit::Exit;

/// Verify, show, list and export receipts
#[derive(Subcommand)]
pub(crate) enum Receipt {
    Verify(verify::Verify),
    Show(show::Show),
    List(list::List),
    Export(export::Export),
    Head(head::Head),
}

impl Receipt {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Receipt::Verify(command) => command.run(config),
            Receipt::Show(command) => command.run(config),
            Receipt::List(command) => command.run(config),
            Receipt::Export(command) => command.run(config),
            Receipt::Head(command) => command.run(config),
        }
    }
}
