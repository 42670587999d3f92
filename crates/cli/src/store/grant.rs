//! `proofmark store grant`.

use std::io::Write;

use clap::{Args, ValueEnum};
use proofmark_receipt::{Json, object};
use proofmark_store::Store;

use crate::config::Config;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::paint::printable;

/// Give a role of a PostgreSQL database the rights that a worker needs, and no others
///
/// A process that uses a store as its owner can change everything in it. A worker with a role of its own can claim and end jobs
/// and store receipts: it can neither read nor write decisions, reviews, sessions, workflow runs and what is spent. The role is one that
/// can log in, as `createuser` makes it; its other rights to the store's tables are taken away.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark store grant worker proofmark_worker --dry-run

Exit codes: 0 granted; 2 the rights could not be given.")]
pub(crate) struct Grant {
    /// What the role is for
    #[arg(value_enum, value_name = "WHAT")]
    what: What,
    /// The name of the role
    #[arg(value_name = "ROLE")]
    role: String,
    #[command(flatten)]
    store: StoreAt,
    /// Print the SQL and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    Worker,
}

impl Grant {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let What::Worker = self.what;
        let statements = Store::worker_grants(&self.role)?;
        if !self.dry_run {
            self.store.open_existing(config)?.grant_worker(&self.role)?;
        }
        let mut out = out::stdout();
        if self.json {
            let line = object! { "role": self.role.as_str(), "granted": !self.dry_run, "statements": statements.iter().map(|sql| Json::from(sql.as_str())).collect::<Vec<_>>() };
            out.json(&line.to_text())?;
        } else if self.dry_run {
            statements.iter().try_for_each(|statement| writeln!(out, "{statement};"))?;
        } else {
            writeln!(out, "`{}` can run jobs and store their receipts, and nothing else", printable(&self.role))?;
        }
        Ok(Exit::Yes)
    }
}
