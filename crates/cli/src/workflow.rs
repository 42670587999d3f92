//! `proofmark workflow`.

mod test;

use clap::Subcommand;

use crate::exit::Exit;

/// Test workflows
#[derive(Subcommand)]
pub(crate) enum Workflow {
    Test(test::Test),
}

impl Workflow {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Workflow::Test(command) => command.run(),
        }
    }
}
