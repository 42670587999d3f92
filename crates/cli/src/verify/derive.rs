//! `--derive-lists`: which tests a work is held to, found by two runs.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use proofmark_checks::Caps;
use proofmark_receipt::{Json, Receipt, Status, object};
use proofmark_sandbox::Host;
use proofmark_verifier::{Batch, Issuer, prepare};

use super::Verify;
use super::locked::locked;
use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::out;
use crate::project::Project;
use crate::report::Format;
use crate::serve::concurrency;

/// The files that are written.
const MUST_PASS: &str = "must-pass.txt";
const MUST_KEEP: &str = "must-keep.txt";

impl Verify {
    /// Runs the tests over the base and over their own commit. What passed only in the second run has to pass, and what passed in both
    /// has to be kept.
    pub(super) fn derive_lists(&self, config: &Config, folder: &Path) -> anyhow::Result<Exit> {
        let Some([before, after]) = self.project.derivation()? else { return Ok(Exit::NoAnswer) };
        let (before, after) =
            (self.passed(config, before, "the base")?, self.passed(config, after, "the tests' own commit")?);
        if after.is_empty() {
            return Err(with_help(
                "derive the lists: no test passes over the tests' own commit",
                "see why with `proofmark verify --dir DIR --tree REF`",
            ));
        }
        let must_pass: Vec<&str> = after.difference(&before).map(String::as_str).collect();
        let must_keep: Vec<&str> = after.intersection(&before).map(String::as_str).collect();
        fs::create_dir_all(folder).with_context(|| format!("make the folder `{}`", folder.display()))?;
        let mut stdout = out::stdout();
        for (name, tests) in [(MUST_PASS, &must_pass), (MUST_KEEP, &must_keep)] {
            let path = folder.join(name);
            let text: String = tests.iter().map(|test| format!("{test}\n")).collect();
            let written = File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
            written.with_context(|| format!("write `{}`", path.display()))?;
            if self.formatting.format() != Format::Json {
                writeln!(stdout, "{}: {}", path.display(), crate::report::count(tests.len(), "test"))?;
            }
        }
        if self.formatting.format() == Format::Json {
            let list = |tests: &[&str]| tests.iter().map(|test| Json::from(*test)).collect::<Vec<_>>();
            let lists = object! { "must_pass": list(&must_pass), "must_keep": list(&must_keep) };
            writeln!(stdout, "{}", Json::from(lists).to_text())?;
        }
        Ok(Exit::Yes)
    }

    /// The tests that pass in a run, which has no receipt.
    fn passed(&self, config: &Config, project: Project, of: &str) -> anyhow::Result<BTreeSet<String>> {
        let Project { request, packages, origin, .. } = project;
        let (host, issuer) = (Host::untested(self.isolation), Issuer::new(None, None));
        let locked = locked(&config.cache(), &host, &issuer, &request)?;
        let caps = Caps { readable: self.readable.clone(), packages, locked, origin: Some(origin), ..Caps::default() };
        let requests = [request];
        prepare(&host, &requests);
        let mut receipt: Option<Receipt> = None;
        Batch::new(&host, &caps, concurrency(self.jobs), &issuer).run(&requests, |_, result| {
            receipt = Some(result?);
            anyhow::Ok(())
        })?;
        let receipt = receipt.with_context(|| format!("run the tests over {of}"))?;
        let results = receipt.results();
        if results.details.len() as u64 != results.total {
            return Err(with_help(
                format!("derive the lists: over {of} there are more tests than a receipt names"),
                "run a part of them, as in `-- pytest tests/test_x.py`",
            ));
        }
        let passed = results.details.iter().filter(|detail| detail.status == Status::Pass);
        Ok(passed.map(|detail| detail.name.clone()).collect())
    }
}
