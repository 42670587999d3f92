//! Benchmarks beside other crates, which the crate `bench` depends on so that the workspace need not.

use std::path::Path;

use anyhow::Context;

use super::{conformance, pinned};
use xtask::step::{cargo, run as run_step};

/// Builds the benchmark on every core, and runs it on one.
pub(crate) fn run(name: &str) -> anyhow::Result<()> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/Cargo.toml");
    let manifest = manifest.to_string_lossy();
    let arguments = |verb| [verb, "--quiet", "--release", "--locked", "--manifest-path", &manifest, "--bin", name];
    run_step(&mut cargo(&arguments("build")))?;
    run_step(pinned("cargo", &arguments("run")).env("PROOFMARK_CONFORMANCE", conformance()?))
}

/// Builds the server and its benchmark, and runs both on every core.
pub(crate) fn run_server(arguments: &[&str]) -> anyhow::Result<()> {
    run_step(&mut cargo(&["build", "--quiet", "--release", "--locked", "--package", "proofmark-cli"]))?;
    let own = std::env::current_exe().context("failed to find the target folder")?;
    let target = own.parent().and_then(Path::parent).context("failed to find the target folder")?;
    let binary = target.join("release/proofmark");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/Cargo.toml");
    let manifest = manifest.to_string_lossy();
    let mut bench = cargo(&["run", "--quiet", "--release", "--locked", "--manifest-path", &manifest, "--bin", "serve"]);
    run_step(bench.arg("--").args(arguments).env("PROOFMARK_BIN", binary))
}
