//! `proofmark decision approve`.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;
use proofmark_boundary::DecisionReceipt;
use proofmark_decider::{ApprovalTerms, Decider};
use proofmark_receipt::Receipt;

use super::shown;
use crate::config::Config;
use crate::decide::require_trusted;
use crate::decision_page::short_id;
use crate::exit::Exit;
use crate::options::{ReviewBy, StoreAt, Trusting, review_expiry};
use crate::out;
use crate::paint::printable;
use crate::receipt::read;

use super::scope::{Offers, ScopeBy};

/// Approve the action of a decision receipt, as a human reviewer
///
/// The action is printed first, on standard error: tool, arguments, who asks, and what blocks it. On a terminal you are asked; elsewhere
/// `--yes` is needed. Where the policy that decided is at hand, it is said how far an approval may reach, and one that reaches further is
/// refused.
///
/// The approval is a signed receipt of tier 3, and binds what was shown. It is bound to this action, requested by this agent in this environment; it
/// expires, and the decision that it allows spends it. A key can approve a decision once.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark decision approve 97473953 --key reviewer --note \"checked with the customer\" --yes
  proofmark decision approve decision.json --key reviewer --note \"checked\" --expires 1h --yes > approval.json
  proofmark decision approve 97473953 --key reviewer --note \"this week\" --scope pattern --any args.source --until 7d --yes")]
pub(crate) struct Approve {
    #[command(flatten)]
    by: ReviewBy,
    /// How long the approval counts: 30m, 1h, 2d, at most 30d
    #[arg(long, visible_alias = "until", default_value = "1h", value_name = "DURATION", value_parser = review_expiry)]
    expires: i64,
    /// The role in which the reviewer approves [default: the role that the decision asks for]
    #[arg(long)]
    role: Option<String>,
    #[command(flatten)]
    scope: ScopeBy,
    /// The action policy that decided, which says how far an approval may reach [default: as for `proofmark decide`]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Print the approval as JSON, also on a terminal
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    store: StoreAt,
}

impl Approve {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let decision = read::decision(&self.by.decision, &self.store, config)?;
        let key = self.by.unlock.load(config, &self.by.key)?;
        let trusted = self.trusting.deciders(config)?.with_own(key.signer());
        // An approval is of the action that the decision states, so only a trusted decision may be approved.
        require_trusted(&decision, &trusted, &self.by.decision)?;
        let scope = self.scope.wanted()?;
        let store = self.store.open(config)?;
        let action = shown::of_decision(&decision, Some(&store), self.by.request.as_deref())?;
        action.print(&decision)?;
        let reviewer = Decider::for_command_line(None, key, store, trusted);
        Offers::of(self.policy.clone(), &decision, self.role.as_deref(), config)?
            .check(scope.as_ref(), self.expires)?;
        ScopeBy::announce(&reviewer, &decision, scope.as_ref())?;
        if !shown::ask("approve", &decision.decision_id().to_string(), self.by.yes)? {
            return Ok(Exit::No);
        }
        let shown = action.statement.shown();
        let terms = ApprovalTerms {
            role: self.role.as_deref(),
            note: &self.by.note,
            expires_in: self.expires,
            scope: scope.as_ref(),
        };
        let receipt = reviewer.approve(&decision, shown, &terms)?;
        let said = self.said(&decision, &receipt);
        if io::stdout().is_terminal() && !self.json {
            writeln!(out::stdout(), "{said}\n  approval {}", receipt.receipt_id())?;
            return Ok(Exit::Yes);
        }
        out::stdout().json(&receipt.to_text())?;
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
        printable(&format!("approved {} as {role} by {}, valid until {until}", short_id(&id), self.by.key))
    }
}
