//! `proofmark store check`.

use std::io::{self, Write};

use clap::Args;
use proofmark_receipt::{Json, object};
use proofmark_store::{CheckedStore, Wrong as WrongRow};
use proofmark_verifier::check_store;

use super::{contents, shown};
use crate::config::Config;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::paint::{Paint, printable};
use crate::progress::{Progress, Work};

/// Verify everything in the store
///
/// Every document is read, its hash and its signature are verified, and so is its place in its chain. The columns beside the
/// documents are compared with them, and the counts, the times and what waits with the rows. Chains are compared with what
/// `$PROOFMARK_HOME` says of their ends. A signature is verified by the key that
/// its document names: whether you trust that key is a question for `proofmark receipt verify`. The state of a workflow step is a fault
/// unless a key that you trust for acceptances has signed it, or for approvals where it was reopened. The store can be used
/// meanwhile; what is verified is what it had at one moment.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark store check
  proofmark store check --json

Exit codes: 0 sound; 1 faults were found; 2 the store could not be read.")]
pub(crate) struct Check {
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object per fault, and one for the whole store at the end
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let (paint, progress) = (Paint::for_stdout(), Progress::new(Work::Whole("reading the store")));
        let mut written = Ok(());
        let mut found = |wrong: WrongRow| {
            if written.is_ok() {
                written = progress.suspend(|| self.write(&wrong));
            }
        };
        let mut at = |table: &str, rows: u64| progress.at(format!("{table}: {rows} rows"));
        let trusted = config.known_signers()?.trusted(&[])?;
        let checked = check_store(&store, trusted.signers(), &mut found, &mut at)?;
        written?;
        drop(progress);
        // Nothing of the store itself says that.
        let losses = store.losses()?;
        for loss in &losses {
            let detail = loss.to_string();
            self.write(&WrongRow { code: "behind", table: "chains", row: loss.chain(), detail })?;
        }
        let CheckedStore { receipts, chains, decisions, sessions, entries, faults } = checked;
        let faults = faults.saturating_add(losses.len() as u64);
        let place = self.store.place(config).to_string();
        if self.json {
            let whole = object! {
                "store": place,
                "sound": faults == 0,
                "receipts": receipts,
                "chains": chains,
                "decisions": decisions,
                "sessions": sessions,
                "session_entries": entries,
                "faults": faults,
            };
            out::stdout().json(&Json::from(whole).to_text())?;
        } else {
            let result = match faults {
                0 => paint.good("sound"),
                1 => paint.bad("1 fault"),
                _ => paint.bad(&format!("{faults} faults")),
            };
            writeln!(out::stdout(), "{result} {}\n  {}", printable(&place), contents(&checked))?;
        }
        Ok(if faults == 0 { Exit::Yes } else { Exit::No })
    }

    fn write(&self, wrong: &WrongRow) -> io::Result<()> {
        let mut out = out::stdout();
        if self.json {
            return out.json(&fault(wrong));
        }
        writeln!(out, "{}", shown(Paint::for_stdout(), wrong))
    }
}

fn fault(wrong: &WrongRow) -> String {
    let object = object! {
        "fault": wrong.code,
        "table": wrong.table,
        "row": wrong.row.as_str(),
        "message": wrong.detail.as_str(),
    };
    Json::from(object).to_text()
}
