//! `proofmark guard`.

mod http;
mod lines;
mod pins;
mod reload;
mod server_pipes;
mod servers_file;
mod stdio;
mod watch;
pub(crate) mod wrap;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use proofmark_agents::{NewGuard, RemoteGuard, RemoteJudges, Server};
use proofmark_decider::{Decider, Guard as Guarded, LocalJudges, MAX_REQUEST, Owner};
use proofmark_guard::{Pinning, Settings as GuardSettings};
use proofmark_otlp::OtlpEndpoint;
use proofmark_proxy::Upstream;
use proofmark_sandbox::hide_from_account;
use proofmark_server::LogFormat;
use proofmark_session::Keep;
use proofmark_verifier::now;

use crate::config::Config;
use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::host_process;
use crate::options::{Recording, Signing, StoreAt, Trusting, duration};
use crate::out;
use crate::paint::printable;
use crate::remote::{NOT_APART, OF_A_DECIDER, Remote};
use crate::telling;

/// Stand between an MCP host and an MCP server: every call is decided before the server gets it
///
/// The host starts this command in place of the server's, or calls it in place of the server at a URL. A call that the policy
/// does not allow is answered with the reason and what to do; the server never sees it. What passes is recorded as a session.
/// Standard input and output carry the protocol; what a server that was started writes to standard error is passed on.
#[derive(Args)]
#[command(
    mut_arg("server", |server| server.conflicts_with_all(OF_A_DECIDER)),
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  proofmark guard --policy examples/guard/policy.yaml -- python3 examples/guard/server.py
  proofmark guard wrap .mcp.json --policy examples/guard/policy.yaml
  proofmark guard pin list --waiting
  proofmark guard --policy examples/guard/policy.yaml --listen 127.0.0.1:8700 --upstream http://127.0.0.1:3001/mcp
  proofmark guard --policy examples/guard/policy.yaml --otlp http://127.0.0.1:4318 -- python3 examples/guard/server.py

Exit codes: the server's; 2 the policy, the key or the store could not be used, and no server was started or guarded. With
--upstream 0 after SIGTERM."
)]
pub(crate) struct Guard {
    #[command(subcommand)]
    command: Option<Command>,
    /// The action policy
    // The policy is required, and never taken from the project or a variable: the guarded agent could write or set that.
    #[arg(long, value_name = "FILE", required_unless_present = "server")]
    policy: Option<PathBuf>,
    /// The name of the session [default: the server's name and the time]. Over HTTP, this is the session of every client. `per-launch`
    /// is one session for all guards and hooks that the same start of a host has started
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// What the server is called in the policy, in pins and in sessions [default: taken from its command or its URL]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The agent, as the policy's facts name it
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// The environment, as the policy's facts name it
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// Whether tools are pinned when they are first listed, or blocked until `proofmark guard pin approve`
    #[arg(long, value_enum, default_value = "learn", value_name = "HOW", conflicts_with = "server")]
    pins: PinningName,
    /// How much of a result is recorded: its digest, also how it begins, or all of it
    #[arg(long, value_enum, default_value = "excerpt", value_name = "HOW")]
    keep: KeepName,
    /// Leave tools that the policy never allows out of the server's lists
    #[arg(long)]
    hide: bool,
    /// Enforce nothing: decide and record as usual, and forward what the policy blocks
    #[arg(long, conflicts_with_all = ["hide", "server"])]
    shadow: bool,
    /// What the user has asked the agent for, as a text file that the agent cannot write. Rules may ask whether a value comes from it
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    request: Option<PathBuf>,
    /// Let a call that asks for an approval wait this long for it, where the client takes notifications of progress
    #[arg(long, value_name = "DURATION", value_parser = waiting)]
    wait: Option<Duration>,
    /// Export spans of calls and of MCP requests to this OpenTelemetry collector, over OTLP/HTTP; a server that decides has its own
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    otlp: Option<OtlpEndpoint>,
    #[command(flatten)]
    remote: Remote,
    #[command(flatten)]
    http: http::HttpOptions,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    store: StoreAt,
    #[command(flatten)]
    recording: Recording,
    /// The server's command and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "upstream")]
    server_command: Vec<String>,
}

#[derive(Subcommand)]
enum Command {
    /// List and approve pinned definitions of tools, prompts and servers
    #[command(subcommand)]
    Pin(pins::PinsCommand),
    Wrap(wrap::Wrap),
    Unwrap(wrap::Unwrap),
    #[command(hide = true)]
    WatchServer(watch::WatchServer),
}

/// Whether definitions are pinned when they are first listed.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum PinningName {
    Learn,
    Locked,
}

