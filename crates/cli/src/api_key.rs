//! `proofmark api-key`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use proofmark_receipt::{Json, Object};
use proofmark_server::{KeysFile, ReviewerEntry, Role, new_key};

use crate::error::with_help;
use crate::exit::Exit;
use crate::options;
use crate::out;
use crate::paint::printable;

/// Add, list and revoke the API keys of `proofmark serve`
///
/// The file has the hashes of the keys. A running server reads it again within seconds: a new key works, and a revoked one
/// stops, with everything that was begun with it.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub(crate) struct ApiKey {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    printed: Printed,
}

#[derive(Subcommand)]
enum Command {
    /// Add a key to the file, and print it once
    Add(Add),
    /// List the keys of the file
    List(List),
    /// Remove a key from the file
    Revoke(Revoke),
}

/// The file of API keys.
#[derive(Args)]
struct At {
    /// The file of API keys, as in `proofmark serve --api-keys`
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
}

/// Add a key to the file, and print it once
///
/// The key is printed on standard output and stored nowhere. The file is created, readable by its owner only, where there is none.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark api-key add --file keys.json support-bot agent
  proofmark api-key add --file keys.json ann reviewer --tenant acme.support --holds finance")]
struct Add {
    #[command(flatten)]
    at: At,
    /// The id of the caller
    id: String,
    /// What the caller may do
    #[arg(value_enum)]
    role: RoleName,
    /// The tenant of the caller: letters, digits, `-`, `_` and `.`
    #[arg(long, default_value = "default")]
    tenant: String,
    #[command(flatten)]
    reviewer: ReviewerOptions,
    /// Revoke the key that the tenant has under this id
    #[arg(long)]
    replace: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark api-key list --file keys.json")]
struct List {
    #[command(flatten)]
    at: At,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Remove a key from the file
///
/// A running server refuses the key within seconds, and stops what was begun with it.
#[derive(Args)]
#[command(after_help = "Example:\n  proofmark api-key revoke --file keys.json support-bot")]
struct Revoke {
    #[command(flatten)]
    at: At,
    /// The id of the caller
    id: String,
    /// The tenant of the caller, where several have a key with this id
    #[arg(long)]
    tenant: Option<String>,
}

#[derive(Args)]
struct ReviewerOptions {
    /// For reviewers: a role of the action policy that they hold; can be repeated [default: any role for which
    /// the policy names no reviewers]
    #[arg(long, value_name = "ROLE")]
    holds: Vec<String>,
    /// For reviewers: the key that they sign approvals with, as a signer id or a public key file
    #[arg(long, value_name = "KEY")]
    signer: Option<String>,
}

/// The spelling of earlier versions, which prints an entry.
#[derive(Args)]
struct Printed {
    #[arg(hide = true)]
    id: Option<String>,
    #[arg(long, value_enum, hide = true, requires = "id")]
    role: Option<RoleName>,
    #[arg(long, hide = true, requires = "id")]
    tenant: Option<String>,
    #[arg(long, hide = true, requires = "id")]
    holds: Vec<String>,
    #[arg(long, hide = true, requires = "id")]
    signer: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleName {
    Agent,
    Reviewer,
    Admin,
}

impl From<RoleName> for Role {
    fn from(role: RoleName) -> Role {
        match role {
            RoleName::Agent => Role::Agent,
            RoleName::Reviewer => Role::Reviewer,
            RoleName::Admin => Role::Admin,
        }
    }
}

impl ApiKey {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            Some(Command::Add(command)) => command.run(),
            Some(Command::List(command)) => command.run(),
            Some(Command::Revoke(command)) => command.run(),
            None => self.printed.run(),
        }
    }
}

impl Add {
    fn run(self) -> anyhow::Result<Exit> {
        let (key, entry) = new_key(&self.id, self.role.into(), &self.tenant, &self.reviewer.entry()?)?;
        KeysFile::at(&self.at.file).add(&entry, self.replace)?;
        // Only now: a key whose entry was not written would be useless.
        writeln!(out::stdout(), "{key}")?;
        let file = self.at.file.display().to_string();
        out::note(format_args!("added `{}` to {}; the key is shown only here", printable(&self.id), printable(&file)));
        Ok(Exit::Yes)
    }
}

impl List {
    fn run(self) -> anyhow::Result<Exit> {
        let keys = KeysFile::at(&self.at.file).read()?.list();
        let mut out = out::stdout();
        if self.json {
            keys.into_iter().try_for_each(|key| out.json(&Json::from(key).to_text()))?;
            return Ok(Exit::Yes);
        }
        writeln!(out, "{:<24} {:<9} TENANT", "ID", "ROLE")?;
        for key in &keys {
            writeln!(out, "{}", line(key))?;
        }
        Ok(Exit::Yes)
    }
}

fn line(key: &Object) -> String {
    let text = |name: &str| printable(key.get(name).and_then(Json::as_str).unwrap_or_default());
    let roles = key.get("roles").and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_str);
    let holds: String = roles.map(|role| format!(" holds {}", printable(role))).collect();
    let signs = key.get("signer").and_then(Json::as_str).map_or_else(String::new, |key| format!(" signs with {key}"));
    format!("{:<24} {:<9} {}{holds}{signs}", text("id"), text("role"), text("tenant"))
}

impl Revoke {
    fn run(self) -> anyhow::Result<Exit> {
        let tenant = KeysFile::at(&self.at.file).revoke(&self.id, self.tenant.as_deref())?;
        writeln!(out::stdout(), "revoked `{}` of the tenant `{}`", printable(&self.id), printable(&tenant))?;
        Ok(Exit::Yes)
    }
}

impl ReviewerOptions {
    fn entry(self) -> anyhow::Result<ReviewerEntry> {
        let signers = options::signers(self.signer.as_slice())?;
        Ok(ReviewerEntry { roles: self.holds, signer: signers.first().copied() })
    }
}

impl Printed {
    fn run(self) -> anyhow::Result<Exit> {
        let (Some(id), Some(role), Some(tenant)) = (self.id, self.role, self.tenant) else {
            return Err(with_help("make an API key: role or tenant is missing", "use `proofmark api-key add`"));
        };
        let reviewer = ReviewerOptions { holds: self.holds, signer: self.signer };
        let (key, entry) = new_key(&id, role.into(), &tenant, &reviewer.entry()?)?;
        // Standard output can be appended to a file, so the secret is not on it.
        writeln!(io::stderr().lock(), "{key}")?;
        out::stdout().json(&entry.to_text())?;
        Ok(Exit::Yes)
    }
}
