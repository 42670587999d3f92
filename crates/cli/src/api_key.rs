//! `proofmark api-key`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use proofmark_receipt::{Json, Object, object};
use proofmark_server::{KeysFile, ReviewerEntry, Role, new_key};

use crate::config::Config;
use crate::exit::Exit;
use crate::listing::{Cell, Listing};
use crate::out;
use crate::paint::printable;
use crate::reviewer::one_signer;

/// Add, list and revoke the API keys of `proofmark serve`
///
/// The file has the hashes of the keys. A running server reads it again within seconds: a new key works, and a revoked one
/// stops, with everything that was begun with it.
#[derive(Subcommand)]
pub(crate) enum ApiKey {
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
    api_keys: PathBuf,
}

/// Add a key to the file, and print it once
///
/// The key is printed on standard output and stored nowhere. The file is created, readable by its owner only, where there is none.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark api-key add --api-keys keys.json support-bot agent
  proofmark api-key add --api-keys keys.json ann reviewer --tenant acme.support --holds finance")]
pub(crate) struct Add {
    #[command(flatten)]
    at: At,
    /// The id of the caller
    id: String,
    /// What the caller may do
    #[arg(value_enum)]
    role: RoleName,
    /// The tenant of the caller: letters, digits, `-`, `_` and `.`
    #[arg(long, value_name = "TENANT", default_value = "default")]
    tenant: String,
    #[command(flatten)]
    reviewer: ReviewerOptions,
    /// The one policy that the caller asks, by its name [default: any of the tenant's that the caller names]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Revoke the key that the tenant has under this id
    #[arg(long)]
    replace: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark api-key list --api-keys keys.json")]
pub(crate) struct List {
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
#[command(after_help = "Example:\n  proofmark api-key revoke --api-keys keys.json support-bot")]
pub(crate) struct Revoke {
    #[command(flatten)]
    at: At,
    /// The id of the caller
    id: String,
    /// The tenant of the caller, where several have a key with this id
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ReviewerOptions {
    /// For reviewers: a role of the action policy that they hold; can be repeated
    #[arg(long, value_name = "ROLE")]
    holds: Vec<String>,
    /// For reviewers: the signer of their approvals: a name of the trust store or of a key, a signer id, or a public key file
    #[arg(long, value_name = "SIGNER")]
    signer: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleName {
    Agent,
    AgentHost,
    Reviewer,
    Admin,
}

impl From<RoleName> for Role {
    fn from(role: RoleName) -> Role {
        match role {
            RoleName::Agent => Role::Agent,
            RoleName::AgentHost => Role::AgentHost,
            RoleName::Reviewer => Role::Reviewer,
            RoleName::Admin => Role::Admin,
        }
    }
}

impl ApiKey {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            ApiKey::Add(command) => command.run(config),
            ApiKey::List(command) => command.run(),
            ApiKey::Revoke(command) => command.run(),
        }
    }
}

impl Add {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let details = ReviewerEntry { policy: self.policy, ..self.reviewer.entry(config)? };
        let (key, entry) = new_key(&self.id, self.role.into(), &self.tenant, &details)?;
        KeysFile::at(&self.at.api_keys).add(&entry, self.replace)?;
        // Only now: a key whose entry was not written would be useless.
        let mut out = out::stdout();
        if self.json {
            let added = object! { "key": key.to_string(), "id": self.id.as_str(), "tenant": self.tenant.as_str() };
            out.json(&Json::from(added).to_text())?;
        } else {
            writeln!(out, "{key}")?;
        }
        drop(out);
        let file = self.at.api_keys.display().to_string();
        out::note(format_args!("added `{}` to {}; the key is shown only here", printable(&self.id), printable(&file)));
        Ok(Exit::Yes)
    }
}

impl List {
    fn run(self) -> anyhow::Result<Exit> {
        let keys = KeysFile::at(&self.at.api_keys).read()?.list();
        if self.json {
            let mut out = out::stdout();
            keys.into_iter().try_for_each(|key| out.json(&Json::from(key).to_text()))?;
            return Ok(Exit::Yes);
        }
        let mut listing = Listing::new(["ID", "ROLE", "TENANT", "HOLDS", "SIGNER", "POLICY"]);
        keys.iter().for_each(|key| listing.push(row(key)));
        listing.print("no API keys: `proofmark api-key add` makes one")?;
        Ok(Exit::Yes)
    }
}

fn row(key: &Object) -> [Cell; 6] {
    let text = |name: &str| Cell::from(key.get(name).and_then(Json::as_str).unwrap_or_default());
    let roles = key.get("roles").and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_str);
    let holds = roles.collect::<Vec<_>>().join(", ");
    [text("id"), text("role"), text("tenant"), holds.into(), text("signer"), text("policy")]
}

impl Revoke {
    fn run(self) -> anyhow::Result<Exit> {
        let tenant = KeysFile::at(&self.at.api_keys).revoke(&self.id, self.tenant.as_deref())?;
        let mut out = out::stdout();
        if self.json {
            let revoked = object! { "revoked": self.id.as_str(), "tenant": tenant.as_str() };
            out.json(&Json::from(revoked).to_text())?;
        } else {
            writeln!(out, "revoked `{}` of the tenant `{}`", printable(&self.id), printable(&tenant))?;
        }
        Ok(Exit::Yes)
    }
}

impl ReviewerOptions {
    fn entry(self, config: &Config) -> anyhow::Result<ReviewerEntry> {
        let signer = self.signer.map(|name| one_signer(&name, config)).transpose()?;
        Ok(ReviewerEntry { roles: self.holds, signer, policy: None })
    }
}
