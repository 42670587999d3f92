//! `proofmark guard pin`.

use std::collections::BTreeSet;
use std::io::Write;

use clap::{Args, Subcommand};
use proofmark_decider::{KnownPin, PinStatus, accounts_to_approve, approve_pins, digest_to_approve, pins};
use proofmark_guard::{Difference as PinDifference, PinName};
use proofmark_receipt::{Json, Sha256Digest, object};
use proofmark_store::Tenant;

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::paint::{Paint, printable};
use crate::shell_words;

/// List and approve pinned definitions of tools, prompts and servers
#[derive(Subcommand)]
pub(crate) enum PinsCommand {
    /// List definitions: those that are pinned, and those that wait for approval
    ///
    /// The definition of a tool has the name of the tool, that of a prompt `prompt:NAME`, and that of a template of resources
    /// `template:URI`. What a server tells the model is `server:instructions`, and the command that starts it `server:origin`.
    List(List),
    /// Pin the definitions that servers listed last, in place of those that were pinned, and keep the names of tools to their server
    Approve(Approve),
}

#[derive(Args)]
#[command(after_help = "Example:
  proofmark guard pin list --waiting")]
pub(crate) struct List {
    /// Only those of this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Only those that wait for approval
    #[arg(long)]
    waiting: bool,
    /// Only of this tenant: one of a server, or `local`, the command line
    #[arg(long, value_name = "TENANT", default_value_t = Tenant::LOCAL)]
    tenant: Tenant,
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:
  proofmark guard pin approve --server server.py --all")]
pub(crate) struct Approve {
    /// The server
    #[arg(long, value_name = "NAME")]
    server: String,
    /// The definitions, as `pin list` names them
    #[arg(required_unless_present = "all", value_name = "NAME")]
    names: Vec<String>,
    /// All definitions of the server
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Only as servers of this account or API key have listed them
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Only if these are still the definitions that `pin list` has shown, by the digest that it prints
    #[arg(long, value_name = "DIGEST")]
    seen: Option<Sha256Digest>,
    /// Only of this tenant: one of a server, or `local`, the command line
    #[arg(long, value_name = "TENANT", default_value_t = Tenant::LOCAL)]
    tenant: Tenant,
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl PinsCommand {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            PinsCommand::List(command) => command.run(config),
            PinsCommand::Approve(command) => command.run(config),
        }
    }
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let (mut out, paint) = (out::stdout(), Paint::for_stdout());
        let listed = pins(&store.of(&self.tenant))?;
        let of_server = listed.iter().filter(|pin| self.server.as_ref().is_none_or(|server| *server == pin.server));
        let (mut is_empty, mut waiting) = (true, BTreeSet::new());
        for pin in of_server.filter(|pin| !self.waiting || pin.status.waits()) {
            if is_empty && !self.json {
                writeln!(out, "{}", paint.dim("STATE   SERVER DEFINITION"))?;
            }
            is_empty = false;
            if self.json {
                out.json(&json(pin).to_text())?;
                continue;
            }
            if pin.status.waits() {
                waiting.insert((&*pin.server, &*pin.account));
            }
            let mut name = format!("{} {}", printable(&pin.server), printable(&pin.name.to_string()));
            if !pin.account.is_empty() {
                name += &format!(" of {}", printable(&pin.account));
            }
            let PinStatus::Waits(why) = &pin.status else {
                let by = if pin.status == PinStatus::Approved { " (approved)" } else { "" };
                writeln!(out, "{} {name}{by}", paint.good("pinned "))?;
                continue;
            };
            // What it has changed from: what was approved under this name, or what its account has listed first.
            let before = listed.iter().find(|other| {
                let counts = other.status == PinStatus::Approved || other.account == pin.account;
                !other.status.waits() && counts && other.server == pin.server && other.name == pin.name
            });
            let differences = before.map(|before| PinDifference::all(&before.document, &pin.document, pin.name.kind));
            let differences = differences.unwrap_or_default();
            let why = if differences.is_empty() { printable(why) } else { "its definition has changed".to_owned() };
            writeln!(out, "{} {name}: {why}", paint.bad("waiting"))?;
            for PinDifference { member, before, after } in &differences {
                writeln!(out, "  {}", printable(member))?;
                if let Some(before) = before {
                    writeln!(out, "{}", paint.bad(&format!("  - {}", printable(before))))?;
                }
                if let Some(after) = after {
                    writeln!(out, "{}", paint.good(&format!("  + {}", printable(after))))?;
                }
            }
        }
        for (server, account) in waiting {
            let of_account = match accounts_to_approve(&listed, server).len() {
                0 | 1 => String::new(),
                _ => format!(" --account {}", shell_words::quoted(account)),
            };
            let of: Vec<KnownPin> = listed.iter().filter(|pin| pin.account == account).cloned().collect();
            let (name, seen) = (shell_words::quoted(server), digest_to_approve(&of, server));
            let of_tenant =
                if self.tenant == Tenant::LOCAL { String::new() } else { format!(" --tenant {}", self.tenant) };
            let next =
                format!("proofmark guard pin approve --server {name} --all{of_account} --seen {seen}{of_tenant}");
            writeln!(out, "next: {}", printable(&next))?;
        }
        if is_empty && !self.json {
            out::note(if self.waiting {
                "nothing waits for approval"
            } else {
                "no definitions: `proofmark guard` pins those that a server lists"
            });
        }
        Ok(Exit::Yes)
    }
}

