//! `proofmark store copy`.

use std::io::Write;

use clap::Args;
use proofmark_receipt::{Json, Object, object};
use proofmark_store::{
    Copied, CopyOrder, CopyStep, CopyWatch, Place as StorePlace, Wrong as WrongRow, copy as copy_store,
};

use super::{contents, shown};
use crate::exit::Exit;
use crate::options::warn_of_password;
use crate::out;
use crate::paint::{Paint, printable};
use crate::progress::{Progress, Work};

/// How many faults of the source are printed.
const MAX_FAULTS: usize = 20;

/// Copy the store to a new file or into an empty PostgreSQL database
///
/// Everything stays: numbers, chains, cursors, what is spent and what waits. While it is copied, the source can be read, and
/// nothing is stored in it: servers answer that it is locked. At the end all rows of both are compared. Then the source can only be
/// read, also by processes that have it open, and says where it went. A copy that was interrupted is finished by the same
/// command; until then the source is as before. A URL is written as `postgres://user@host/database`; its password is read from
/// `~/.pgpass` or PGPASSWORD.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark store copy --from proofmark.db --to copy.db
  proofmark store copy --from proofmark.db --to copy.db --json

Exit codes: 0 copied; 1 the source has faults, and was not copied; 2 the copy could not be made.")]
pub(crate) struct Copy {
    /// The store to copy: a file, or the URL of a PostgreSQL database
    #[arg(long, value_name = "FILE|URL")]
    from: StorePlace,
    /// Where to: a new file, or the URL of an empty database
    #[arg(long, value_name = "FILE|URL")]
    to: StorePlace,
    /// Copy a source that has faults, as it is
    #[arg(long)]
    with_faults: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Copy {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        warn_of_password("--from", &self.from);
        warn_of_password("--to", &self.to);
        let order = CopyOrder { from: self.from, to: self.to, with_faults: self.with_faults };
        let progress = Progress::new(Work::Whole("opening the stores"));
        let mut faults = Vec::new();
        let mut watch = CopyWatch {
            progress: &mut |step, table, rows| progress.at(format!("{} {table}: {rows} rows", doing(step))),
            fault: &mut |wrong| {
                if faults.len() < MAX_FAULTS {
                    faults.push(wrong);
                }
            },
        };
        let copied = copy_store(&order, &mut watch);
        drop(progress);
        let paint = Paint::for_stderr();
        faults.iter().filter(|_| !self.json).for_each(|wrong: &WrongRow| out::note(shown(paint, wrong)));
        match copied {
            Ok(copied) => {
                if self.json {
                    out::stdout().json(&Json::from(object_of(&order, &copied)).to_text())?;
                } else {
                    print(&order, &copied)?;
                }
                Ok(Exit::Yes)
            }
            Err(error) if error.is_fault_of_source() => {
                out::report(&error.into());
                Ok(Exit::No)
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn doing(step: CopyStep) -> &'static str {
    match step {
        CopyStep::Checking => "verifying",
        CopyStep::Copying => "copying",
        CopyStep::Comparing => "comparing",
    }
}

fn print(order: &CopyOrder, copied: &Copied) -> anyhow::Result<()> {
    let mut out = out::stdout();
    let (from, to) = (printable(&order.from.to_string()), printable(&order.to.to_string()));
    let rows: u64 = copied.rows.iter().map(|(_, rows)| rows).sum();
    writeln!(out, "{} {from} to {to}", Paint::for_stdout().good("copied"))?;
    writeln!(out, "  {}", contents(&copied.source))?;
    write!(out, "  {rows} rows, each compared")?;
    match copied.earlier {
        0 => writeln!(out)?,
        earlier => writeln!(out, "; {earlier} of them were copied before it was interrupted")?,
    }
    if copied.source.faults > 0 {
        let faults = copied.source.faults;
        writeln!(out, "  it has the faults of the source: {faults}; `proofmark store check` lists them")?;
    }
    writeln!(out, "  {from} can only be read from here on")?;
    writeln!(out, "next: have every program use the copy, with `--store` or PROOFMARK_STORE")?;
    Ok(())
}

fn object_of(order: &CopyOrder, copied: &Copied) -> Object {
    let mut rows = Object::new();
    for (table, count) in &copied.rows {
        rows.insert(*table, *count);
    }
    object! {
        "from": order.from.to_string(),
        "to": order.to.to_string(),
        "rows": rows,
        "copied_before": copied.earlier,
        "receipts": copied.source.receipts,
        "chains": copied.source.chains,
        "decisions": copied.source.decisions,
        "faults": copied.source.faults,
    }
}
