//! `proofmark policy`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, Subcommand};
use proofmark_boundary::{Cases, Coverage, Policy as Boundaries, explain_policy};

use crate::document::{self, read_as};
use crate::exit::Exit;
use crate::out;
use crate::paint::{Paint, tame};

/// Test, explain and measure policies of boundaries
#[derive(Subcommand)]
pub(crate) enum Policy {
    /// Run a table of cases: requests and the decisions that must come of them
    Test(Test),
    /// Say in words what a policy demands
    Explain(Explain),
    /// List the rules that no case of a table reaches
    Coverage(Test),
}

#[derive(Args)]
#[command(after_help = "Examples:
  proofmark policy test examples/decide/cases.yaml
  proofmark policy coverage examples/decide/cases.yaml

Exit codes: 0 as expected, every rule reached; 1 not; 2 something could not be read.")]
pub(crate) struct Test {
    /// The table, in YAML or JSON; it names its policy
    cases: PathBuf,
    /// The policy [default: the one the table names]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark policy explain examples/decide/policy.yaml")]
pub(crate) struct Explain {
    /// The policy
    policy: PathBuf,
}

impl Policy {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Policy::Test(command) => command.test(),
            Policy::Explain(command) => command.run(),
            Policy::Coverage(command) => command.coverage(),
        }
    }
}

impl Explain {
    fn run(self) -> anyhow::Result<Exit> {
        let policy = document::boundary(&self.policy)?;
        let text = explain_policy(&policy);
        let mut out = out::stdout();
        text.lines().try_for_each(|line| writeln!(out, "{}", tame(line)))?;
        Ok(Exit::Yes)
    }
}

impl Test {
    fn read(&self) -> anyhow::Result<(Boundaries, Cases)> {
        let cases = read_as(&self.cases, "table of cases", Cases::read)?;
        let beside = |name: &String| self.cases.parent().unwrap_or(Path::new("")).join(name);
        let path = self.policy.clone().or_else(|| cases.policy.as_ref().map(beside));
        let path = path.ok_or_else(|| {
            anyhow!("find the policy of `{}`: name it in the table or with `--policy`", self.cases.display())
        })?;
        Ok((document::boundary(&path)?, cases))
    }

    fn test(self) -> anyhow::Result<Exit> {
        let (policy, cases) = self.read()?;
        let paint = Paint::for_stdout();
        let mut out = out::stdout();
        let mut failed = 0;
        for case in &cases.cases {
            let result = case.run(&policy);
            if result.differences.is_empty() {
                writeln!(out, "{} {}", paint.good("ok"), tame(&result.name))?;
            } else {
                failed += 1;
                writeln!(
                    out,
                    "{} {}: {}",
                    paint.bad("failed"),
                    tame(&result.name),
                    tame(&result.differences.join("; "))
                )?;
            }
        }
        writeln!(out, "{} of {} cases come out as they say", cases.cases.len() - failed, cases.cases.len())?;
        Ok(if failed == 0 { Exit::Yes } else { Exit::No })
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
            let untold = coverage.never_hit().any(|other| other == rule);
            missed += usize::from(untold);
            let mark = if untold { "never hit" } else { "hit" };
            writeln!(out, "{mark:<10} {} held {} times, had an effect {} times", rule.rule, rule.held, rule.hit)?;
        }
        Ok(if missed == 0 { Exit::Yes } else { Exit::No })
    }
}
