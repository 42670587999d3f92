//! `proofmark receipt export`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, ValueEnum};
use proofmark_interop::a2a;
use proofmark_receipt::{ChainHead, Receipt};
use proofmark_verifier::{DecisionsWanted, Store, StoredDecision, Tenant, chain_head, decisions_head};

use super::read;
use crate::config::Config;
use crate::exit::Exit;
use crate::out;

/// How many decisions are read at once.
const DECISIONS_AT_ONCE: usize = 1_000;

/// Print stored receipts, a whole chain, all decisions, or a signed head
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark receipt export 3f2a9c1e > receipt.json
  proofmark receipt export 3f2a9c1e --format a2a > artifact.json
  proofmark receipt export --chain nightly > nightly.jsonl
  proofmark receipt export --chain nightly --head > head.json
  proofmark receipt export --decisions > decisions.jsonl")]
pub(crate) struct Export {
    /// Ids in the store; their first digits are enough
    #[arg(required_unless_present_any = ["chain", "decisions"], conflicts_with_all = ["chain", "decisions"], value_name = "ID")]
    ids: Vec<String>,
    /// Every receipt of this chain, in order
    #[arg(long, value_name = "NAME")]
    chain: Option<String>,
    /// The chain is of this tenant of a server
    #[arg(long, value_name = "NAME", requires = "chain", default_value_t = Tenant::LOCAL)]
    tenant: Tenant,
    /// Every decision, in order: they are one chain
    #[arg(long, conflicts_with_all = ["chain", "format"])]
    decisions: bool,
    /// As they are, or each as an artifact of the Agent2Agent protocol
    #[arg(long, value_enum, default_value_t = Form::Vrf, conflicts_with = "head")]
    format: Form,
    /// The chain's signed head instead: its length and last receipt
    #[arg(long, conflicts_with = "ids")]
    head: bool,
    /// Sign the head with this key: a name, or the path of a key file
    #[arg(long, value_name = "KEY", requires = "head")]
    key: Option<String>,
    /// The passphrase of the key is in this file
    #[arg(long, value_name = "FILE", requires = "head")]
    passphrase_file: Option<PathBuf>,
    /// Take them from this database
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    Vrf,
    A2a,
}

impl Form {
    fn text(self, receipt: &Receipt) -> String {
        match self {
            Form::Vrf => receipt.to_text(),
            Form::A2a => a2a::artifact(receipt).to_text(),
        }
    }
}

impl Export {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let mut out = out::stdout();
        if !self.ids.is_empty() {
            for id in &self.ids {
                writeln!(out, "{}", self.format.text(&read::stored(id, self.store.as_deref(), config)?))?;
            }
            return Ok(Exit::Yes);
        }
        let store = config.existing_store(self.store.as_deref())?;
        match (&self.chain, self.head) {
            (_, true) => writeln!(out, "{}", self.signed_head(&store, config)?.to_text())?,
            (Some(chain), false) => {
                let receipts = store.of(&self.tenant).chain(chain)?;
                if receipts.is_empty() {
                    bail!("export the chain `{chain}`: the store has none of that name");
                }
                for receipt in receipts {
                    writeln!(out, "{}", self.format.text(&receipt))?;
                }
            }
            (None, false) => write_decisions(&mut out, &store)?,
        }
        Ok(Exit::Yes)
    }

    fn signed_head(&self, store: &Store, config: &Config) -> anyhow::Result<ChainHead> {
        let passphrase = config.passphrase(self.passphrase_file.as_deref())?;
        let key = config.signing_key(self.key.as_deref(), passphrase.as_ref())?;
        Ok(match &self.chain {
            Some(chain) => chain_head(&store.of(&self.tenant), chain, &key)?,
            None => decisions_head(store, &key)?,
        })
    }
}

/// Writes all decisions, oldest first. The store lists the newest first, so where each page begins is remembered, and
/// what the newest page holds, which others may be added to meanwhile.
fn write_decisions(out: &mut impl Write, store: &Store) -> anyhow::Result<()> {
    let page = |after| {
        store.all_tenants_decisions(&DecisionsWanted { limit: DECISIONS_AT_ONCE, after, ..DecisionsWanted::default() })
    };
    let newest = page(None)?;
    let mut starts = Vec::new();
    let mut next = newest.next;
    while let Some(start) = next {
        starts.push(start);
        next = page(Some(start))?.next;
    }
    let mut write = |decisions: &[StoredDecision]| -> anyhow::Result<()> {
        decisions.iter().rev().try_for_each(|kept| Ok(writeln!(out, "{}", kept.document)?))
    };
    for start in starts.into_iter().rev() {
        write(&page(Some(start))?.decisions)?;
    }
    write(&newest.decisions)
}
