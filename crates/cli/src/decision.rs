//! `proofmark decision`.

mod approve;
mod deny;
mod revoke;
mod scope;
mod shown;

use std::io::Write;

use clap::{Args, Subcommand};
use proofmark_boundary::{DecisionReceipt, Outcome};
use proofmark_decider::stored_action;
use proofmark_evidence::Person;
use proofmark_receipt::Timestamp;
use proofmark_statement::{ActionStatement, action_title};
use proofmark_store::{Decision as StoredDecision, DecisionsWanted, QueueFilter};
use proofmark_verifier::signed_decision;

use crate::config::Config;
use crate::document;
use crate::error::message;
use crate::exit::Exit;
use crate::listing::{Cell, Listing};
use crate::options::{OfTenant, Paging, Period, StoreAt};
use crate::out;
use crate::paint::{Paint, printable};
use crate::policy_option::PolicyOption;
use crate::receipt::page::Page;
use crate::receipt::read;
use crate::reviewer::one_signer;

/// What is said instead of an empty list.
const NONE: &str = "no decisions: `proofmark decide`, `guard`, `hook`, `gate` and `serve` store those that they make";
const NONE_WAITS: &str = "no decision waits for a review: one that asks for an approval does";

/// How much of an action and of a reason a list shows, in characters.
const MAX_IN_LIST: usize = 60;

/// List, show, approve and deny decisions, and revoke approvals
#[derive(Subcommand)]
pub(crate) enum DecisionCommand {
    /// List the decisions in the store, newest first
    List(List),
    /// Show a decision: why, by which evidence, and what would change it
    Show(Show),
    /// Approve the action of a decision, as a human reviewer
    Approve(approve::Approve),
    /// Deny the action of a stored decision, as a human reviewer
    Deny(deny::Deny),
    /// End an approval that reaches beyond one action
    Revoke(revoke::Revoke),
}

#[derive(Args)]
#[command(after_help = "Examples:
  proofmark decision list --outcome replan_required --since 2h
  proofmark decision list --waiting --amount 500
  proofmark decision list --mine --key reviewer --policy examples/decide/policy.yaml
  proofmark decision list --action deploy --since 2026-03-01 --json")]
pub(crate) struct List {
    /// Only decisions with this outcome: allow, allow_with_warning, replan_required or goal_fail_terminal
    #[arg(long, value_parser = outcome)]
    outcome: Option<Outcome>,
    /// Only decisions on actions of this tool
    #[arg(long, value_name = "TOOL")]
    action: Option<String>,
    /// Only decisions for this agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Only decisions that wait for a review
    #[arg(long)]
    waiting: bool,
    /// Only decisions that wait for a review that the key of --key can give; implies --waiting
    #[arg(long, requires = "key")]
    mine: bool,
    /// The reviewer's key: a name of the trust store or of a key, a signer id, or a public key file
    #[arg(long, value_name = "KEY", requires = "mine")]
    key: Option<String>,
    #[command(flatten)]
    policy: PolicyOption,
    /// Only decisions in this environment
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// Only actions of this amount or a larger one
    #[arg(long, value_name = "NUMBER", value_parser = amount)]
    amount: Option<f64>,
    #[command(flatten)]
    period: Period,
    #[command(flatten)]
    of: OfTenant,
    #[command(flatten)]
    paging: Paging,
    #[command(flatten)]
    store: StoreAt,
    /// Print the decision receipts as JSON, one per line
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark decision show 97473953")]
pub(crate) struct Show {
    /// The decision: its id (the first digits suffice), the file of its receipt, or - for standard input
    #[arg(value_name = "FILE|ID|-")]
    decision: String,
    #[command(flatten)]
    store: StoreAt,
    /// Print the decision receipt as JSON, on one line
    #[arg(long)]
    json: bool,
}

impl DecisionCommand {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            DecisionCommand::List(command) => command.run(config),
            DecisionCommand::Show(command) => command.run(config),
            DecisionCommand::Approve(command) => command.run(config),
            DecisionCommand::Deny(command) => command.run(config),
            DecisionCommand::Revoke(command) => command.run(config),
        }
    }
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let filter =
            QueueFilter { roles: self.own_roles(config)?, environment: self.environment.clone(), amount: self.amount };
        let is_queue = self.waiting || self.mine;
        let store = self.store.open_existing(config)?;
        let wanted = DecisionsWanted {
            outcome: self.outcome.map(|outcome| outcome.as_str().to_owned()),
            tool: self.action,
            agent: self.agent,
            to_review: is_queue,
            filter,
            limit: self.paging.limit,
            after: self.paging.after,
            since: self.period.since.from,
            until: self.period.until,
            ..DecisionsWanted::default()
        };
        let page = match &self.of.tenant {
            Some(tenant) => store.of(tenant).decisions(&wanted)?,
            None => store.all_tenants_decisions(&wanted)?,
        };
        if self.json {
            let mut out = out::stdout();
            page.decisions.iter().try_for_each(|decision| out.json(&decision.document))?;
        } else {
            let mut listing = Listing::new(["DECISION", "DECIDED AT", "OUTCOME", "ACTION", "AGENT", "WHY"]);
            page.decisions.iter().for_each(|decision| listing.push(row(decision)));
            listing.print(if is_queue { NONE_WAITS } else { NONE })?;
        }
        if let Some(next) = page.next {
            Paging::say_more(next);
        }
        Ok(Exit::Yes)
    }
}

