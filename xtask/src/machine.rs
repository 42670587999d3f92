//! What the machine must have for the tests, and how it is installed where that is allowed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::bail;

use crate::step::{cargo, run, run_quietly, succeeds};

/// Makes sure the toolchain component behind `cargo <subcommand>` is there.
pub fn require_component(subcommand: &str, component: &str) -> anyhow::Result<()> {
    let present = || succeeds(&mut cargo(&[subcommand, "--version"]));
    if present() {
        return Ok(());
    }
    let added = run(Command::new("rustup").args(["component", "add", component]));
    if added.is_err() || !present() {
        bail!("`cargo {subcommand}` is missing: run `rustup component add {component}`");
    }
    Ok(())
}

/// Installs the runtimes that submissions are run with, what fetches the clients of tests, and the browser whose pages ask
/// the server; says so where it may not or cannot.
pub fn provide_runtimes() {
    provide("python3", &["python3", "python3-venv"]);
    provide("node", &["nodejs"]);
    provide("npx", &["npm"]);
    provide("chromium", &["chromium"]);
}

/// What the tests import from Python, and the package that brings it.
const PACKAGES: [(&str, &str); 7] = [
    ("a2a", "a2a-sdk==1.3.0"),
    ("cryptography.hazmat.primitives.asymmetric.ed25519", "cryptography"),
    ("mcp", "mcp==2.3.0"),
    ("pytest", "pytest"),
    ("schemathesis", "schemathesis==4.32.5"),
    ("verifiedx", "verifiedx==0.1.20"),
    ("virtuals_acp", "virtuals-acp==0.3.23"),
];

/// A Python with the packages that tests need, in an environment of its own below `target`.
///
/// `None`, with a message, where it cannot be made: the tests that need it skip, as do those of a package that is missing.
pub fn python_with_packages(target: &Path) -> Option<PathBuf> {
    let environment = target.join("python");
    let python = environment.join("bin/python3");
    let missing = || PACKAGES.iter().filter(|(module, _)| !imports(&python, module)).map(|(_, package)| *package);
    if missing().next().is_none() {
        return Some(python);
    }
    if !succeeds(Command::new(&python).args(["-m", "pip", "--version"])) && !create_environment(&environment) {
        eprintln!("xtask: no Python environment could be made, tests that need one will skip");
        return None;
    }
    let install =
        |packages: &[&str]| run_quietly(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages));
    if install(&missing().collect::<Vec<_>>()).is_err() {
        // One that cannot be installed must not keep the others away.
        missing().for_each(|package| drop(install(&[package])));
    }
    for package in missing() {
        eprintln!("xtask: Python's {package} could not be installed, tests will skip it");
    }
    Some(python)
}

fn imports(python: &Path, module: &str) -> bool {
    succeeds(Command::new(python).args(["-c", &format!("import {module}")]))
}

fn create_environment(environment: &Path) -> bool {
    let create = || run_quietly(Command::new("python3").args(["-m", "venv", "--clear"]).arg(environment)).is_ok();
    // Debian ships `venv` apart from Python.
    create() || (install(&["python3-venv"]) && create())
}

/// Whether nextest runs, after installing it.
pub fn provide_nextest() -> bool {
    let present = || succeeds(&mut cargo(&["nextest", "--version"]));
    if present() || (run(&mut cargo(&["install", "cargo-nextest", "--locked"])).is_ok() && present()) {
        return true;
    }
    eprintln!("xtask: cargo-nextest could not be installed, the tests run under `cargo test`");
    false
}

/// Whether a program is there, after installing its Debian package where that is allowed.
pub fn provide_program(program: &str, package: &str) -> bool {
    let present = || succeeds(Command::new(program).arg("--version"));
    present() || (install(&[package]) && present())
}

fn provide(program: &str, packages: &[&str]) {
    let present = || succeeds(Command::new(program).arg("--version"));
    if present() || (install(packages) && present()) {
        return;
    }
    let packages = packages.join(" ");
    eprintln!("xtask: `{program}` is missing, run `apt-get install {packages}`; tests may fail");
}

/// Installs Debian packages where this user may.
fn install(packages: &[&str]) -> bool {
    if !is_root() || !succeeds(Command::new("apt-get").arg("--version")) {
        return false;
    }
    run_quietly(Command::new("apt-get").arg("update")).is_ok()
        && run_quietly(
            Command::new("apt-get")
                .args(["install", "--yes", "--no-install-recommends"])
                .args(packages)
                .env("DEBIAN_FRONTEND", "noninteractive"),
        )
        .is_ok()
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
