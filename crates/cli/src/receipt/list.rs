//! `proofmark receipt list`.

use clap::Args;
use proofmark_evidence::ReceiptKind;
use proofmark_receipt::{Receipt, Verdict};
use proofmark_store::{Filter, Store};

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::listing::{Cell, Listing};
use crate::options::{OfTenant, Paging, Period, StoreAt};
use crate::out;

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
    period: Period,
    #[command(flatten)]
    of: OfTenant,
    #[command(flatten)]
    paging: Paging,
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
            since: self.period.since.from,
            until: self.period.until,
            limit: self.paging.limit,
            after: self.paging.after,
            ..Filter::default()
        };
        let page = match &self.of.tenant {
            Some(tenant) => store.of(tenant).list(&filter)?,
            None => store.all_tenants_receipts(&filter)?,
        };
        let receipts = page.receipts.iter().map(|stored| &stored.receipt);
        if self.json {
            let mut out = out::stdout();
            receipts.map(Receipt::to_text).try_for_each(|text| out.json(&text))?;
        } else {
            let mut listing = Listing::new(["RECEIPT", "VERIFIED AT", "VERDICT", "CHECKS", "KIND", "TASK"]);
            receipts.for_each(|receipt| listing.push(row(receipt)));
            listing.print("no receipts: `proofmark verify` issues one for each request")?;
        }
        if page.unreadable > 0 {
            out::note(format_args!("{} receipts were left out: the store cannot read them back", page.unreadable));
        }
        if let Some(next) = page.next {
            Paging::say_more(next);
        }
        Ok(Exit::Yes)
    }

    /// Refuses the name of a chain without receipts: it is mistyped.
    fn require_chain(&self, store: &Store, chain: &str) -> anyhow::Result<()> {
        let wanted = Filter { chain: Some(chain.to_owned()), limit: 1, ..Filter::default() };
        let found = match &self.of.tenant {
            Some(tenant) => store.of(tenant).list(&wanted)?,
            None => store.all_tenants_receipts(&wanted)?,
        };
        if found.receipts.is_empty() && found.unreadable == 0 {
            return Err(with_help(
                format!("list the chain `{chain}`: no chain in the store has this name"),
                "`proofmark verify --chain NAME` starts a chain",
            ));
        }
        Ok(())
    }
}

fn row(receipt: &Receipt) -> [Cell; 6] {
    let verdict = receipt.verdict();
    let word = if verdict == Verdict::Pass { Cell::good } else { Cell::bad };
    let results = receipt.results();
    let kind = ReceiptKind::of(receipt).map_or("unknown", ReceiptKind::as_str);
    let task = receipt.task().and_then(|task| task.task_id.as_deref().or(task.description.as_deref()));
    [
        receipt.receipt_id().to_string().into(),
        receipt.verified_at().as_str().into(),
        word(verdict.as_str()),
        format!("{}/{}", results.passed, results.total).into(),
        kind.into(),
        task.unwrap_or_default().into(),
    ]
}
