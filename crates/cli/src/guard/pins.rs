//! `proofmark guard pins`.

use std::io::Write;

use clap::{Args, Subcommand};
use proofmark_receipt::{Json, object};
use proofmark_verifier::{PinStatus, ToolPin, approve_pins, pins};

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::paint::{Paint, printable, printable_json};

/// List and approve pinned definitions of tools
#[derive(Subcommand)]
pub(crate) enum PinsCommand {
    /// List the definitions of tools: those that are pinned, and those that wait for approval
    List(List),
    /// Pin the definitions that servers listed last, in place of those that were pinned
    Approve(Approve),
}

#[derive(Args)]
#[command(after_help = "Example:
  proofmark guard pins list --waiting")]
pub(crate) struct List {
    /// Only those of this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Only those that wait for approval
    #[arg(long)]
    waiting: bool,
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:
  proofmark guard pins approve --server server.py --all")]
pub(crate) struct Approve {
    /// The server
    #[arg(long, value_name = "NAME")]
    server: String,
    /// The tools
    #[arg(required_unless_present = "all", value_name = "TOOL")]
    tools: Vec<String>,
    /// All tools of the server that wait for approval
    #[arg(long, conflicts_with = "tools")]
    all: bool,
    #[command(flatten)]
    store: StoreAt,
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
        let of_server = |pin: &&ToolPin| self.server.as_ref().is_none_or(|server| *server == pin.server);
        let listed = pins(&store)?;
        for pin in listed.iter().filter(of_server).filter(|pin| !self.waiting || pin.status.waits()) {
            if self.json {
                writeln!(out, "{}", printable_json(&json(pin).to_text()))?;
                continue;
            }
            let (word, why) = match &pin.status {
                PinStatus::Pinned => (paint.good("pinned "), String::new()),
                PinStatus::Waits(why) => (paint.bad("waiting"), format!(": {}", printable(why))),
            };
            writeln!(out, "{word} {} {}{why}", printable(&pin.server), printable(&pin.tool))?;
        }
        Ok(Exit::Yes)
    }
}

impl Approve {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let tools = (!self.all).then_some(&self.tools[..]);
        let approved = approve_pins(&store, &self.server, tools)?;
        let missing = self.tools.iter().find(|tool| !approved.contains(tool));
        if let Some(missing) = missing {
            return Err(with_help(
                format!("approve the tool `{}`: it does not wait for approval", printable(missing)),
                "list the tools that do with `proofmark guard pins list --waiting`",
            ));
        }
        let mut out = out::stdout();
        approved.iter().try_for_each(|tool| writeln!(out, "pinned {}", printable(tool)))?;
        Ok(Exit::Yes)
    }
}

fn json(pin: &ToolPin) -> Json {
    let waits = match &pin.status {
        PinStatus::Pinned => None,
        PinStatus::Waits(why) => Some(why.as_str()),
    };
    object! {
        "server": pin.server.as_str(),
        "tool": pin.tool.as_str(),
        "sha256": pin.definition.to_string(),
        "waits"?: waits,
        "definition": pin.document.clone(),
    }
    .into()
}
