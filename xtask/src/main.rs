//! Tests, benchmarks and checks of the tree: `cargo xtask <command>`.

mod bench;
mod machine;
mod step;
mod test;

use clap::{Parser, Subcommand};

/// Tests, benchmarks and checks of the tree.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run everything a change must pass: format, lints, tests, documentation, tree checks
    Test,
    /// Measure, beside rivals, in one run
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Test => test::run_all(),
        Command::Bench(what) => bench::run(&what),
    }
}
