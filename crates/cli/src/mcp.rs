//! `proofmark mcp`.

use std::io::Write;

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use proofmark_receipt::{Json, Object, object};
use proofmark_server::serve_stdio;

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::out;
use crate::serve::ServiceOptions;

/// Serve an agent over the Model Context Protocol, on standard input and output
///
/// An MCP host starts this command; `proofmark mcp config` prints the host's configuration. The tool `decide_action`
/// needs `--action-policy`. Standard output carries protocol messages only.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  proofmark mcp config --host vscode
  proofmark mcp --action-policy examples/decide/policy.yaml
  npx @modelcontextprotocol/inspector --cli proofmark mcp --method tools/list"
)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    service: ServiceOptions,
}

#[derive(Subcommand)]
enum Command {
    /// Print the configuration of an MCP host
    Config(HostConfig),
}

impl Mcp {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        if let Some(Command::Config(command)) = self.command {
            return command.run();
        }
        // Named, because `_` would drop the log at once; it must live as long as the server.
        let _log = self.service.log()?;
        let (services, files) = self.service.services(config)?;
        serve_stdio(services, files)?;
        Ok(Exit::Yes)
    }
}

/// Print the configuration of an MCP host
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark mcp config --host claude > .mcp.json
  proofmark mcp config --host vscode -- --action-policy /srv/policy.yaml
  proofmark mcp config --host cursor --http http://127.0.0.1:8700/mcp")]
struct HostConfig {
    /// The host: `claude` is Claude Code with its .mcp.json
    #[arg(long, value_enum, default_value_t = HostName::Claude)]
    host: HostName,
    /// Connect to the server at this URL instead of starting a program
    #[arg(long, value_name = "URL", conflicts_with = "arguments")]
    http: Option<String>,
    /// Options of `proofmark mcp`, after --
    #[arg(last = true, value_name = "OPTION")]
    arguments: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum HostName {
    Claude,
    ClaudeDesktop,
    Cursor,
    Vscode,
    Windsurf,
}

impl HostConfig {
    fn run(self) -> anyhow::Result<Exit> {
        let server = match &self.http {
            None => self.program()?,
            Some(url) => self.address(url)?,
        };
        let servers = object! { "proofmark": server };
        let configuration = match self.host {
            HostName::Vscode => object! { "servers": servers },
            HostName::Claude | HostName::ClaudeDesktop | HostName::Cursor | HostName::Windsurf => {
                object! { "mcpServers": servers }
            }
        };
        writeln!(out::stdout(), "{}", Json::from(configuration).to_text())?;
        Ok(Exit::Yes)
    }

    /// A server that the host starts.
    fn program(&self) -> anyhow::Result<Object> {
        let path = std::env::current_exe().context("find the path of this program")?;
        let path =
            path.into_os_string().into_string().ok().context("write the path of this program: it is not UTF-8")?;
        let arguments = ["mcp"].into_iter().chain(self.arguments.iter().map(String::as_str));
        let kind = matches!(self.host, HostName::Claude | HostName::Vscode).then_some("stdio");
        Ok(object! { "type"?: kind, "command": path, "args": arguments.map(Json::from).collect::<Vec<_>>() })
    }

    /// A server that the host connects to.
    fn address(&self, url: &str) -> anyhow::Result<Object> {
        match self.host {
            HostName::Claude | HostName::Vscode => Ok(object! { "type": "http", "url": url }),
            HostName::Cursor => Ok(object! { "url": url }),
            HostName::Windsurf => Ok(object! { "serverUrl": url }),
            HostName::ClaudeDesktop => Err(with_help(
                "configure `claude-desktop` for a URL: its configuration file only starts programs",
                "add the URL as a connector in its settings",
            )),
        }
    }
}
