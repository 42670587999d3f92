//! `proofmark mcp config`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser};
use proofmark_hosts::Servers;
use proofmark_receipt::{Json, Object, object};

use crate::absolute::{absolute_options, named_home};
use crate::config::Config;
use crate::error::{with_help, wrong_arguments};
use crate::exit::Exit;
use crate::host_file::HostFile;
use crate::out;
use crate::paint::printable;
use crate::serve::ServiceOptions;

/// The name of this server in a configuration.
const NAME: &str = "proofmark";
/// The ending of the file that keeps the earlier configuration.
const BACKUP: &str = "bak";

/// Print the configuration of an MCP host, or add it to the host's file
///
/// The options of `proofmark mcp`, after --, are checked as it would, and files are written as absolute paths, because a host
/// starts programs in another folder. PROOFMARK_HOME is written if it is set.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark mcp config claude --into .mcp.json
  proofmark mcp config vscode -- --policy examples/decide/policy.yaml
  proofmark mcp config cursor --http http://127.0.0.1:8700/mcp --api-key-from PROOFMARK_API_KEY")]
pub(super) struct HostConfig {
    /// The host: `claude` is Claude Code with its .mcp.json
    #[arg(value_name = "HOST", default_value = "claude", value_parser = programs())]
    host: &'static Servers,
    /// Add it to this file of the host, which is created if needed; what was there before is kept as FILE.bak
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    /// Connect to the server at this URL instead of starting a program
    #[arg(long, value_name = "URL", conflicts_with = "arguments")]
    http: Option<String>,
    /// With --http: let the host send the API key that it has in this environment variable
    #[arg(long, value_name = "VARIABLE", requires = "http")]
    api_key_from: Option<String>,
    /// Options of `proofmark mcp`, after --
    #[arg(last = true, value_name = "OPTION")]
    arguments: Vec<String>,
}

/// The arguments of `proofmark mcp`, read as it reads them.
#[derive(Parser)]
#[command(name = "proofmark mcp", no_binary_name = true)]
struct Started {
    #[command(flatten)]
    service: ServiceOptions,
}

impl HostConfig {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let server = match &self.http {
            None => self.program(config)?,
            Some(url) => self.address(url)?,
        };
        match &self.into {
            None => writeln!(out::stdout(), "{}", self.configuration(server).to_pretty())?,
            Some(path) => self.add(server, path)?,
        }
        Ok(Exit::Yes)
    }

    fn configuration(&self, server: Object) -> Json {
        let mut configuration = Object::new();
        configuration.insert(self.host.member, object! { "proofmark": server });
        configuration.into()
    }

    /// Adds the server to the configuration in this file, and keeps everything else in it.
    fn add(&self, server: Object, path: &Path) -> anyhow::Result<()> {
        let shown = printable(&path.display().to_string());
        let refuse = |why: String| {
            with_help(
                format!("change the configuration `{}`: {why}", path.display()),
                "leave out `--into`, and add what is printed by hand",
            )
        };
        let file = HostFile::read(path, self.host.has_comments)?;
        let mut document = file.document().map_err(|error| refuse(format!("it is not plain JSON ({error})")))?;
        let server = Json::from(server);
        document.put(&[self.host.member, NAME], &server).map_err(|error| refuse(error.to_string()))?;
        if file.before().is_some_and(|before| before == document.text().as_bytes()) {
            out::note(format_args!("{shown} has this server already"));
            return Ok(());
        }
        if let Some(before) = file.before() {
            file.keep(&file.beside(BACKUP), before)?;
        }
        file.write(document.text())?;
        out::note(format_args!("{shown} has the server `{NAME}`; restart the host to use it"));
        Ok(())
    }

    /// A server that the host starts.
    fn program(&self, config: &Config) -> anyhow::Result<Object> {
        let path = std::env::current_exe().context("find the path of this program")?;
        let path =
            path.into_os_string().into_string().ok().context("write the path of this program: it is not UTF-8")?;
        let Started { service } =
            Started::try_parse_from(&self.arguments).map_err(|error| wrong_arguments("proofmark mcp", &error))?;
        service.check_policies()?;
        let arguments = absolute_options(&self.arguments, config)?;
        let arguments = ["mcp".to_owned()].into_iter().chain(arguments).map(Json::from);
        let home = named_home(config)?.map(|home| object! { "PROOFMARK_HOME": home });
        Ok(
            object! { "type"?: self.host.program_type, "command": path, "args": arguments.collect::<Vec<_>>(), "env"?: home },
        )
    }

    /// A server that the host connects to.
    fn address(&self, url: &str) -> anyhow::Result<Object> {
        if !["http://", "https://"].iter().any(|scheme| url.len() > scheme.len() && url.starts_with(scheme)) {
            return Err(with_help(
                format!("connect to `{}`: it is not a URL", printable(url)),
                "write one like http://127.0.0.1:8700/mcp",
            ));
        }
        let headers = self.api_key_from.as_deref().map(|variable| self.headers(variable)).transpose()?;
        match self.host.address {
            Some(address) => Ok(address(url, headers)),
            None => Err(with_help(
                format!("configure `{}` for a URL: its configuration file only starts programs", self.host.name),
                "add the URL as a connector in its settings",
            )),
        }
    }

    /// The header with the key, which the host takes from its environment: no secret is written into its file.
    fn headers(&self, variable: &str) -> anyhow::Result<Object> {
        if variable.is_empty() || !variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(with_help(
                format!("use the variable `{}`: invalid name", printable(variable)),
                "give the name of a variable, as in `--api-key-from PROOFMARK_API_KEY`, and not the key",
            ));
        }
        Ok(object! { "Authorization": format!("Bearer {}", (self.host.variable)(variable)) })
    }
}

/// Reads the name of a program whose file has MCP servers.
fn programs() -> impl TypedValueParser<Value = &'static Servers> {
    let names = Servers::all().into_iter().map(|servers| servers.name);
    PossibleValuesParser::new(names).try_map(|name| Servers::named(&name).ok_or("it is not known"))
}
