//! `proofmark workflow`.

mod accept;
mod test;

use clap::Subcommand;

use crate::config::Config;
use crate::exit::Exit;

/// Judge responses to workflow steps by their contracts, and test workflows
///
/// `proofmark lint` checks workflows for mistakes; `proofmark run` shows what was judged.
#[derive(Subcommand)]
pub(crate) enum Workflow {
    Accept(Box<accept::Accept>),
    Test(test::Test),
}

impl Workflow {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Workflow::Accept(command) => command.run(config),
            Workflow::Test(command) => command.run(),
        }
    }
}