/// How much of a result is recorded.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum KeepName {
    Digest,
    Excerpt,
    Full,
}

/// The longest name of a session or a server, in bytes.
const MAX_NAME: usize = 128;
/// The longest that a call may wait for an approval.
const MAX_WAIT: Duration = Duration::from_secs(3_600);

/// The text of a file with the user's request.
pub(crate) fn request(file: &Path) -> anyhow::Result<String> {
    let read = || -> anyhow::Result<String> {
        let mut text = String::new();
        std::fs::File::open(file)?.take(MAX_REQUEST as u64 + 1).read_to_string(&mut text)?;
        anyhow::ensure!(text.len() <= MAX_REQUEST, "it is longer than {MAX_REQUEST} bytes; write what is asked for");
        anyhow::ensure!(!text.trim().is_empty(), "it is empty; write what the user asked for");
        Ok(text)
    };
    read().with_context(|| format!("read the request in {}", file.display()))
}

fn waiting(text: &str) -> Result<Duration, String> {
    duration(text, MAX_WAIT)
}

impl Guard {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self.command {
            Some(Command::Pin(command)) => return command.run(config),
            Some(Command::Wrap(command)) => return command.run(config),
            Some(Command::Unwrap(command)) => return command.run(config),
            Some(Command::WatchServer(command)) => return Ok(command.run()),
            None => {}
        }
        // The agent and the server run as the same account.
        hide_from_account().context("hide the memory of this process")?;
        let upstream = self.http.upstream(config)?;
        let server = match (&self.name, &upstream) {
            (Some(name), _) => name.clone(),
            (None, Some(upstream)) => upstream.name(),
            (None, None) => server_name(&self.server_command),
        };
        let given = self.session.as_deref().map(host_process::session).transpose()?;
        let session = given.unwrap_or_else(|| format!("{server} {}", now()));
        for (name, option) in [(&server, "--name"), (&session, "--session")] {
            check_name(name, option)?;
        }
        if let Some(decides) = self.remote.server(config)? {
            return self.run_remote(decides, server, session, upstream);
        }
        let Some(policy_file) = &self.policy else { return Ok(Exit::NoAnswer) };
        // Before the guard begins, because the guard checks whether there is a collector.
        let telling = match upstream {
            Some(_) => Some(telling::tell(self.otlp.clone(), LogFormat::Text, false)?),
            None => telling::tell_only(self.otlp.as_ref())?,
        };
        let policy = document::action_policy(policy_file)?;
        let key = self.signing.key(config)?;
        let trusted = self.trusting.signers(config)?;
        let decider = Decider::for_command_line(Some(policy), key, self.store.open(config)?, trusted);
        let decider = Arc::new(decider.recording_facts(self.recording.record_facts));
        let settings = GuardSettings {
            session,
            server,
            // Over HTTP nobody starts a guard for a host, so it is the start of the guard that counts.
            process: process(upstream.as_ref()),
            origin: self.origin(),
            agent: self.agent,
            environment: self.environment,
            keep: self.keep.into(),
            hide: self.hide,
            shadow: self.shadow,
            wait: self.wait.unwrap_or_default(),
            request: self.request.as_deref().map(request).transpose()?,
        };
        if self.shadow {
            out::note("proofmark guard: shadow mode: calls are decided and recorded, and nothing is enforced");
        }
        out::note(format_args!("proofmark guard: {NOT_APART}"));
        let pinning = self.pins.into();
        let mut reload = reload::Reload::new(policy_file.clone(), self.trusting, config);
        match upstream {
            Some(upstream) => {
                let guarding = http::Guarding {
                    each_round: {
                        let decider = Arc::clone(&decider);
                        Box::new(move || reload.round(&*decider))
                    },
                    name: settings.server.clone(),
                    session: settings.session.clone(),
                    is_one_session: self.session.is_some(),
                    waits: !settings.wait.is_zero(),
                    judges: Arc::new(LocalJudges { decider, owner: Owner::local(), settings, pinning }),
                };
                let _telling = telling;
                self.http.run(upstream, guarding)
            }
            None => {
                let guard = Guarded::open(decider, Owner::local(), settings, pinning)?;
                stdio::run(guard, move |guard| reload.round(guard), &self.server_command, telling)
            }
        }
    }

    /// Guards where another server decides.
    fn run_remote(
        self,
        decides: Server,
        server: String,
        session: String,
        upstream: Option<Upstream>,
    ) -> anyhow::Result<Exit> {
        let decides = Arc::new(decides);
        let new = NewGuard {
            server,
            process: process(upstream.as_ref()),
            origin: self.origin(),
            session,
            agent: self.agent,
            environment: self.environment,
            policy: self.remote.policy_name,
            hide: self.hide,
            wait: self.wait.unwrap_or_default(),
            over_http: upstream.is_some(),
        };
        let Some(upstream) = upstream else {
            return stdio::run(RemoteGuard::begin(decides, &new)?, |_| {}, &self.server_command, None);
        };
        // The log has a name, because `_` would drop it at once; it must live as long as the guard.
        let _log = telling::tell(None, LogFormat::Text, false)?;
        let guarding = http::Guarding {
            // The server looks at its files itself.
            each_round: Box::new(|| ()),
            name: new.server.clone(),
            session: new.session.clone(),
            is_one_session: self.session.is_some(),
            waits: !new.wait.is_zero(),
            judges: Arc::new(RemoteJudges::new(decides, new)?),
        };
        self.http.run(upstream, guarding)
    }

    /// What the server is reached by.
    fn origin(&self) -> Vec<String> {
        self.http.upstream.clone().map_or_else(|| self.server_command.clone(), |url| vec![url])
    }
}

