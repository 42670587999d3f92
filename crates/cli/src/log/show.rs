//! `proofmark log show`.

use std::io::Write;

use anyhow::anyhow;
use clap::Args;
use proofmark_receipt::{Json, Timestamp, object};
use proofmark_tlog::{Party, SignedCheckpoint};

use crate::config::Config;
use crate::exit::Exit;
use crate::logs;
use crate::logs::LogTrust;
use crate::options::{StoreAt, Unlock};
use crate::out;
use crate::paint::printable;

/// Sign what is new in the log, and show its checkpoint, its key and its cosignatures
///
/// With a policy whose witnesses have URLs, those are asked to cosign.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark log show
  proofmark log show --checkpoint > checkpoint
  proofmark log show --log-policy policy.txt --json")]
pub(crate) struct Show {
    /// Print the signed checkpoint alone
    #[arg(long, conflicts_with = "json")]
    checkpoint: bool,
    #[command(flatten)]
    trust: LogTrust,
    #[command(flatten)]
    unlock: Unlock,
    #[command(flatten)]
    store: StoreAt,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let policy = self.trust.policy()?;
        let witnesses = super::witnesses(policy.as_ref())?;
        let store = self.store.open_existing(config)?;
        let keeper = super::keeper(config, &self.unlock, &store, witnesses.as_ref())?;
        let published = super::cosigned(&keeper)?;
        let known: Vec<&Party> = policy.iter().flat_map(|policy| policy.witnesses()).collect();
        let signed = SignedCheckpoint::open(
            published.note.as_bytes(),
            [keeper.vkey()],
            known.iter().map(|witness| &witness.key),
        );
        let signed = signed.map_err(|error| anyhow!("read the checkpoint of the log: {error}"))?;
        let mut out = out::stdout();
        if self.checkpoint {
            out.write_all(published.note.as_bytes())?;
            return Ok(Exit::Yes);
        }
        let checkpoint = &signed.checkpoint;
        let earlier = logs::home(config).vkeys()?;
        let earlier: Vec<String> =
            earlier.iter().filter(|vkey| *vkey != keeper.vkey()).map(ToString::to_string).collect();
        let cosigned = signed.cosignatures.iter().map(|cosignature| {
            let millis = i64::try_from(cosignature.time).unwrap_or_default().saturating_mul(1_000);
            (cosignature.witness.name().to_owned(), Timestamp::from_unix_millis(millis).to_string())
        });
        if self.json {
            let list = |texts: &[String]| texts.iter().map(|text| Json::from(text.as_str())).collect::<Vec<_>>();
            let cosigned: Vec<Json> =
                cosigned.map(|(witness, time)| object! { "witness": witness, "time": time }.into()).collect();
            let log = object! {
                "origin": checkpoint.origin.as_str(),
                "key": keeper.vkey().to_string(),
                "earlier_keys": list(&earlier),
                "entries": checkpoint.size,
                "root": checkpoint.root.to_string(),
                "cosignatures": cosigned,
            };
            out.json(&log.to_text())?;
            return Ok(Exit::Yes);
        }
        writeln!(out, "{}", printable(&checkpoint.origin))?;
        writeln!(out, "  key      {}", printable(&keeper.vkey().to_string()))?;
        for key in earlier {
            writeln!(out, "  earlier  {}", printable(&key))?;
        }
        writeln!(out, "  entries  {}\n  root     {}", checkpoint.size, checkpoint.root)?;
        for (witness, time) in cosigned {
            writeln!(out, "  witness  {} at {time}", printable(&witness))?;
        }
        Ok(Exit::Yes)
    }
}
