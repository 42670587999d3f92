//! `proofmark receipt list`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use proofmark_receipt::{Receipt, Verdict};
use proofmark_verifier::{Cursor, Filter, Tenant};

use crate::config::Config;
use crate::exit::Exit;
use crate::out;
use crate::paint::{Paint, tame};

/// List the receipts in the store, newest first
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark receipt list --verdict fail
  proofmark receipt list --chain nightly --json")]
pub(crate) struct List {
    /// Only those with this verdict: pass, fail, partial or error
    #[arg(long)]
    verdict: Option<Verdict>,
    /// Only those of this tier
    #[arg(long)]
    tier: Option<u8>,
    /// Only those of this task
    #[arg(long, value_name = "TASK_ID")]
    task: Option<String>,
    /// Only those of this chain
    #[arg(long, value_name = "NAME")]
    chain: Option<String>,
    /// Only those of this tenant of a server, or of `local`, the command line
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// At most this many
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,
    /// Go on after this page
    #[arg(long, value_name = "CURSOR")]
    after: Option<Cursor>,
    /// List this database
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Print the receipts, one compact line each
    #[arg(long)]
    json: bool,
}

impl List {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = config.existing_store(self.store.as_deref())?;
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
        for receipt in page.receipts.iter().map(|kept| &kept.receipt) {
            match self.json {
                true => writeln!(out, "{}", receipt.to_text())?,
                false => writeln!(out, "{}", line(receipt, paint))?,
            }
        }
        drop(out);
        if page.unreadable > 0 {
            out::say(format_args!("{} receipts were left out: they are not as they were kept", page.unreadable));
        }
        if let Some(next) = page.next {
            out::say(format_args!("there are more: go on with --after {next}"));
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
        tame(task.unwrap_or_default()),
    )
}