impl List {
    /// The roles that the policy gives to the reviewer's key; none where everybody's decisions are listed.
    fn own_roles(&self, config: &Config) -> anyhow::Result<Option<Vec<String>>> {
        let Some(key) = &self.key else { return Ok(None) };
        let person = Person::Key(one_signer(key, config)?);
        let policy = document::action_policy(&self.policy.file(config)?)?;
        Ok(Some(policy.roles_of(&person).into_iter().map(str::to_owned).collect()))
    }
}

fn amount(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|amount: &f64| amount.is_finite()).ok_or_else(|| "write a number".to_owned())
}

/// The text of a cell, cut where it is long: `decision show` has the whole.
fn cut(text: &str) -> String {
    let mut cut: String = text.chars().take(MAX_IN_LIST).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

/// What the signed receipt says. A row that is not what was signed says so, and nothing else.
fn row(decision: &StoredDecision) -> [Cell; 6] {
    let id = decision.decision_id.as_str();
    let receipt = match signed_decision(decision) {
        Ok(receipt) => receipt,
        Err(error) => {
            let why = format!("not what was signed: {}", error.why);
            return [id.into(), "".into(), Cell::bad("changed"), "".into(), "".into(), cut(&why).into()];
        }
    };
    let outcome = if decision.allowed { Cell::good } else { Cell::bad };
    let why = receipt.main_reason().map(|reason| cut(reason.message));
    let action = action(decision, &receipt).or_else(|| decision.about.class.clone()).unwrap_or_default();
    let agent = decision.about.agent.as_deref().unwrap_or_default();
    [
        id.into(),
        Timestamp::from_unix_millis(decision.decided_at).as_str().into(),
        outcome(&decision.outcome),
        action.into(),
        agent.into(),
        why.unwrap_or_default().into(),
    ]
}

/// The tool, the target and the arguments of the action, which is compared with what was decided on.
fn action(decision: &StoredDecision, receipt: &DecisionReceipt) -> Option<String> {
    let action = stored_action(decision)?;
    Some(match ActionStatement::of(&action, receipt) {
        Ok(statement) => cut(format!("{} {}", action_title(&action), statement.gist(MAX_IN_LIST)).trim_end()),
        Err(_) => "another action than was decided on".to_owned(),
    })
}

impl Show {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let receipt = read::decision(&self.decision, &self.store, config)?;
        let mut out = out::stdout();
        if self.json {
            out.json(&receipt.to_text())?;
            return Ok(Exit::Yes);
        }
        let known = config.known_signers()?;
        let trusted = known.trusted(&[])?;
        let checked = trusted.check_decision(&receipt);
        self.action(&mut out, &receipt, config)?;
        Page { paint: Paint::for_stdout(), known: &known }.decision(&mut out, &receipt, &checked)?;
        Ok(Exit::Yes)
    }
}

impl Show {
    /// Writes the action first, where the store has it.
    fn action(&self, out: &mut impl Write, receipt: &DecisionReceipt, config: &Config) -> anyhow::Result<()> {
        let store = self.store.open_if_there(config)?;
        match shown::of_decision(receipt, store.as_ref(), None) {
            Ok(action) => action.write(out, receipt)?,
            // The receipt can be read without it.
            Err(error) => out::note(format_args!("note: failed to {}", printable(&message(&error)))),
        }
        Ok(())
    }
}

fn outcome(text: &str) -> Result<Outcome, String> {
    Outcome::from_word(text).ok_or_else(|| format!("write one of {}", Outcome::ALL.map(Outcome::as_str).join(", ")))
}
