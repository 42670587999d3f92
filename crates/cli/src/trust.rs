//! `proofmark trust`.

use std::io::Write;

use clap::{Args, Subcommand};
use proofmark_evidence::Capabilities;
use proofmark_keys::{KnownAs, TrustStore, TrustedName, signers_in, trusted_signers};
use proofmark_receipt::json::MAX_BYTES;

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::input;
use crate::listing::Listing;
use crate::out;

/// Add, list and remove the signers that you trust
///
/// Each is trusted for the kinds of documents that you name, and for no others. A command without `--trust` trusts these signers
/// and your own keys. With `--trust`, it trusts exactly the signers named there, which can be names of the trust store.
#[derive(Subcommand)]
pub(crate) enum Trust {
    /// Trust a signer under a name, for some kinds of documents
    Add(Add),
    /// List the signers that you trust
    List(List),
    /// Remove a signer from those that you trust
    Remove(Remove),
}

#[derive(Args)]
#[command(after_help = "Examples:
  proofmark trust add ci ci.pem --for verification --note \"the build server\"
  proofmark trust add team server.pem --for verification,acceptance,decision
  proofmark trust add ann ~/.ssh/ann.pub --for approval")]
pub(crate) struct Add {
    /// A name of your choice: letters, digits, - and _
    name: String,
    /// The signer: a signer id, or a public key file (PEM, OpenSSH, JWK or JWK set), or - for standard input
    #[arg(value_name = "SIGNER|-")]
    signer: String,
    /// What it may sign: verification, acceptance, approval, decision, with commas between them. A reviewer needs approval alone,
    /// a verifier verification alone
    #[arg(long = "for", value_name = "KINDS")]
    may: Capabilities,
    /// Who it is, or why you trust it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
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
    /// Print JSON
    #[arg(long)]
    json: bool,
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
        let keys = match self.signer.as_str() {
            "-" => signers_in(&String::from_utf8_lossy(&input::read_stdin(MAX_BYTES as u64)?))?,
            signer => trusted_signers(signer)?,
        };
        let known = config.known_signers()?;
        let own = keys.iter().find_map(|key| match known.name(&key.signer) {
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
        let added = TrustedName { name: self.name, keys, may: self.may, note: self.note };
        TrustStore::new(&config.home).add(added.clone())?;
        print("trusted", &added, self.json)
    }
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let mut listing = Listing::new(["NAME", "FOR", "SIGNER", "ENDS", "NOTE"]);
        let mut out = out::stdout();
        for trusted in TrustStore::new(&config.home).list()? {
            if self.json {
                out.json(&trusted.to_json().to_text())?;
                continue;
            }
            for key in &trusted.keys {
                let note = trusted.note.as_deref().unwrap_or_default();
                let ends = key.until.as_ref().map(ToString::to_string).unwrap_or_default();
                let (name, may) = (trusted.name.as_str(), trusted.may.to_string());
                listing.push([name.into(), may.into(), key.signer.to_string().into(), ends.into(), note.into()]);
            }
        }
        drop(out);
        if !self.json {
            listing.print("no trusted signers: `proofmark trust add` adds one; your own keys are always trusted")?;
        }
        Ok(Exit::Yes)
    }
}

impl Remove {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let removed = TrustStore::new(&config.home).remove(&self.name)?;
        print("removed", &removed, self.json)
    }
}

/// Prints what was done with a name.
fn print(done: &str, trusted: &TrustedName, as_json: bool) -> anyhow::Result<Exit> {
    let mut out = out::stdout();
    if as_json {
        out.json(&trusted.to_json().to_text())?;
        return Ok(Exit::Yes);
    }
    let TrustedName { name, keys, may, .. } = trusted;
    keys.iter().try_for_each(|key| writeln!(out, "{done} {name} for {may}: {}", key.signer))?;
    Ok(Exit::Yes)
}
