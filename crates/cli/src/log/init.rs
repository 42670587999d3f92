//! `proofmark log init`.

use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;
use proofmark_log::{LogHome, LogKeeper};
use proofmark_receipt::object;
use proofmark_tlog::Vkey;

use crate::config::Config;
use crate::confirm::confirm;
use crate::error::with_help;
use crate::exit::Exit;
use crate::logs;
use crate::options::{StoreAt, Unlock};
use crate::out;
use crate::paint::printable;

/// Begin to sign the log of the store, with a key of its own
///
/// The store has an entry for every receipt and every decision. From now on they can be proven by checkpoints, which this key signs. The
/// origin names the log and cannot be changed: it is the address where others will find it, without `https://`. The checkpoint that was
/// signed last is also kept in `$PROOFMARK_HOME/log`: a store that does not continue it was rolled back, and is not signed for.
#[derive(Args)]
#[command(mut_arg("passphrase_file", |file| file.help("Encrypt the key with the passphrase in this file [default: $PROOFMARK_PASSPHRASE]")))]
#[command(after_help = "Examples:
  proofmark log init log.example.org/proofmark
  proofmark log init log.example.org/proofmark --new-key
  proofmark log init log.example.org/second --restart --yes")]
pub(crate) struct Init {
    /// The origin of the log
    origin: String,
    /// Make another key for a log that was begun: it signs from now on, and what the earlier one signed stays valid
    #[arg(long, conflicts_with = "restart")]
    new_key: bool,
    /// Begin another log with the entries that the store has, where what was signed of the one before is lost
    #[arg(long)]
    restart: bool,
    /// Do not ask before --restart
    #[arg(short, long, requires = "restart")]
    yes: bool,
    #[command(flatten)]
    unlock: Unlock,
    #[command(flatten)]
    store: StoreAt,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Init {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let home = logs::home(config);
        let passphrase = self.unlock.passphrase(config)?;
        let store = self.store.open(config)?;
        if self.restart {
            // Checked before the old log ends.
            LogHome::check_origin(&self.origin)?;
            let kept = home.origin()?;
            let stored = store.log_state()?.checkpoint.lines().next().map(str::to_owned);
            let old: BTreeSet<String> = kept.into_iter().chain(stored).chain(home.ended()?).collect();
            if old.contains(&self.origin) {
                let message = format!("begin the log `{}`: a log of this origin was signed already", self.origin);
                return Err(with_help(message, "choose another origin: no two histories of one log may be signed"));
            }
            if !old.is_empty() {
                let old: Vec<String> = old.iter().map(|old| printable(old)).collect();
                out::note(format!("these logs are not signed any more: {}", old.join(", ")));
                if !confirm("begin", "another log", self.yes)? {
                    return Ok(Exit::No);
                }
            }
            home.retire()?;
        }
        let signer = home.begin(&self.origin, passphrase.as_ref())?;
        let signer = if self.new_key { home.rotate(passphrase.as_ref())? } else { signer };
        let vkey = signer.vkey().clone();
        let keeper = LogKeeper::new(&store, home, signer);
        if self.restart {
            keeper.restart()?;
        }
        let size = keeper.publish()?.checkpoint.size;
        print(&vkey, size, self.json)
    }
}

fn print(vkey: &Vkey, size: u64, json: bool) -> anyhow::Result<Exit> {
    let mut out = out::stdout();
    if json {
        let log = object! { "origin": vkey.name(), "key": vkey.to_string(), "entries": size };
        out.json(&log.to_text())?;
    } else {
        writeln!(out, "{}\n  key      {}\n  entries  {size}", printable(vkey.name()), printable(&vkey.to_string()))?;
    }
    Ok(Exit::Yes)
}