impl Approve {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let names: Vec<PinName> = self.names.iter().map(|name| PinName::from(&**name)).collect();
        let store = store.of(&self.tenant);
        let mut known = pins(&store)?;
        if let Some(account) = &self.account {
            known.retain(|pin| pin.account == *account);
        }
        let accounts = accounts_to_approve(&known, &self.server);
        if accounts.len() > 1 {
            let accounts: Vec<_> = accounts.into_iter().map(|name| format!("`{}`", printable(name))).collect();
            return Err(with_help(
                format!(
                    "approve: several accounts have a server `{}`: {}",
                    printable(&self.server),
                    accounts.join(", ")
                ),
                "look at what each has listed with `proofmark guard pin list`, and name one with `--account`",
            ));
        }
        if self.seen.as_ref().is_some_and(|seen| *seen != digest_to_approve(&known, &self.server)) {
            return Err(with_help(
                format!("approve: the server `{}` has listed other definitions since", printable(&self.server)),
                "look at them with `proofmark guard pin list`",
            ));
        }
        let approved = approve_pins(&store, &known, &self.server, (!self.all).then_some(&names[..]))?;
        let missing = names.iter().find(|name| !approved.contains(name));
        if let Some(missing) = missing {
            return Err(with_help(
                format!("approve `{}`: nothing of this name is left to approve", printable(&missing.to_string())),
                "list what is pinned or waits with `proofmark guard pin list`",
            ));
        }
        let mut out = out::stdout();
        for name in &approved {
            if self.json {
                let line =
                    object! { "server": self.server.as_str(), "kind": name.kind.as_str(), "name": name.name.as_str() };
                out.json(&Json::from(line).to_text())?;
            } else {
                writeln!(out, "pinned {}", printable(&name.to_string()))?;
            }
        }
        if approved.is_empty() && !self.json {
            out::note(format_args!("nothing of the server `{}` waits for approval", printable(&self.server)));
        }
        Ok(Exit::Yes)
    }
}

fn json(pin: &KnownPin) -> Json {
    let waits = match &pin.status {
        PinStatus::Pinned | PinStatus::Approved => None,
        PinStatus::Waits(why) => Some(why.as_str()),
    };
    object! {
        "server": pin.server.as_str(),
        "kind": pin.name.kind.as_str(),
        "name": pin.name.name.as_str(),
        "account"?: (!pin.account.is_empty()).then_some(pin.account.as_str()),
        "sha256": pin.definition.to_string(),
        "approved": pin.status == PinStatus::Approved,
        "waits"?: waits,
        "definition": pin.document.clone(),
    }
    .into()
}
