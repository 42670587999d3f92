//! `proofmark decision deny`.

use std::io::Write;

use anyhow::anyhow;
use clap::Args;
use proofmark_boundary::DecisionReceipt;
use proofmark_decider::{Decider, NewReview, ReviewError};
use proofmark_evidence::Reviewer;
use proofmark_receipt::{Json, Timestamp, object};
use proofmark_store::Review;

use super::shown;
use crate::config::Config;
use crate::decide::require_trusted;
use crate::decision_page::short_id;
use crate::exit::Exit;
use crate::options::{ReviewBy, StoreAt, Trusting, review_expiry};
use crate::out;
use crate::paint::printable;
use crate::receipt::read;

/// Deny the action of a stored decision, as a human reviewer
///
/// The action is printed first, on standard error, and on a terminal you are asked; elsewhere `--yes` is needed. A decision whose row in the
/// store was changed can be denied as well, and never approved: what is denied is what was signed, and what the row says if that cannot be
/// read.
///
/// Until the denial expires, the action is blocked, whatever agent or environment asks, even if somebody else approves it. The store holds
/// the denial, so the decision must be in it.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark decision deny 97473953 --key reviewer --note \"the customer did not ask for it\" --yes
  proofmark decision deny 97473953 --key reviewer --note \"not during the freeze\" --expires 7d --yes --json")]
pub(crate) struct Deny {
    #[command(flatten)]
    by: ReviewBy,
    /// How long the denial counts: 30m, 8h, 2d, at most 30d
    #[arg(long, default_value = "8h", value_name = "DURATION", value_parser = review_expiry)]
    expires: i64,
    /// Print the denial as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    store: StoreAt,
}

impl Deny {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let (id, decision) = self.decision(config)?;
        let key = self.by.unlock.load(config, &self.by.key)?;
        let trusted = self.trusting.deciders(config)?.with_own(key.signer());
        // A file can state the id of another decision, whose action its reader has not seen.
        decision.iter().try_for_each(|decision| require_trusted(decision, &trusted, &self.by.decision))?;
        let store = self.store.open_existing(config)?;
        let (tenant, _) = store.all_tenants_decision(&id)?.ok_or_else(|| ReviewError::Unknown(id.clone()))?;
        let action = match &decision {
            Some(decision) => shown::to_deny(decision, &store, self.by.request.as_deref())?,
            None => None,
        };
        if let Some((action, decision)) = action.as_ref().zip(decision.as_ref()) {
            action.print(decision)?;
        }
        if !shown::ask("deny", &id, self.by.yes)? {
            return Ok(Exit::No);
        }
        let reviewer = Reviewer::of_key(key.signer());
        let (denial, _) = Decider::for_command_line(None, key, store, trusted).review(&NewReview {
            tenant: &tenant,
            decision_id: &id,
            reviewer: &reviewer,
            approve: false,
            note: &self.by.note,
            role: None,
            expires_in: Some(self.expires),
            shown: action.map(|action| action.statement.shown()),
            signed: None,
            scope: None,
        })?;
        let until = Timestamp::from_unix_millis(denial.until);
        let mut out = out::stdout();
        if self.json {
            out.json(&json(&denial, &until).to_text())?;
        } else {
            let said = format!("denied {} by {}, until {until}", short_id(&id), self.by.key);
            writeln!(out, "{}", printable(&said))?;
        }
        Ok(Exit::Yes)
    }
}

impl Deny {
    /// The id of the decision, and the decision; none where the store has one of this id that cannot be read, or that nobody has signed like
    /// this.
    fn decision(&self, config: &Config) -> anyhow::Result<(String, Option<DecisionReceipt>)> {
        let why = match read::decision(&self.by.decision, &self.store, config) {
            Ok(decision) => {
                let status = decision.verify(&[]).answer;
                match status.cause() {
                    None => return Ok((decision.decision_id().to_string(), Some(decision))),
                    Some(cause) => anyhow!("use the decision receipt `{}`: it is {status} ({cause})", self.by.decision),
                }
            }
            Err(error) => error,
        };
        // A denial only blocks, and nobody who changes the store can keep a reviewer from it.
        match read::stored_decision_id(&self.by.decision, &self.store, config)? {
            Some(_) if self.by.request.is_some() => Err(why),
            Some(id) => {
                out::note(format_args!("failed to {why:#}; the denial is of what its row in the store says"));
                Ok((id, None))
            }
            None => Err(why),
        }
    }
}

/// The denial, with the names that the HTTP API uses.
fn json(denial: &Review, until: &Timestamp) -> Json {
    Json::from(object! {
        "decision_id": denial.decision_id.as_str(),
        "verdict": denial.verdict.as_str(),
        "reviewer": denial.reviewer.as_str(),
        "note": denial.note.as_str(),
        "reviewed_at": Timestamp::from_unix_millis(denial.reviewed_at).as_str(),
        "until": until.as_str(),
    })
}
