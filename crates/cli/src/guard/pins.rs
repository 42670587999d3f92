//! `proofmark guard pins`.

use std::io::Write;

use clap::{Args, Subcommand};
use proofmark_receipt::{Json, object};
use proofmark_verifier::{StoredPin, Tenant};

use crate::config::Config;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::paint::{Paint, printable, printable_json};

#[derive(Subcommand)]
pub(crate) enum PinsCommand {
    List(List),
}

/// List the pinned definitions of tools
#[derive(Args)]
#[command(after_help = "Example:
  proofmark guard pins list --json")]
pub(crate) struct List {
    /// Only those of this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
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
        }
    }
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let pins = store.of(&Tenant::LOCAL).pins()?;
        let mut out = out::stdout();
        let paint = Paint::for_stdout();
        for pin in pins.iter().filter(|pin| self.server.as_ref().is_none_or(|server| *server == pin.server)) {
            match self.json {
                true => writeln!(out, "{}", printable_json(&json(pin).to_text()))?,
                false => {
                    let digest = pin.definition.to_string();
                    writeln!(out, "{} {} {}", paint.dim(&digest), printable(&pin.server), printable(&pin.tool))?;
                }
            }
        }
        Ok(Exit::Yes)
    }
}

fn json(pin: &StoredPin) -> Json {
    let definition = Json::parse(pin.document.as_bytes()).unwrap_or(Json::Null);
    object! {
        "server": pin.server.as_str(),
        "tool": pin.tool.as_str(),
        "sha256": pin.definition.to_string(),
        "definition": definition,
    }
    .into()
}
