//! The tests that were skipped, and what they need.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark_testing::{REQUIRE, is_required};

/// The file to which tests append a line for each skip: need, test and reason, separated by tabs.
pub(crate) struct Skips(PathBuf);

impl Skips {
    /// An empty list below `target`.
    pub(crate) fn new(target: &Path) -> Self {
        let file = target.join("skips.txt");
        // A missing file is an empty list.
        drop(std::fs::remove_file(&file));
        Self(file)
    }

    /// The command, whose tests find the file's name.
    pub(crate) fn named_in<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("PROOFMARK_SKIPS", &self.0)
    }

    /// Notes that tests do not run, because `need` is not met.
    pub(crate) fn add(&self, need: &str, tests: &str, reason: &str) -> anyhow::Result<()> {
        let required = std::env::var(REQUIRE).unwrap_or_default();
        anyhow::ensure!(!is_required(need, &required), "`{need}` is required by {REQUIRE}, but {reason}");
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0)?;
        writeln!(file, "{need}\t{tests}\t{reason}")?;
        Ok(())
    }

    /// Prints each need once, with the tests that were skipped for it.
    pub(crate) fn print(&self) {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        let skips = grouped(&text);
        if skips.is_empty() {
            eprintln!("xtask: no test was skipped");
            return;
        }
        let names = skips.keys().map(|(need, _)| *need).collect::<BTreeSet<_>>();
        let names = names.into_iter().collect::<Vec<_>>().join(",");
        eprintln!("xtask: skipped, because something is missing (PROOFMARK_REQUIRE={names} makes that a failure):");
        for ((need, reason), tests) in skips {
            eprintln!("  {need}: {reason}");
            tests.iter().for_each(|test| eprintln!("      {test}"));
        }
    }
}

/// Tests by need and reason.
fn grouped(text: &str) -> BTreeMap<(&str, &str), BTreeSet<&str>> {
    let mut skips = BTreeMap::<_, BTreeSet<_>>::new();
    for line in text.lines() {
        if let [need, test, reason] = line.split('\t').collect::<Vec<_>>()[..] {
            skips.entry((need, reason)).or_default().insert(test);
        }
    }
    skips
}
