//! `proofmark finding`.

use clap::{Args, Subcommand};
use proofmark_receipt::{Json, Timestamp, object};
use proofmark_store::{Finding as StoredFinding, Store, StoreError, Tenant, TenantsFindings};

use crate::config::Config;
use crate::exit::Exit;
use crate::listing::{Cell, Listing};
use crate::options::{OfTenant, Paging, Since, StoreAt};
use crate::out;

/// List executions that differ from what was decided
#[derive(Subcommand)]
pub(crate) enum Finding {
    List(List),
}

/// List executions that differ from what was decided, newest first
///
/// A server compares reports of executions with its decisions.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark finding list --since 7d
  proofmark finding list --json

Exit codes: 0 no findings; 1 findings; 2 the store could not be read.")]
pub(crate) struct List {
    #[command(flatten)]
    since: Since,
    #[command(flatten)]
    of: OfTenant,
    #[command(flatten)]
    paging: Paging,
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Finding {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Finding::List(command) => command.run(config),
        }
    }
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let TenantsFindings { mut findings, mut next } = self.page(&self.store.open_existing(config)?)?;
        // The newest come first, so the rest is older still.
        if let Some(from) = self.since.from
            && let Some(older) = findings.iter().position(|(_, finding)| finding.found_at < from)
        {
            findings.truncate(older);
            next = None;
        }
        if self.json {
            let mut out = out::stdout();
            findings.iter().try_for_each(|(tenant, finding)| out.json(&json(tenant, finding).to_text()))?;
        } else {
            let mut listing = Listing::new(["FOUND AT", "DECISION", "FINDING", "MESSAGE"]);
            findings.iter().for_each(|(_, finding)| listing.push(row(finding)));
            listing.print("no findings: every reported execution matches its decision")?;
        }
        if let Some(next) = next {
            Paging::say_more(next);
        }
        Ok(if findings.is_empty() { Exit::Yes } else { Exit::No })
    }

    fn page(&self, store: &Store) -> Result<TenantsFindings, StoreError> {
        let (limit, after) = (self.paging.limit, self.paging.after);
        let Some(tenant) = &self.of.tenant else { return store.all_tenants_findings(limit, after) };
        let page = store.of(tenant).findings(None, limit, after)?;
        let findings = page.findings.into_iter().map(|finding| (tenant.clone(), finding)).collect();
        Ok(TenantsFindings { findings, next: page.next })
    }
}

fn row(finding: &StoredFinding) -> [Cell; 4] {
    let found_at = Timestamp::from_unix_millis(finding.found_at);
    [
        found_at.as_str().into(),
        finding.decision_id.as_str().into(),
        finding.code.as_str().into(),
        finding.message.as_str().into(),
    ]
}

fn json(tenant: &Tenant, finding: &StoredFinding) -> Json {
    object! {
        "tenant": tenant.as_str(),
        "decision_id": finding.decision_id.as_str(),
        "code": finding.code.as_str(),
        "message": finding.message.as_str(),
        "found_at": Timestamp::from_unix_millis(finding.found_at).as_str(),
    }
    .into()
}
