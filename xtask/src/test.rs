//! `cargo xtask test`: everything a change must pass, on a machine with only the toolchain.
//!
//! The tests are built first, while programs and packages are installed. Lints, documentation and its examples run beside the tests, which
//! leave a part of the processors idle.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, anyhow};
use cargo_metadata::{Metadata, MetadataCommand};
use xtask::machine::require_component;
use xtask::step::{Steps, cargo, patient, run_quietly};

use crate::changed::filter_of_changes;
use crate::runner::{ALL_BUT_RULES, Runner};
use crate::skips::Skips;

/// The package whose tests are the rules of the tree.
pub(crate) const RULES: &str = env!("CARGO_PKG_NAME");

/// Runs every check, the quick ones first. A failure of one of the last two does not end the other, so that a run shows both.
pub(crate) fn run_all() -> anyhow::Result<()> {
    let workspace = enter_workspace()?;
    let target = workspace.target_directory.as_std_path();
    let mut steps = Steps::new(5);
    let skips = run_rules(&mut steps, Skips::new(target))?;
    let runner = Runner::prepare(target, skips, || steps.run("build of the tests", &mut build_of_tests()))?;
    let built = runner.list_built(target)?;
    let (tested, checked) = std::thread::scope(|scope| {
        let checking = scope.spawn(|| {
            [clippy(), documentation(), examples()].iter().try_for_each(|check| run_quietly(&mut patient(check)))
        });
        let tested = runner
            .run_all(&mut steps, built.as_ref())
            .and_then(|()| runner.run_on_postgres(&mut steps, built.as_ref()));
        (tested, checking.join().unwrap_or_else(|_| Err(anyhow!("the lints could not be run"))))
    });
    runner.print_summary();
    tested.and(checked)
}

/// Runs the quick checks, and the tests of the packages that differ from `main` and of those that depend on them.
pub(crate) fn run_changed() -> anyhow::Result<()> {
    let workspace = enter_workspace()?;
    let target = workspace.target_directory.as_std_path();
    let filter = filter_of_changes(&workspace)?;
    let mut steps = Steps::new(if filter.is_some() { 4 } else { 3 });
    let skips = run_rules(&mut steps, Skips::new(target))?;
    let Some(filter) = filter else {
        eprintln!("xtask: no package differs from `main`, so no test runs");
        return steps.run("lints", &mut clippy());
    };
    let runner = Runner::prepare(target, skips, || steps.run("lints", &mut clippy()))?;
    let tested = runner.run_some(&mut steps, &filter);
    runner.print_summary();
    eprintln!(
        "xtask: no other package was tested, nor anything slow or on PostgreSQL: not ({filter}); `cargo xtask test` tests everything"
    );
    tested
}

/// The workspace, which is the working folder from here on.
fn enter_workspace() -> anyhow::Result<Metadata> {
    let workspace = MetadataCommand::new().no_deps().exec()?;
    std::env::set_current_dir(&workspace.workspace_root)
        .with_context(|| format!("failed to enter `{}`", workspace.workspace_root))?;
    Ok(workspace)
}

fn run_rules(steps: &mut Steps, skips: Skips) -> anyhow::Result<Skips> {
    require_component("fmt", "rustfmt")?;
    require_component("clippy", "clippy")?;
    steps.run("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    steps.run("rules of the tree", skips.named_in(&mut rules()))?;
    Ok(skips)
}

/// The tests that no other step runs.
pub(crate) fn rules() -> Command {
    cargo(&["test", "--package", RULES, "--tests"])
}

/// What clippy is told.
const LINTS: [&str; 2] = ["-D", "warnings"];

fn clippy() -> Command {
    let mut clippy = cargo(&["clippy", "--workspace", "--all-targets", "--"]);
    clippy.args(LINTS);
    clippy
}

/// Builds what [`Runner::run_all`] runs.
fn build_of_tests() -> Command {
    cargo(&[&["test", "--no-run"], &ALL_BUT_RULES[..]].concat())
}

/// The examples in the documentation of all crates.
fn examples() -> Command {
    cargo(&["test", "--workspace", "--doc"])
}

/// The documentation of all crates, after [`clippy`], which has checked what it needs of the others.
fn documentation() -> Command {
    let mut documentation = cargo(&["doc", "--workspace", "--no-deps"]);
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    let clippy = Path::new(documentation.get_program()).with_file_name("clippy-driver");
    if clippy.is_absolute() && clippy.exists() {
        // As `cargo clippy` sets them: else cargo takes the crates for unchecked, and checks each of them again.
        let lints: String = LINTS.iter().map(|word| format!("{word}__CLIPPY_HACKERY__")).collect();
        documentation.env("RUSTC_WORKSPACE_WRAPPER", clippy).env("CLIPPY_ARGS", lints);
    }
    documentation
}
