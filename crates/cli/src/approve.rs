//! `proofmark approve`.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use proofmark_boundary::DecisionReceipt;
use proofmark_evidence::span;
use proofmark_receipt::Receipt;
use proofmark_verifier::Decider;

use crate::config::Config;
use crate::decide::require_trusted;
use crate::decision_page::SHORT_ID;
use crate::exit::Exit;
use crate::options::{StoreAt, Trusting, Unlock};
use crate::out;
use crate::paint::printable;
use crate::receipt::read;

/// The longest time for which an approval counts, in milliseconds: 30 days.
const MAX_EXPIRY: i64 = 30 * 86_400_000;

/// Approve the action of a decision receipt, as a human reviewer
///
/// The approval is a signed receipt of tier 3. It is bound to this action, requested by this agent in this environment; it
/// expires, and the decision that it allows spends it. A key can approve a decision once.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark approve 97473953 --key reviewer --note \"checked with the customer\"
  proofmark approve decision.json --key reviewer --note \"checked\" --expires 1h > approval.json")]
pub(crate) struct Approve {
    /// The decision of the action: its id (the first digits suffice), the file of its receipt, or - for standard input
    #[arg(value_name = "FILE|ID|-")]
    decision: String,
    /// The reviewer's key: a name, or the path of a key file
    #[arg(long, value_name = "KEY")]
    key: String,
    /// The reason for the approval
    #[arg(long)]
    note: String,
    /// How long the approval counts: 30m, 1h, 2d, at most 30d
    #[arg(long, default_value = "1h", value_parser = expiry)]
    expires: i64,
    /// The role in which the reviewer approves [default: the role that the decision asks for]
    #[arg(long)]
    role: Option<String>,
    /// Print the approval as JSON, also on a terminal
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    unlock: Unlock,
    #[command(flatten)]
    store: StoreAt,
}

impl Approve {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let decision = read::decision(&self.decision, &self.store, config)?;
        let key = self.unlock.load(config, &self.key)?;
        let trusted = self.trusting.signers(config)?.with_own(key.signer());
        // An approval is of the action that the decision states, so only a trusted decision may be approved.
        require_trusted(&decision, &trusted, &self.decision)?;
        let store = self.store.open(config)?;
        let reviewer = Decider::for_command_line(None, key, store, trusted);
        let receipt = reviewer.approve(&decision, self.role.as_deref(), &self.note, self.expires)?;
        let said = self.said(&decision, &receipt);
        if io::stdout().is_terminal() && !self.json {
            writeln!(out::stdout(), "{said}\n  approval {}", receipt.receipt_id())?;
            return Ok(Exit::Yes);
        }
        writeln!(out::stdout(), "{}", receipt.to_text())?;
        if io::stderr().is_terminal() {
            out::note(said);
        }
        Ok(Exit::Yes)
    }

    /// What was approved, on one line.
    fn said(&self, decision: &DecisionReceipt, receipt: &Receipt) -> String {
        let id = decision.decision_id().to_string();
        let approval =
            receipt.document().as_object().and_then(|receipt| receipt.get("metadata")?.as_object()?.get("approval"));
        let text = |name: &str| approval.and_then(|approval| approval.as_object()?.get(name)?.as_str());
        let (role, until) = (text("role").unwrap_or_default(), text("expires_at").unwrap_or_default());
        let short = id.get(..SHORT_ID).unwrap_or(&id);
        printable(&format!("approved {short} as {role} by {}, valid until {until}", self.key))
    }
}

/// A duration of at most [`MAX_EXPIRY`], in milliseconds.
fn expiry(text: &str) -> Result<i64, &'static str> {
    let millis = span::millis(text).filter(|millis| *millis <= MAX_EXPIRY);
    millis.ok_or("invalid duration; write one as in 30m, 1h30m or 2d, at most 30d")
}
