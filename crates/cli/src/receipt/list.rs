//! `proofmark receipt list`.

use std::io::Write;

use clap::Args;
use proofmark_receipt::{Receipt, Verdict};
use proofmark_verifier::{Cursor, Filter, Tenant};

use crate::config::Config;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::paint::{Paint, printable};

/// List the receipts in the store, newest first
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark receipt list --verdict fail
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
    /// Only receipts of this tenant: one of a server, or `local`, the command line
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// List at most this many
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,
    /// Continue after this page: the cursor that the page before printed
    #[arg(long, value_name = "CURSOR")]
    after: Option<Cursor>,
    #[command(flatten)]
    store: StoreAt,
    /// Print the receipts as JSON, one per line
    #[arg(long)]
    json: bool,
}

impl List {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let filter = Filter {
            verdict: self.verdict,
            tier: self.tier,
            task_id: self.task,
            chain: self.chain,
            limit: self.limit,
            after: self.after,
            ..Filter::default()
        };
        let page = match &self.tenant {
            Some(tenant) => store.of(tenant).list(&filter)?,
            None => store.all_tenants_receipts(&filter)?,
        };
        let mut out = out::stdout();
        let paint = Paint::for_stdout();
        for receipt in page.receipts.iter().map(|stored| &stored.receipt) {
            match self.json {
                true => writeln!(out, "{}", receipt.to_text())?,
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
}

fn line(receipt: &Receipt, paint: Paint) -> String {
    let results = receipt.results();
    let task = receipt.task().and_then(|task| task.task_id.as_deref().or(task.description.as_deref()));
    let verdict = receipt.verdict();
    let gap = " ".repeat(7_usize.saturating_sub(verdict.as_str().len()));
    format!(
        "{} {} {}{gap} {}/{} {}",
        receipt.receipt_id(),
        receipt.verified_at(),
        paint.verdict(verdict),
        results.passed,
        results.total,
        printable(task.unwrap_or_default()),
    )
}
