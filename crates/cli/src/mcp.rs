//! `proofmark mcp`.

use std::io::Write;

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use proofmark_receipt::{Json, Object};
use proofmark_server::serve_stdio;

use crate::config::Config;
use crate::exit::Exit;
use crate::out;
use crate::serve::Answers;

/// Serve an agent over the Model Context Protocol, on the standard streams
///
/// An MCP host starts this command; `proofmark mcp config` prints what to write into its configuration. With a policy
/// there is a tool for decisions, too. Standard output holds messages alone.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  proofmark mcp config --host vscode
  proofmark mcp --policy examples/decide/policy.yaml
  npx @modelcontextprotocol/inspector --cli proofmark mcp --method tools/list"
)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    answers: Answers,
}

#[derive(Subcommand)]
enum Command {
    /// Print what to write into a host's configuration
    Config(HostConfig),
}

impl Mcp {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        if let Some(Command::Config(command)) = self.command {
            return command.run();
        }
        let _log = self.answers.log()?;
        serve_stdio(self.answers.services(config)?)?;
        Ok(Exit::Yes)
    }
}

/// Print what to write into a host's configuration
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark mcp config --host claude > .mcp.json
  proofmark mcp config --host vscode -- --policy /srv/policy.yaml
  proofmark mcp config --host cursor --http http://127.0.0.1:8700/mcp")]
struct HostConfig {
    /// The host: `.mcp.json` of Claude Code, claude_desktop_config.json, mcp.json of the others
    #[arg(long, value_enum, default_value_t = HostName::Claude)]
    host: HostName,
    /// Reach a server at this URL instead of starting a program
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
        let mut server = Object::new();
        match &self.http {
            None => self.program(&mut server)?,
            Some(url) => self.address(&mut server, url)?,
        }
        let mut servers = Object::new();
        servers.insert("proofmark", server);
        let mut whole = Object::new();
        whole.insert(if matches!(self.host, HostName::Vscode) { "servers" } else { "mcpServers" }, servers);
        writeln!(out::stdout(), "{}", Json::from(whole).to_text())?;
        Ok(Exit::Yes)
    }

    fn program(&self, server: &mut Object) -> anyhow::Result<()> {
        let path = std::env::current_exe().context("find the path of this program")?;
        let path =
            path.into_os_string().into_string().ok().context("write the path of this program: it is not UTF-8")?;
        if matches!(self.host, HostName::Claude | HostName::Vscode) {
            server.insert("type", "stdio");
        }
        server.insert("command", path);
        let arguments = ["mcp"].into_iter().chain(self.arguments.iter().map(String::as_str));
        server.insert("args", arguments.map(Json::from).collect::<Vec<_>>());
        Ok(())
    }

    fn address(&self, server: &mut Object, url: &str) -> anyhow::Result<()> {
        match self.host {
            HostName::Claude | HostName::Vscode => {
                server.insert("type", "http");
                server.insert("url", url);
            }
            HostName::Cursor => drop(server.insert("url", url)),
            HostName::Windsurf => drop(server.insert("serverUrl", url)),
            HostName::ClaudeDesktop => {
                anyhow::bail!(
                    "configure `claude-desktop` for a URL: its file starts programs only; add the URL as a connector"
                )
            }
        }
        Ok(())
    }
}
