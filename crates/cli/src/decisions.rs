//! `proofmark decisions`.

pub(crate) mod page;

use std::io::Write;

use clap::{Args, Subcommand};
use proofmark_boundary::{DecisionReceipt, Outcome};
use proofmark_receipt::{Json, Timestamp};
use proofmark_verifier::{Cursor, DecisionsWanted, StoredDecision, Tenant, now};

use crate::config::Config;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::paint::{Paint, printable};
use crate::receipt::read;
use crate::signed::signed_by;

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
    period: Period,
    /// Only decisions of this tenant: one of a server, or `local`, the command line
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// List at most this many
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,
    /// Continue after this page: the cursor that the page before printed
    #[arg(long, value_name = "CURSOR")]
    after: Option<Cursor>,
    #[command(flatten)]
    store: StoreAt,
    /// Print the decision receipts as JSON, one per line
    #[arg(long)]
    json: bool,
}

/// A period of time.
#[derive(Args)]
pub(crate) struct Period {
    /// Only from this time on: 2026-03-01, 2026-03-01T12:00:00Z, or how long ago, as in 2h or 7d
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<i64>,
    /// Only before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<i64>,
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

impl Period {
    /// The decisions of this period.
    pub(crate) fn wanted(&self) -> DecisionsWanted {
        DecisionsWanted { since: self.since, until: self.until, ..DecisionsWanted::default() }
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
            limit: self.limit,
            after: self.after,
            ..self.period.wanted()
        };
        let page = match &self.tenant {
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
                true => writeln!(out, "{}", decision.document)?,
                false => writeln!(out, "{}", line(decision, paint).trim_end())?,
            }
        }
        drop(out);
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
            true => writeln!(out, "{}", receipt.to_text())?,
            false => show(&mut out, &receipt, config)?,
        }
        Ok(Exit::Yes)
    }
}

/// Writes the page of a decision receipt, with who signed it.
pub(crate) fn show(out: &mut impl Write, receipt: &DecisionReceipt, config: &Config) -> anyhow::Result<()> {
    let known = config.known_signers()?;
    let trusted = known.trusted(&[])?;
    let verification = trusted.judge(receipt.verify(trusted.signers()));
    let signed = match &verification.signer {
        Some(signer) => signed_by(&known, signer, verification.trust),
        None => {
            format!("the signature is {}: {}", verification.answer, verification.answer.cause().unwrap_or_default())
        }
    };
    page::write(out, receipt, None)?;
    page::fields(out, receipt, &signed)?;
    Ok(())
}

fn outcome(text: &str) -> Result<Outcome, String> {
    let outcomes = [Outcome::Allow, Outcome::AllowWithWarning, Outcome::ReplanRequired, Outcome::GoalFailTerminal];
    let words = outcomes.map(Outcome::as_str).join(", ");
    outcomes.into_iter().find(|outcome| outcome.as_str() == text).ok_or_else(|| format!("write one of {words}"))
}

/// A time, a day, or how long ago, in milliseconds after 1970-01-01T00:00:00Z.
pub(crate) fn moment(text: &str) -> Result<i64, &'static str> {
    if let Some(ago) = proofmark_evidence::span::millis(text) {
        return Ok(now().unix_millis().saturating_sub(ago));
    }
    let day = || format!("{text}T00:00:00Z").parse();
    let time: Result<Timestamp, _> = text.parse().or_else(|_| day());
    time.map(|time| time.unix_millis()).map_err(|_| "write 2026-03-01, 2026-03-01T12:00:00Z, or how long ago: 2h, 7d")
}
