//! `proofmark quorum`.

mod peers;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use proofmark_quorum::{AgreeOn, Challenge};
use proofmark_store::Tenant;
use proofmark_verifier::{CollectError, Collecting, Destination, Issuer, Presented};

use crate::config::Config;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::options::{Signing, StoreAt};
use crate::out;

/// Collect reviews of the same work in one receipt of tier 2, which every reader counts again
///
/// Reviews are receipts of several signers over the same specification and output: those of a folder, and those of servers that verify the
/// work now. Prints the receipt of the quorum and then its members, one per line: they travel together. `proofmark receipt verify` counts
/// them, by the reader's own file of reviewers.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark quorum --receipts reviews --threshold 2 > quorum.jsonl
  proofmark quorum --receipts reviews --threshold 2 --agree-on outcomes > quorum.jsonl
  proofmark quorum --request request.json --peers http://127.0.0.1:8700 --receipts reviews --threshold 2 > quorum.jsonl

Exit codes: 0 pass; 1 fail; 2 too few reviews agree, or they cannot be collected.")]
pub(crate) struct Quorum {
    /// The folder of the reviews: `.json` with one receipt, `.jsonl` with one per line
    #[arg(long, value_name = "DIR", required_unless_present = "peers")]
    receipts: Option<PathBuf>,
    #[command(flatten)]
    asked: peers::Asked,
    /// How many of them have to agree: more than half
    #[arg(long, value_name = "K")]
    threshold: usize,
    /// Which reviews agree
    #[arg(long, value_enum, default_value = "verdict", value_name = "HOW")]
    agree_on: AgreeOnName,
    /// The 64 hex digits that every reviewer was given and has repeated, so that no review is older than these
    #[arg(long, value_name = "HEX", conflicts_with = "peers")]
    challenge: Option<Challenge>,
    /// The id of the task, in the client's system
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    store: StoreAt,
}

#[derive(Clone, Copy, ValueEnum)]
enum AgreeOnName {
    /// Those with the same verdict
    Verdict,
    /// Of these, those whose checks all have the same status
    Outcomes,
}

impl Quorum {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let folders: Vec<&Path> = self.receipts.iter().map(PathBuf::as_path).collect();
        let mut reviews = Presented { folders: &folders, ..Presented::default() }.read()?.receipts;
        reviews.extend(self.asked.receipts()?);
        let agree_on = match self.agree_on {
            AgreeOnName::Verdict => AgreeOn::Verdict,
            AgreeOnName::Outcomes => AgreeOn::Outcomes,
        };
        let (threshold, challenge, task_id) = (self.threshold, self.challenge, self.task);
        let collecting = Collecting { threshold, agree_on, challenge, task_id };
        let failed = |error: CollectError| CommandError::new(error.to_string(), error.help());
        let composed = collecting.compose(&reviews).map_err(failed)?;
        let issuer = Issuer::with(Arc::new(self.signing.key(config)?), Arc::new(self.store.open(config)?));
        let bundle = composed.issue(&issuer, Destination::of(&Tenant::LOCAL)).map_err(failed)?;
        out::stdout().write_all(bundle.to_text().as_bytes())?;
        Ok(Exit::from(bundle.receipt.verdict()))
    }
}