/// Which start of a host the calls belong to. Over HTTP nobody starts a guard for a host, so it is the start of the guard that counts.
fn process(upstream: Option<&Upstream>) -> Option<String> {
    if upstream.is_some() { host_process::own() } else { host_process::of_parent() }
}

impl From<PinningName> for Pinning {
    fn from(name: PinningName) -> Self {
        match name {
            PinningName::Learn => Self::Learn,
            PinningName::Locked => Self::Locked,
        }
    }
}

impl From<KeepName> for Keep {
    fn from(name: KeepName) -> Self {
        match name {
            KeepName::Digest => Self::Digest,
            KeepName::Excerpt => Self::Excerpt,
            KeepName::Full => Self::Full,
        }
    }
}

/// Refuses a name of a session or a server, given with `option`, that is empty, too long or has control characters.
pub(crate) fn check_name(name: &str, option: &str) -> anyhow::Result<()> {
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(with_help(
            format!("use the name `{}`: it is empty, too long or has control characters", printable(name)),
            format!("give another name with `{option}`"),
        ));
    }
    Ok(())
}

/// Programs that start the program named in their arguments.
const RUNNERS: [&str; 13] =
    ["npx", "npm", "pnpm", "bunx", "bun", "uvx", "uv", "pipx", "python", "python3", "node", "deno", "docker"];
/// Their words that name nothing.
const WORDS: [&str; 6] = ["run", "exec", "dlx", "tool", "x", "--"];

/// What a server is called, by its command: its package without the version, its module, or its program.
fn server_name(command: &[String]) -> String {
    let program = command.first().map(|word| file(word)).unwrap_or_default();
    if !RUNNERS.contains(&program.as_str()) {
        return program;
    }
    let mut words = command.iter().skip(1).filter(|word| !word.starts_with('-') && !WORDS.contains(&word.as_str()));
    words.next().map(|word| package(word)).filter(|name| !name.is_empty()).unwrap_or(program)
}

/// The package that a word names, without its version: `@scope/name@1.2`, or a file of it below `node_modules`.
fn package(word: &str) -> String {
    let of_folder = word.rsplit_once("node_modules/").map(|(_, inside)| {
        let mut parts = inside.split('/');
        let first = parts.next().unwrap_or_default();
        if first.starts_with('@') { format!("{first}/{}", parts.next().unwrap_or_default()) } else { first.to_owned() }
    });
    let name = of_folder.unwrap_or_else(|| if word.starts_with('@') { word.to_owned() } else { file(word) });
    // The first letter may be the sign of a scope.
    match name.char_indices().skip(1).find(|(_, letter)| *letter == '@') {
        Some((at, _)) => name.get(..at).unwrap_or_default().to_owned(),
        None => name,
    }
}

fn file(word: &str) -> String {
    word.rsplit(['/', '\\']).next().unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_called_by_its_package() {
        for (command, name) in [
            (
                "npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /tmp",
                "@modelcontextprotocol/server-filesystem",
            ),
            ("uvx mcp-server-git@2026.10.19 --repository .", "mcp-server-git"),
            ("python3 -m mcp_server_time", "mcp_server_time"),
            ("node dist/index.js", "index.js"),
            (
                "node n/node_modules/@modelcontextprotocol/server-memory/dist/index.js",
                "@modelcontextprotocol/server-memory",
            ),
            ("node n/node_modules/some-server/index.js", "some-server"),
            ("/usr/bin/my-server --port 3", "my-server"),
            ("docker", "docker"),
        ] {
            let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(server_name(&command), name);
        }
    }
}
