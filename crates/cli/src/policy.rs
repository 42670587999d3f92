//! `proofmark policy`.

mod diff;
mod learn;
mod replay;
mod runs;
mod suggest;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use proofmark_boundary::{ActionPolicy, Cases, Coverage, explain_policy};
use proofmark_receipt::{Json, object};

use crate::config::Config;
use crate::document;
use crate::exit::Exit;
use crate::listing::{Cell, Listing};
use crate::out;
use crate::paint::printable;
use crate::policy_option;
use crate::report::{Format, Formatting};
use crate::table::{self, Table};

/// Test, explain, measure and compare action policies
///
/// `proofmark lint` checks an action policy for mistakes.
#[derive(Subcommand)]
pub(crate) enum Policy {
    /// Check requests against the decisions that a table of cases expects
    Test(Testing),
    /// Explain in words what an action policy requires
    Explain(Explain),
    /// List how often the cases of a table reach each rule
    Coverage(Measure),
    /// List the decisions that a new policy makes differently
    Diff(diff::Diff),
    Replay(replay::Replay),
    Suggest(suggest::Suggest),
}

#[derive(Args)]
pub(crate) struct Testing {
    #[command(flatten)]
    test: Test,
    #[command(flatten)]
    formatting: Formatting,
}

#[derive(Args)]
#[command(after_help = "Examples:
  proofmark policy test examples/decide/cases.yaml
  proofmark policy test examples/decide/cases.yaml --format github
  proofmark policy coverage examples/decide/cases.yaml

Exit codes: 0 every case passes, or every rule is reached; 1 a case fails, or a rule is not reached; 2 a file could not be read.")]
pub(crate) struct Test {
    /// The table of cases, in YAML or JSON
    cases: PathBuf,
    /// The action policy [default: the `policy` of the table, else as for `proofmark decide`]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Measure {
    #[command(flatten)]
    test: Test,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark policy explain examples/decide/policy.yaml")]
pub(crate) struct Explain {
    /// The action policy [default: $PROOFMARK_POLICY, else `policy` in the proofmark.yaml of the current folder]
    policy: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Policy {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Policy::Test(command) => command.test.test(command.formatting.format(), config),
            Policy::Explain(command) => command.run(config),
            Policy::Coverage(command) => command.run(config),
            Policy::Diff(command) => command.run(config),
            Policy::Replay(command) => command.run(config),
            Policy::Suggest(command) => command.run(config),
        }
    }
}

impl Explain {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let policy =
            document::action_policy(&policy_option::required(self.policy, "proofmark policy explain FILE", config)?)?;
        let text = explain_policy(&policy);
        let mut out = out::stdout();
        if self.json {
            let lines: Vec<_> = text.lines().map(Json::from).collect();
            out.json(&Json::from(object! { "policy_hash": policy.hash().to_string(), "lines": lines }).to_text())?;
            return Ok(Exit::Yes);
        }
        text.lines().try_for_each(|line| writeln!(out, "{}", printable(line)))?;
        Ok(Exit::Yes)
    }
}

impl Test {
    fn read(&self, config: &Config) -> anyhow::Result<(ActionPolicy, Cases)> {
        let cases = table::read(&self.cases, Cases::read)?;
        let folder = self.cases.parent().unwrap_or(Path::new(""));
        let named = self.policy.clone().or_else(|| Some(folder.join(cases.policy.as_ref()?)));
        let path = policy_option::required(named, "--policy FILE", config)?;
        Ok((document::action_policy(&path)?, cases))
    }

    fn test(self, format: Format, config: &Config) -> anyhow::Result<Exit> {
        let (policy, cases) = self.read(config)?;
        let mut table = Table::new(&self.cases)?;
        for case in &cases.cases {
            let result = case.run(&policy);
            table.add(&result.name, (!result.differences.is_empty()).then(|| result.differences.join("; ")));
        }
        table.write(format, "policy test")
    }
}

impl Measure {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let (policy, cases) = self.test.read(config)?;
        let mut coverage = Coverage::new(&policy);
        for case in &cases.cases {
            coverage.add(&case.run(&policy).decision);
        }
        let never_hit: Vec<_> = coverage.never_hit().collect();
        let mut listing = Listing::new(["STATE", "RULE", "CASES"]);
        let mut out = out::stdout();
        for rule in coverage.rules() {
            let is_hit = !never_hit.contains(&rule);
            if self.json {
                let line = object! { "rule": rule.name.as_str(), "hit": is_hit, "words": rule.words() };
                out.json(&Json::from(line).to_text())?;
                continue;
            }
            let state = if is_hit { Cell::good("hit") } else { Cell::bad("never hit") };
            listing.push([state, rule.name.as_str().into(), rule.words().into()]);
        }
        drop(out);
        if !self.json {
            listing.print("no rules: the policy has no boundaries")?;
        }
        Ok(if never_hit.is_empty() { Exit::Yes } else { Exit::No })
    }
}
