//! `cargo xtask test`: everything a change must pass, on a machine with only the toolchain.
//!
//! Lints and documentation come first and share one build, in which dependencies are only checked; the tests share the
//! other. Programs and Python packages are installed meanwhile.

use std::path::Path;
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
    steps.run("rules of the tree", with_skips(&mut cargo(&["test", "--package", "xtask", "--tests"]), &skips))?;
    let nextest = machine::provide_nextest();
    let python = std::thread::scope(|scope| {
        let installing = scope.spawn(|| {
            machine::provide_runtimes();
            machine::python_with_packages(target)
        });
        steps.run("lints", &mut clippy())?;
        steps.run("documentation", cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
        steps.run("build of the tests", tests(nextest).arg("--no-run"))?;
        installing.join().map_err(|_| anyhow::anyhow!("failed to install what the tests need"))
    })?;
    let run = |steps: &mut Steps, title: &str, mut command: Command| {
        steps.run(title, with_skips(with_python(&mut command, python.as_deref()), &skips))
    };
    let tested = run(&mut steps, "tests", tests(nextest))
        .and_then(|()| run(&mut steps, "examples in the documentation", cargo(&["test", "--workspace", "--doc"])));
    skips.print();
    tested
}

fn clippy() -> Command {
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

fn with_skips<'a>(command: &'a mut Command, skips: &Skips) -> &'a mut Command {
    let (name, file) = skips.variable();
    command.env(name, file)
}

/// The tests under nextest, or under plain cargo where that cannot be installed.
fn tests(nextest: bool) -> Command {
    if nextest {
        return cargo(&["nextest", "run", "--workspace"]);
    }
    cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--examples", "--no-fail-fast"])
}

/// Tests that need packages of Python find them through `PROOFMARK_PYTHON`, and skip without.
fn with_python<'a>(command: &'a mut Command, python: Option<&Path>) -> &'a mut Command {
    match python {
        Some(python) => command.env("PROOFMARK_PYTHON", python),
        None => command,
    }
}
