//! `proofmark mcp`.

mod host;

use std::io::{self, IsTerminal};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use proofmark_server::serve_stdio;

use self::host::HostConfig;
use crate::config::Config;
use crate::exit::Exit;
use crate::out;
use crate::serve::ServiceOptions;

/// Serve an agent over the Model Context Protocol, on standard input and output
///
/// An MCP host starts this command; `proofmark mcp config` prints the host's configuration. The tool `decide_action`
/// needs `--policy`. Standard output carries protocol messages only.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  proofmark mcp config vscode
  proofmark mcp --policy examples/decide/policy.yaml
  npx @modelcontextprotocol/inspector --cli proofmark mcp --method tools/list"
)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    service: ServiceOptions,
}

/// For a person who starts it by hand.
const ON_A_TERMINAL: &str =
    "proofmark mcp answers an MCP host (an agent), which starts it and writes to its standard input.
  proofmark mcp config claude   prints the configuration for a host
  Ctrl-D                               ends it";

#[derive(Subcommand)]
enum Command {
    /// Print the configuration of an MCP host, or add it to the host's file
    Config(HostConfig),
}

impl Mcp {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        if let Some(Command::Config(command)) = self.command {
            return command.run(config);
        }
        if io::stdin().is_terminal() {
            out::note(ON_A_TERMINAL);
        }
        // The log has a name, because `_` would drop it at once; it must live as long as the server.
        let _log = self.service.log()?;
        let (services, files) = self.service.services(config)?;
        serve_stdio(services, files).context("serve the standard streams")?;
        Ok(Exit::Yes)
    }
}
