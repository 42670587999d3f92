//! `proofmark approve`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use proofmark_evidence::span;
use proofmark_verifier::{Decider, Store};

use crate::config::{self, Config};
use crate::decide::{decision_receipt, genuine};
use crate::exit::Exit;
use crate::out;

/// The longest an approval may count.
const MAX_EXPIRY: i64 = 30 * 86_400_000;

/// Approve the action a decision receipt is about, as a human reviewer
///
/// The approval is a signed receipt of tier 3, bound to exactly this action, asked for by this agent in this environment:
/// it expires, and it is spent with the decision it allows. A key approves a decision once.
#[derive(Args)]
#[command(after_help = "Example:
  proofmark approve decision.json --key reviewer --note \"checked with the customer\" --expires 1h > approval.json")]
pub(crate) struct Approve {
    /// The decision receipt of the action
    decision: PathBuf,
    /// The reviewer's key: a name, or the path of a key file
    #[arg(long, value_name = "KEY")]
    key: String,
    /// Why it is approved
    #[arg(long)]
    note: String,
    /// How long the approval counts: 30m, 1h, 2d
    #[arg(long, default_value = "1h", value_parser = expiry)]
    expires: i64,
    /// In which role [default: the one the decision asks for]
    #[arg(long)]
    role: Option<String>,
    /// Trust this signer of decisions [default: this home's own key]
    #[arg(long, value_name = "KEY")]
    trust: Vec<String>,
    /// The passphrase of the key is in this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Keep the approval in this database
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

impl Approve {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let passphrase = config.passphrase(self.passphrase_file.as_deref())?;
        let decision = decision_receipt(&self.decision)?;
        let mut trusted = config::trusted(&self.trust)?;
        if trusted.is_empty() {
            trusted.push(config.signing_key(None, passphrase.as_ref())?.signer());
        }
        genuine(&decision, &trusted, &self.decision)?;
        let key = config.keyring().load(&self.key, passphrase.as_ref())?;
        let store = Store::open(&config.store_path(self.store.as_deref()))?;
        let reviewer = Decider::for_command_line(None, key, store, trusted);
        let receipt = reviewer.approve(&decision, self.role.as_deref(), &self.note, self.expires)?;
        writeln!(out::stdout(), "{}", receipt.to_text())?;
        Ok(Exit::Yes)
    }
}

/// A span of time up to [`MAX_EXPIRY`], in milliseconds.
fn expiry(text: &str) -> anyhow::Result<i64> {
    let millis = span::millis(text).filter(|millis| *millis <= MAX_EXPIRY);
    millis.ok_or_else(|| anyhow!("`{text}` is not a span of time; write one as in 30m, 1h30m or 2d, 30d at most"))
}
