//! `proofmark trust`.

use std::io::Write;

use clap::{Args, Subcommand};
use proofmark_keys::{KnownAs, TrustStore, TrustedName, signers_in, trusted_signers};
use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{Json, object};

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::input;
use crate::out;
use crate::paint::printable;

/// Add, list and remove the signers that you trust
///
/// A command without `--trust` trusts these signers and your own keys. With `--trust`, it trusts exactly the signers named
/// there, which can be names of the trust store.
#[derive(Subcommand)]
pub(crate) enum Trust {
    /// Trust a signer under a name
    Add(Add),
    /// List the signers that you trust
    List(List),
    /// Trust a signer no more
    Remove(Remove),
}

#[derive(Args)]
#[command(after_help = "Examples:
  proofmark trust add ci ci.pem --note \"the build server\"
  proofmark trust add ann ~/.ssh/ann.pub")]
pub(crate) struct Add {
    /// A name of your choice: letters, digits, - and _
    name: String,
    /// The signer: a signer id, or a public key file (PEM, OpenSSH, JWK or JWK set), or - for standard input
    #[arg(value_name = "KEY|FILE|-")]
    key: String,
    /// Who it is, or why you trust it
    #[arg(long)]
    note: Option<String>,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark trust list --json")]
pub(crate) struct List {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark trust remove ci")]
pub(crate) struct Remove {
    /// The name
    name: String,
}

impl Trust {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Trust::Add(command) => command.run(config),
            Trust::List(command) => command.run(config),
            Trust::Remove(command) => command.run(config),
        }
    }
}

impl Add {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let signers = match self.key.as_str() {
            "-" => signers_in(&String::from_utf8_lossy(&input::read_stdin(MAX_BYTES as u64)?))?,
            key => trusted_signers(key)?,
        };
        let known = config.known_signers()?;
        let own = signers.iter().find_map(|signer| match known.name(signer) {
            Some(KnownAs::Own(name)) => Some(name.to_owned()),
            Some(KnownAs::Trusted(_)) | None => None,
        });
        if let Some(own) = own {
            let message = format!("add `{}` to the trust store: it is your own key `{own}`", self.name);
            return Err(with_help(message, "your own keys are trusted already"));
        }
        if config.keyring().has(&self.name) {
            let message = format!("add `{}` to the trust store: a key of yours has this name", self.name);
            return Err(with_help(message, "choose another name"));
        }
        let added = signers.iter().map(|signer| format!("trusted {} {signer}", self.name)).collect::<Vec<_>>();
        TrustStore::new(&config.home).add(TrustedName { name: self.name, signers, note: self.note })?;
        let mut out = out::stdout();
        added.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        Ok(Exit::Yes)
    }
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let mut out = out::stdout();
        for TrustedName { name, signers, note } in TrustStore::new(&config.home).list()? {
            if self.json {
                let signers: Vec<Json> = signers.iter().map(|signer| Json::from(signer.to_string())).collect();
                let entry = object! { "name": name, "signers": signers, "note"?: note };
                out.json(&Json::from(entry).to_text())?;
                continue;
            }
            let note = note.map_or_else(String::new, |note| format!(" {}", printable(&note)));
            signers.iter().try_for_each(|signer| writeln!(out, "{name:<20} {signer}{note}"))?;
        }
        Ok(Exit::Yes)
    }
}

impl Remove {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let removed = TrustStore::new(&config.home).remove(&self.name)?;
        let mut out = out::stdout();
        for signer in removed.signers {
            writeln!(out, "removed {} {signer}", removed.name)?;
        }
        Ok(Exit::Yes)
    }
}
