//! `proofmark hook`: what hosts start, and the commands that have them do so.

mod answer;
mod codex_server;
mod config_file;
mod doctor;
mod gaps;
mod host;
mod install;
mod plugin;
mod probe;
mod run;
mod run_bounded;
mod transcript;

use clap::{Args, Subcommand};

use self::run::HostName;
use crate::config::Config;
use crate::exit::Exit;

/// Have a coding agent's host ask before each tool and each stop
///
/// `install` writes this command into a host's configuration, `doctor` checks that it stops a call. The host starts it for each
/// event and writes the event to its standard input. The answer has exactly the form that the host takes. Whatever fails before
/// a tool is called is answered as a call that is not allowed.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  proofmark hook install claude --policy examples/hooks/agent.yaml
  proofmark hook claude --policy examples/hooks/agent.yaml < event.json

Exit codes: 0 the event was answered, also where the answer forbids the call; 2 wrong usage, which hosts take for a refusal."
)]
pub(crate) struct Hook {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::Run,
}

#[derive(Subcommand)]
enum Command {
    Install(install::Install),
    Uninstall(install::Uninstall),
    Doctor(doctor::Doctor),
}

impl Hook {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self.command {
            Some(Command::Install(command)) => command.run(config),
            Some(Command::Uninstall(command)) => command.run(),
            Some(Command::Doctor(command)) => command.run(),
            None => self.run.run(&config.for_hook()),
        }
    }
}
