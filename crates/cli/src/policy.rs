//! `proofmark policy`.

mod diff;
mod suggest;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use proofmark_boundary::{ActionPolicy, Cases, Coverage, explain_policy};

use crate::config::Config;
use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::out;
use crate::paint::printable;
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
    Coverage(Test),
    /// List the decisions that a new policy makes differently
    Diff(diff::Diff),
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

Exit codes: 0 every case passes, or every rule is reached; 1 not so; 2 a file could not be read.")]
pub(crate) struct Test {
    /// The table of cases, in YAML or JSON
    cases: PathBuf,
    /// The action policy [default: the `policy` of the table]
    #[arg(long, alias = "policy", value_name = "FILE")]
    action_policy: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark policy explain examples/decide/policy.yaml")]
pub(crate) struct Explain {
    /// The action policy
    policy: PathBuf,
}

impl Policy {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Policy::Test(command) => command.test.test(command.formatting.format()),
            Policy::Explain(command) => command.run(),
            Policy::Coverage(command) => command.coverage(),
            Policy::Diff(command) => command.run(config),
            Policy::Suggest(command) => command.run(config),
        }
    }
}

impl Explain {
    fn run(self) -> anyhow::Result<Exit> {
        let policy = document::action_policy(&self.policy)?;
        let text = explain_policy(&policy);
        let mut out = out::stdout();
        text.lines().try_for_each(|line| writeln!(out, "{}", printable(line)))?;
        Ok(Exit::Yes)
    }
}

impl Test {
    fn read(&self) -> anyhow::Result<(ActionPolicy, Cases)> {
        let cases = table::read(&self.cases, Cases::read)?;
        let beside = |name: &String| self.cases.parent().unwrap_or(Path::new("")).join(name);
        let path = self.action_policy.clone().or_else(|| cases.policy.as_ref().map(beside));
        let path = path.ok_or_else(|| {
            with_help(
                format!("find the action policy of `{}`", self.cases.display()),
                "name it as `policy` in the table, or with `--action-policy`",
            )
        })?;
        Ok((document::action_policy(&path)?, cases))
    }

    fn test(self, format: Format) -> anyhow::Result<Exit> {
        let (policy, cases) = self.read()?;
        let mut table = Table::new(&self.cases)?;
        for case in &cases.cases {
            let result = case.run(&policy);
            table.add(&result.name, (!result.differences.is_empty()).then(|| result.differences.join("; ")));
        }
        table.write(format, "policy test")
    }

    fn coverage(self) -> anyhow::Result<Exit> {
        let (policy, cases) = self.read()?;
        let mut coverage = Coverage::new(&policy);
        for case in &cases.cases {
            coverage.add(&case.run(&policy).decision);
        }
        let mut out = out::stdout();
        let mut missed = 0;
        for rule in coverage.rules() {
            let never_hit = coverage.never_hit().any(|other| other == rule);
            missed += usize::from(never_hit);
            let mark = if never_hit { "never hit" } else { "hit" };
            writeln!(out, "{mark:<10} {} {}", printable(&rule.name), rule.words())?;
        }
        Ok(if missed == 0 { Exit::Yes } else { Exit::No })
    }
}
