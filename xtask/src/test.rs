//! `cargo xtask test`: everything a change must pass, on a machine with only the toolchain.
//!
//! Lints and documentation come first and share one build, in which dependencies are only checked; the tests share the
//! other. What is installed is installed while the lints run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use cargo_metadata::MetadataCommand;
use xtask::machine;
use xtask::step::{Steps, cargo};

use crate::skips::Skips;

/// Runs every check, the quick ones first, and stops at the first that fails.
pub(crate) fn run_all() -> anyhow::Result<()> {
    let workspace = MetadataCommand::new().no_deps().exec()?;
    std::env::set_current_dir(&workspace.workspace_root)
        .with_context(|| format!("failed to enter `{}`", workspace.workspace_root))?;
    let target = workspace.target_directory.as_std_path();
    machine::require_component("fmt", "rustfmt")?;
    machine::require_component("clippy", "clippy")?;

    let skips = Skips::new(target);
    let mut steps = Steps::new(7);
    steps.run("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    steps.run("rules of the tree", with_skips(&mut cargo(&["test", "--package", "xtask"]), &skips))?;
    let installed = std::thread::scope(|scope| {
        let installing = scope.spawn(|| Installed::on_this_machine(target));
        steps.run("lints", &mut clippy())?;
        steps.run("documentation", cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
        installing.join().map_err(|_| anyhow::anyhow!("failed to install what the tests need"))
    })?;
    let tested = test(&mut steps, &installed, &skips);
    skips.print();
    tested
}

fn test(steps: &mut Steps, installed: &Installed, skips: &Skips) -> anyhow::Result<()> {
    steps.run("build of the tests", installed.tests().arg("--no-run"))?;
    steps.run("tests", with_skips(installed.with_python(&mut installed.tests()), skips))?;
    let examples = &mut cargo(&["test", "--workspace", "--doc"]);
    steps.run("examples in the documentation", with_skips(installed.with_python(examples), skips))
}

fn clippy() -> Command {
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

fn with_skips<'a>(command: &'a mut Command, skips: &Skips) -> &'a mut Command {
    let (name, file) = skips.variable();
    command.env(name, file)
}

/// What the tests are run with.
struct Installed {
    nextest: bool,
    python: Option<PathBuf>,
}

impl Installed {
    /// Installs what is missing; says so where it may not or cannot.
    fn on_this_machine(target: &Path) -> Self {
        machine::provide_runtimes();
        let python = machine::python_with_packages(target);
        Self { nextest: machine::provide_nextest(), python }
    }

    /// The tests under nextest, or under plain cargo where that cannot be installed.
    fn tests(&self) -> Command {
        if self.nextest {
            return cargo(&["nextest", "run", "--workspace"]);
        }
        cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--examples", "--no-fail-fast"])
    }

    /// Tests that need packages of Python find them through `PROOFMARK_PYTHON`, and skip without.
    fn with_python<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        match &self.python {
            Some(python) => command.env("PROOFMARK_PYTHON", python),
            None => command,
        }
    }
}
