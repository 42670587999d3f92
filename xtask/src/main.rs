//! Tests, benchmarks and checks of the tree: `cargo xtask <command>`.

mod changed;
mod durations;
mod runner;
mod shims;
mod skips;
mod test;

use std::ffi::OsString;

use clap::{Parser, Subcommand};
use xtask::step::{cargo, run};

/// Tests, benchmarks and checks of the tree.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run everything a change must pass: format, rules of the tree, lints, documentation, tests
    Test {
        /// Run only the quick checks, and the tests of packages that differ from `main` and of those that depend on them
        #[arg(long)]
        changed: bool,
    },
    /// Measure, beside rivals, in one run
    #[command(disable_help_flag = true)]
    Bench {
        /// The benchmark, or `--help` for a list
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        arguments: Vec<OsString>,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Test { changed: true } => test::run_changed(),
        Command::Test { changed: false } => test::run_all(),
        Command::Bench { arguments } => {
            run(cargo(&["run", "--release", "--package", "xtask-bench", "--"]).args(arguments))
        }
    }
}
