//! `proofmark quorum`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use proofmark_quorum::{AgreeOn, Bundle, Challenge, Composition, Member};
use proofmark_receipt::Task;
use proofmark_store::Tenant;
use proofmark_verifier::{Destination, Issuer, Presented, VERIFIER, now, receipt_id};

use crate::config::Config;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::options::{Signing, StoreAt};
use crate::out;

/// Collect reviews of the same work in one receipt of tier 2, which every reader counts again
///
/// Reviews are receipts of several signers over the same specification and output. Prints the receipt of the quorum and then its members,
/// one per line: they travel together. `proofmark receipt verify` counts them, by the reader's own file of reviewers.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark quorum --receipts reviews --threshold 2 > quorum.jsonl
  proofmark quorum --receipts reviews --threshold 2 --agree-on outcomes > quorum.jsonl

Exit codes: 0 pass; 1 fail; 2 too few reviews agree, or they cannot be collected.")]
pub(crate) struct Quorum {
    /// The folder of the reviews: `.json` with one receipt, `.jsonl` with one per line
    #[arg(long, value_name = "DIR")]
    receipts: PathBuf,
    /// How many of them have to agree: more than half
    #[arg(long, value_name = "K")]
    threshold: usize,
    /// Which reviews agree
    #[arg(long, value_enum, default_value = "verdict", value_name = "HOW")]
    agree_on: AgreeOnName,
    /// The 64 hex digits that every reviewer was given and has repeated, so that no review is older than these
    #[arg(long, value_name = "HEX")]
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
        let folders: [&Path; 1] = [&self.receipts];
        let reviews = Presented { folders: &folders, ..Presented::default() }.read()?.receipts;
        let members: Vec<Member<'_>> = reviews.iter().map(|receipt| Member { receipt, head: None }).collect();
        let agree_on = match self.agree_on {
            AgreeOnName::Verdict => AgreeOn::Verdict,
            AgreeOnName::Outcomes => AgreeOn::Outcomes,
        };
        let composition =
            Composition { members: &members, threshold: self.threshold, agree_on, challenge: self.challenge };
        let draft = composition.draft(receipt_id()?, now());
        let mut draft = draft.map_err(|error| CommandError::new(error.to_string(), error.help()))?;
        draft.task = self.task.map(|task_id| Task { task_id: Some(task_id), ..Task::default() });
        draft.metadata.insert("verifier", VERIFIER);
        let key = self.signing.key(config)?;
        let store = Arc::new(self.store.open(config)?);
        let to = Destination::of(&Tenant::LOCAL);
        let receipt = Issuer::with(Arc::new(key), store).issue(draft, to)?.wait()?;
        let exit = Exit::from(receipt.verdict());
        // In the order in which the quorum lists them.
        let listed = proofmark_quorum::Quorum::read(&receipt).map_err(|error| anyhow!("read the quorum: {error}"))?;
        let find = |hash| reviews.iter().find(|review| review.hash() == hash).cloned();
        let members = listed.reviews.iter().filter_map(|review| find(review.hash)).collect();
        out::stdout().write_all(Bundle { receipt, members }.to_text().as_bytes())?;
        Ok(exit)
    }
}
