//! `proofmark decisions`.

use std::io::Write;

use clap::{Args, Subcommand};
use proofmark_boundary::Outcome;
use proofmark_receipt::{Json, Timestamp};
use proofmark_store::{Decision as StoredDecision, DecisionsWanted};

use crate::config::Config;
use crate::exit::Exit;
use crate::options::{Listed, StoreAt};
use crate::out;
use crate::paint::{Paint, printable};
use crate::receipt::page::Page;
use crate::receipt::read;

/// List and show decisions
#[derive(Subcommand)]
pub(crate) enum Decisions {
    /// List the decisions in the store, newest first
    List(List),
    /// Show a decision: why, by which evidence, and what would change it
    Show(Show),
}

#[derive(Args)]
#[command(after_help = "Examples:
  proofmark decisions list --outcome replan_required --since 2h
  proofmark decisions list --waiting
  proofmark decisions list --action deploy --since 2026-03-01 --json")]
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
    #[command(flatten)]
    listed: Listed,
    #[command(flatten)]
    store: StoreAt,
    /// Print the decision receipts as JSON, one per line
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark decisions show 97473953")]
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

impl Decisions {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Decisions::List(command) => command.run(config),
            Decisions::Show(command) => command.run(config),
        }
    }
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let wanted = DecisionsWanted {
            outcome: self.outcome.map(|outcome| outcome.as_str().to_owned()),
            tool: self.action,
            agent: self.agent,
            to_review: self.waiting,
            limit: self.listed.limit,
            after: self.listed.after,
            since: self.listed.period.since,
            until: self.listed.period.until,
            ..DecisionsWanted::default()
        };
        let page = match &self.listed.tenant {
            Some(tenant) => store.of(tenant).decisions(&wanted)?,
            None => store.all_tenants_decisions(&wanted)?,
        };
        let (mut out, paint) = (out::stdout(), Paint::for_stdout());
        if !self.json && !page.decisions.is_empty() {
            let header = format!("{:<36} {:<24} {:<18} {:<20} AGENT", "DECISION", "DECIDED AT", "OUTCOME", "ACTION");
            writeln!(out, "{}", paint.dim(&header))?;
        }
        for decision in &page.decisions {
            match self.json {
                true => out.json(&decision.document)?,
                false => writeln!(out, "{}", line(decision, paint).trim_end())?,
            }
        }
        drop(out);
        if page.decisions.is_empty() && !self.json {
            out::note("no decisions");
        }
        if let Some(next) = page.next {
            out::note(format_args!("there are more: continue with --after {next}"));
        }
        Ok(Exit::Yes)
    }
}

fn line(decision: &StoredDecision, paint: Paint) -> String {
    let outcome = format!("{:<18}", printable(&decision.outcome));
    let outcome = if decision.allowed { paint.good(&outcome) } else { paint.bad(&outcome) };
    let at = Timestamp::from_unix_millis(decision.decided_at);
    let tool = tool(decision).or_else(|| decision.about.class.clone()).unwrap_or_default();
    let agent = decision.about.agent.as_deref().unwrap_or_default();
    format!("{} {at:<24} {outcome} {:<20} {}", printable(&decision.decision_id), printable(&tool), printable(agent))
}

/// The tool that the action of a stored decision calls.
fn tool(decision: &StoredDecision) -> Option<String> {
    let action = Json::parse(decision.about.action.as_deref()?.as_bytes()).ok()?;
    action.as_object()?.get("tool")?.as_str().map(str::to_owned)
}

impl Show {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let receipt = read::decision(&self.decision, &self.store, config)?;
        let mut out = out::stdout();
        match self.json {
            true => out.json(&receipt.to_text())?,
            false => {
                let known = config.known_signers()?;
                let trusted = known.trusted(&[])?;
                let checked = trusted.judge(receipt.verify(trusted.signers()));
                Page { paint: Paint::for_stdout(), known: &known }.decision(&mut out, &receipt, &checked)?;
            }
        }
        Ok(Exit::Yes)
    }
}

fn outcome(text: &str) -> Result<Outcome, String> {
    let outcomes = [Outcome::Allow, Outcome::AllowWithWarning, Outcome::ReplanRequired, Outcome::GoalFailTerminal];
    let words = outcomes.map(Outcome::as_str).join(", ");
    outcomes.into_iter().find(|outcome| outcome.as_str() == text).ok_or_else(|| format!("write one of {words}"))
}
