//! Options of what stands beside an agent, and has a server decide.

use std::path::PathBuf;

use clap::Args;
use proofmark_agents::{Server, ServerAddress, ServerError};

use crate::absolute::absolute_file;
use crate::config::{Config, secret_file};

/// Options of a process that decides itself. A server that decides has its own.
pub(crate) const OF_A_DECIDER: [&str; 7] =
    ["policy", "key", "passphrase_file", "trust", "store", "record_facts", "keep"];

/// The option by which a server decides.
pub(crate) const SERVER: &str = "--server";

/// What to do about [`NOT_APART`].
pub(crate) const HOW_APART: &str =
    "have another account decide (`sudo proofmark setup`) or another host, with `--server`";

/// The server that decides, where this process does not.
#[derive(Args)]
pub(crate) struct Remote {
    /// Have this server decide, which has the policy, the key and the store: unix:PATH, or its URL
    // Never taken from a variable: an agent that sets one would choose who decides.
    #[arg(long, value_name = "unix:PATH|URL")]
    pub(crate) server: Option<ServerAddress>,
    /// Authenticate with the API key in this file [default: $PROOFMARK_API_KEY; by a socket, the account is enough]
    #[arg(long, value_name = "FILE", requires = "server")]
    api_key_file: Option<PathBuf>,
    /// Ask the server's policy with this name [default: the one that the API key is for, else `default`]
    #[arg(long, value_name = "NAME", requires = "server")]
    pub(crate) policy_name: Option<String>,
}

impl Remote {
    /// The words of a command that has the same server decide, for a host that starts it later.
    pub(crate) fn words(&self) -> anyhow::Result<Vec<String>> {
        let Some(server) = &self.server else { return Ok(Vec::new()) };
        let mut words = vec![SERVER.to_owned(), server.to_string()];
        if let Some(file) = &self.api_key_file {
            words.extend(["--api-key-file".to_owned(), absolute_file(file)?]);
        }
        if let Some(name) = &self.policy_name {
            words.extend(["--policy-name".to_owned(), name.clone()]);
        }
        Ok(words)
    }

    /// The server, if one is named, for several threads.
    pub(crate) fn server(&self, config: &Config) -> anyhow::Result<Option<Server>> {
        self.server_by(config, Server::new)
    }

    /// The server, if one is named, for one thread.
    pub(crate) fn server_of_hook(&self, config: &Config) -> anyhow::Result<Option<Server>> {
        self.server_by(config, Server::for_one_thread)
    }

    fn server_by(
        &self,
        config: &Config,
        new: fn(ServerAddress, Option<&str>) -> Result<Server, ServerError>,
    ) -> anyhow::Result<Option<Server>> {
        let Some(address) = &self.server else { return Ok(None) };
        let api_key = match &self.api_key_file {
            Some(file) => Some(secret_file(file, "API key")?),
            None => config.api_key()?,
        };
        Ok(Some(new(address.clone(), api_key.as_deref().map(String::as_str))?))
    }
}

/// Whether these words of a guard's or a hook's command have a server decide.
pub(crate) fn asks_a_server(words: &[String]) -> bool {
    words.iter().any(|word| word.strip_prefix(SERVER).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
}

/// What an agent with a shell can do where the decisions are made by its own account.
pub(crate) const NOT_APART: &str = "separation: none: an agent with a shell as this account can use the same key, write the store and decide for itself; see docs/apart.md";
