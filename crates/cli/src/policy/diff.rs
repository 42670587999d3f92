//! `proofmark policy diff`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use proofmark_boundary::{ActionPolicy, Cases, DecisionReceipt, Disposition};
use proofmark_decider::{ChangedDecision, PolicyDiff, policy_diff};
use proofmark_receipt::document::counted;
use proofmark_receipt::{Json, ReceiptId, object};
use proofmark_store::DecisionsWanted;

use crate::config::Config;
use crate::document::{self, read_as};
use crate::error::with_help;
use crate::exit::Exit;
use crate::options::{Period, StoreAt};
use crate::out;
use crate::paint::{Paint, printable};

/// List the decisions that a new policy makes differently
///
/// Each decision of the store is made again under both policies, on its own facts, at its time and with the evidence that its
/// receipt records. The store holds the facts of decisions that wait for a review, and of all with `--record-facts`;
/// decisions without facts are counted and not compared. Nothing is stored.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark policy diff examples/decide/policy.yaml examples/decide/policy.yaml --cases examples/decide/cases.yaml
  proofmark policy diff policy.yaml new.yaml --since 7d

Exit codes: 0 every decision stays as it is; 1 a decision changes; 2 no decision could be compared.")]
pub(crate) struct Diff {
    /// The present action policy
    old: PathBuf,
    /// The new action policy
    new: PathBuf,
    /// Compare the cases of this table, instead of stored decisions
    #[arg(long, value_name = "FILE", conflicts_with_all = ["since", "until", "limit", "store"])]
    cases: Option<PathBuf>,
    #[command(flatten)]
    period: Period,
    /// Compare at most this many decisions, the newest first
    #[arg(short = 'n', long, default_value_t = 10_000, value_name = "N")]
    limit: usize,
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Diff {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let (old, new) = (document::action_policy(&self.old)?, document::action_policy(&self.new)?);
        let diff = match &self.cases {
            Some(path) => of_cases(&read_as(path, "table of cases", Cases::read)?, &old, &new),
            None => {
                let (since, until) = (self.period.since.from, self.period.until);
                let wanted = DecisionsWanted { since, until, limit: self.limit, ..DecisionsWanted::default() };
                policy_diff(&self.store.open_existing(config)?, &wanted, &old, &new)?
            }
        };
        if diff.same == 0 && diff.changed.is_empty() {
            let unknown = counted(diff.unknown, "decision");
            return Err(with_help(
                format!("compare the policies: the store has no decision with its facts ({unknown} without)"),
                "compare the cases of a table with `--cases`, or decide with `--record-facts`",
            ));
        }
        let mut out = out::stdout();
        for changed in &diff.changed {
            if self.json {
                out.json(&json(changed).to_text())?;
            } else {
                writeln!(out, "{}", line(changed))?;
            }
        }
        if !self.json {
            let what = if self.cases.is_some() { "case" } else { "decision" };
            write_summary(&mut out, &diff, what)?;
        }
        Ok(if diff.changed.is_empty() { Exit::Yes } else { Exit::No })
    }
}

/// Says how many of what was compared changed, and how. `what` is a decision or a case.
fn write_summary(out: &mut impl Write, diff: &PolicyDiff, what: &str) -> anyhow::Result<()> {
    let compared = diff.same + diff.changed.len() as u64;
    writeln!(out, "{} of {} changed", diff.changed.len(), counted(compared, what))?;
    let mut turns: BTreeMap<(Disposition, Disposition), u64> = BTreeMap::new();
    for changed in &diff.changed {
        *turns.entry((changed.old, changed.new)).or_default() += 1;
    }
    for ((old, new), count) in turns {
        writeln!(out, "  {count:>6}  {} -> {}", words(old), words(new))?;
    }
    if diff.unknown > 0 {
        let unknown = counted(diff.unknown, what);
        writeln!(out, "not compared, because the facts are not stored: {unknown} (see `--record-facts`)")?;
    }
    Ok(())
}

fn of_cases(cases: &Cases, old: &ActionPolicy, new: &ActionPolicy) -> PolicyDiff {
    let mut diff = PolicyDiff::default();
    for case in &cases.cases {
        let (before, after) = (case.run(old).decision, case.run(new).decision);
        if before.disposition() == after.disposition() {
            diff.same += 1;
            continue;
        }
        // Only its words are used: the case has no decision of its own.
        let stated = DecisionReceipt::unchained(&after, &case.request, ReceiptId::from_random_bytes([0; 16]));
        diff.changed.push(ChangedDecision {
            decision_id: case.name.clone(),
            old: before.disposition(),
            new: after.disposition(),
            why: stated.main_reason().map(|reason| reason.message.to_owned()),
        });
    }
    diff
}

fn line(changed: &ChangedDecision) -> String {
    let paint = Paint::for_stdout();
    let new = words(changed.new);
    let new = if changed.new.allows() { paint.good(&new) } else { paint.bad(&new) };
    let why = changed.why.as_deref().unwrap_or("Every rule for this action is met.");
    format!("{}: {} -> {new}. {}", printable(&changed.decision_id), words(changed.old), printable(why))
}

fn json(changed: &ChangedDecision) -> Json {
    let side =
        |disposition: Disposition| object! { "outcome": disposition.outcome().as_str(), "mode": disposition.mode() };
    object! {
        "decision": changed.decision_id.as_str(),
        "old": side(changed.old),
        "new": side(changed.new),
        "why"?: changed.why.as_deref(),
    }
    .into()
}

/// The outcome, with how the agent continues where the outcome leaves it open.
fn words(disposition: Disposition) -> String {
    if disposition.allows() {
        return disposition.outcome().to_string();
    }
    format!("{} ({})", disposition.outcome(), disposition.mode())
}
