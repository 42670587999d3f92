//! `proofmark receipt list`.

use std::io::{IsTerminal, Write};

use clap::Args;
use proofmark_evidence::ReceiptKind;
use proofmark_receipt::{Receipt, Verdict};
use proofmark_store::{Filter, Store};

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::options::{Listed, StoreAt};
use crate::out;
use crate::paint::{Paint, printable};

/// List the receipts in the store, newest first
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark receipt list --verdict fail
  proofmark receipt list --since 2026-03-01T00:00:00Z --until 2026-04-01T00:00:00Z
  proofmark receipt list --chain nightly --json")]
pub(crate) struct List {
    /// Only receipts with this verdict: pass, fail, partial or error
    #[arg(long)]
    verdict: Option<Verdict>,
    /// Only receipts of this tier
    #[arg(long)]
    tier: Option<u8>,
    /// Only receipts of this task
    #[arg(long, value_name = "TASK_ID")]
    task: Option<String>,
    /// Only receipts of this chain
    #[arg(long, value_name = "NAME")]
    chain: Option<String>,
    #[command(flatten)]
    listed: Listed,
    #[command(flatten)]
    store: StoreAt,
    /// Print the receipts as JSON, one per line
    #[arg(long)]
    json: bool,
}

impl List {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        if let Some(chain) = &self.chain {
            self.require_chain(&store, chain)?;
        }
        let filter = Filter {
            verdict: self.verdict,
            tier: self.tier,
            task_id: self.task,
            chain: self.chain,
            since: self.listed.period.since,
            until: self.listed.period.until,
            limit: self.listed.limit,
            after: self.listed.after,
            ..Filter::default()
        };
        let page = match &self.listed.tenant {
            Some(tenant) => store.of(tenant).list(&filter)?,
            None => store.all_tenants_receipts(&filter)?,
        };
        let mut out = out::stdout();
        let paint = Paint::for_stdout();
        // Only for people: scripts read the lines of a pipe.
        if !self.json && !page.receipts.is_empty() && std::io::stdout().is_terminal() {
            let heading =
                format!("{:<36} {:<24} {:<7} {:<6} {:<15} task", "receipt", "time", "verdict", "checks", "kind");
            writeln!(out, "{}", paint.dim(&heading))?;
        }
        for receipt in page.receipts.iter().map(|stored| &stored.receipt) {
            match self.json {
                true => out.json(&receipt.to_text())?,
                false => writeln!(out, "{}", line(receipt, paint))?,
            }
        }
        drop(out);
        if page.unreadable > 0 {
            out::note(format_args!("{} receipts were left out: the store cannot read them back", page.unreadable));
        }
        if let Some(next) = page.next {
            out::note(format_args!("there are more: continue with --after {next}"));
        }
        Ok(Exit::Yes)
    }

    /// Refuses the name of a chain without receipts: it is mistyped.
    fn require_chain(&self, store: &Store, chain: &str) -> anyhow::Result<()> {
        let wanted = Filter { chain: Some(chain.to_owned()), limit: 1, ..Filter::default() };
        let found = match &self.listed.tenant {
            Some(tenant) => store.of(tenant).list(&wanted)?,
            None => store.all_tenants_receipts(&wanted)?,
        };
        match found.receipts.is_empty() && found.unreadable == 0 {
            true => Err(with_help(
                format!("list the chain `{chain}`: no chain in the store has this name"),
                "`proofmark verify --chain NAME` starts a chain",
            )),
            false => Ok(()),
        }
    }
}

fn line(receipt: &Receipt, paint: Paint) -> String {
    let results = receipt.results();
    let task = receipt.task().and_then(|task| task.task_id.as_deref().or(task.description.as_deref()));
    let verdict = receipt.verdict();
    let gap = " ".repeat(7_usize.saturating_sub(verdict.as_str().len()));
    let checks = format!("{}/{}", results.passed, results.total);
    let kind = ReceiptKind::of(receipt).map_or("unknown", ReceiptKind::as_str);
    format!(
        "{} {} {}{gap} {checks:<6} {kind:<15} {}",
        receipt.receipt_id(),
        receipt.verified_at(),
        paint.verdict(verdict),
        printable(task.unwrap_or_default()),
    )
}
