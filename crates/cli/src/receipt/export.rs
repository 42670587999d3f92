//! `proofmark receipt export`.

use std::io::Write;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use proofmark_interop::a2a;
use proofmark_receipt::Receipt;
use proofmark_store::{Decision as StoredDecision, DecisionsWanted, Store, Tenant};

use super::read::{self, Stored};
use crate::config::Config;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;

/// How many decisions a page of the store has.
const DECISIONS_AT_ONCE: usize = 1_000;

/// Print stored receipts, a chain, or all decisions
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark receipt export 3f2a9c1e > receipt.json
  proofmark receipt export 3f2a9c1e --as a2a > artifact.json
  proofmark receipt export --chain nightly > nightly.jsonl
  proofmark receipt export --decisions > decisions.jsonl")]
pub(crate) struct Export {
    /// Ids in the store; the first digits suffice
    #[arg(required_unless_present_any = ["chain", "decisions"], conflicts_with_all = ["chain", "decisions"], value_name = "ID")]
    ids: Vec<String>,
    /// Print every receipt of this chain, in order
    #[arg(long, value_name = "NAME")]
    chain: Option<String>,
    /// The tenant of the chain: one of a server, or `local`, the command line
    #[arg(long, value_name = "TENANT", requires = "chain", default_value_t = Tenant::LOCAL)]
    tenant: Tenant,
    /// Print every decision, in order: they are one chain
    #[arg(long, conflicts_with_all = ["chain", "form"])]
    decisions: bool,
    /// Print receipts as they are, or each as an artifact of the Agent2Agent protocol
    #[arg(long = "as", value_enum, default_value_t = Form::Vrf, value_name = "FORM")]
    form: Form,
    #[command(flatten)]
    store: StoreAt,
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
                let document = read::stored(id, &self.store, config)?;
                let text = match (&document, self.form) {
                    (Stored::Receipt(receipt), form) => form.text(receipt),
                    (Stored::Decision(_), Form::Vrf) => document.to_text(),
                    (Stored::Decision(_), Form::A2a) => {
                        return Err(anyhow!(
                            "export `{id}` as an artifact: it is a decision, and only receipts are artifacts"
                        ));
                    }
                };
                writeln!(out, "{text}")?;
            }
            return Ok(Exit::Yes);
        }
        let store = self.store.open_existing(config)?;
        let Some(chain) = &self.chain else {
            write_decisions(&mut out, &store)?;
            return Ok(Exit::Yes);
        };
        let receipts = store.of(&self.tenant).chain(chain)?;
        if receipts.is_empty() {
            return Err(anyhow!("export the chain `{chain}`: no chain in the store has this name"));
        }
        receipts.iter().try_for_each(|receipt| writeln!(out, "{}", self.form.text(receipt)))?;
        Ok(Exit::Yes)
    }
}

/// Writes all decisions, oldest first. The store lists the newest first, so a first pass collects where each page begins.
/// The newest page is held in memory: decisions that other processes add meanwhile would shift it.
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
        decisions.iter().rev().try_for_each(|decision| Ok(writeln!(out, "{}", decision.document)?))
    };
    // Each page is read again, so that memory holds two pages and not every decision.
    for start in starts.into_iter().rev() {
        write(&page(Some(start))?.decisions)?;
    }
    write(&newest.decisions)
}
