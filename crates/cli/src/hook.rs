//! `proofmark hook`: what hosts start, and the commands that have them do so.

mod config_file;
mod doctor;
mod hook_server;
mod install;
mod probe;
mod run;
pub(crate) mod run_bounded;
mod send_records;
mod transcript;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use proofmark_hosts::{Host, Surroundings};

use crate::config::Config;
use crate::exit::Exit;

/// Decide for a coding agent, before it uses a tool and before it stops
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
  proofmark hook claude --policy examples/hooks/agent.yaml --otlp http://127.0.0.1:4318 < event.json

Exit codes: 0 the event was answered, even if the answer forbids the call; 2 wrong usage, which hosts treat as a refusal."
)]
pub(crate) struct Hook {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::Run,
}

#[derive(Subcommand)]
enum Command {
    Install(Box<install::Install>),
    Uninstall(install::Uninstall),
    Doctor(doctor::Doctor),
    #[command(hide = true)]
    SendRecords(send_records::SendRecords),
}

impl Hook {
    /// Whether it answers an event of a host.
    pub(crate) fn is_event(&self) -> bool {
        self.command.is_none()
    }

    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self.command {
            Some(Command::Install(command)) => command.run(config),
            Some(Command::Uninstall(command)) => command.run(config),
            Some(Command::Doctor(command)) => command.run(config),
            Some(Command::SendRecords(command)) => command.run(),
            None => self.run.run(config),
        }
    }
}

/// Reads the name of a host.
fn hosts() -> impl TypedValueParser<Value = &'static Host> {
    let names = Host::all().map(|host| host.name);
    PossibleValuesParser::new(names).try_map(|name| Host::named(&name).ok_or("it is not known"))
}

/// Where the user and the project of this process are.
fn surroundings() -> anyhow::Result<Surroundings> {
    let here = std::env::current_dir().context("find the current folder")?;
    // Hosts look for a project's configuration at the top of its repository.
    let project = here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&here).to_owned();
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = variable("HOME").map(PathBuf::from).context("find the home folder: HOME is not set")?;
    Ok(Surroundings { home, project, variable })
}

/// The commands of our hooks in a host's file.
pub(crate) fn commands_in(host: &'static Host, path: &Path, config: &Config) -> anyhow::Result<Vec<Vec<String>>> {
    let installed = config_file::ConfigFile::read(host, path, config)?.installed()?;
    Ok(installed.into_iter().map(|hook| hook.command).collect())
}

/// Whether a file is within a folder, after all links.
fn is_within(path: &Path, folder: &Path) -> bool {
    let existing = path.ancestors().find_map(|part| std::fs::canonicalize(part).ok());
    match (existing, std::fs::canonicalize(folder)) {
        (Some(existing), Ok(folder)) => existing.starts_with(folder),
        (_, _) => false,
    }
}
