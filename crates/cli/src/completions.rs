//! `proofmark completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::Exit;
use crate::out;

/// Print a shell completion script
#[derive(Args)]
#[command(
    after_help = "Examples:\n  source <(proofmark completions bash)\n  proofmark completions fish > proofmark.fish"
)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Arguments::command(), "proofmark", &mut script);
        std::io::Write::write_all(&mut out::stdout(), &script)?;
        Ok(Exit::Yes)
    }
}
