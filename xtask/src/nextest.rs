//! The runner of tests: how it is installed, and how long it says that tests took.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::{pip_install, provide_environment};
use crate::step::{cargo, run, run_quietly, succeeds};

/// The released program with the digests of its files, as `pip` reads them.
const RELEASE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/nextest.txt");

/// A nextest that runs.
#[derive(Clone, Debug)]
pub struct Nextest {
    /// `None` where cargo finds it.
    program: Option<PathBuf>,
}

impl Nextest {
    /// The one of this machine, or a released one that is installed below `target`, or else one that is built from its source.
    ///
    /// `None`, with a message, where none of these is possible.
    #[must_use]
    pub fn provide(target: &Path) -> Option<Self> {
        let environment = target.join("nextest");
        let of_machine = Self::of_machine();
        let released = Self { program: Some(environment.join("bin/cargo-nextest")) };
        if of_machine.runs() {
            return Some(of_machine);
        }
        if released.runs() || (install_release(&environment) && released.runs()) {
            return Some(released);
        }
        if run(&mut cargo(&["install", "cargo-nextest", "--locked"])).is_ok() && of_machine.runs() {
            return Some(of_machine);
        }
        eprintln!("xtask: cargo-nextest could not be installed, the tests run under `cargo test`");
        None
    }

    /// The one that cargo finds, if there is one.
    #[must_use]
    pub fn of_machine() -> Self {
        Self { program: None }
    }

    /// The program with these arguments.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program.as_ref().map_or_else(|| cargo(&[]), Command::new);
        command.arg("nextest").args(arguments);
        command
    }

    fn runs(&self) -> bool {
        succeeds(&mut self.command(&["--version"]))
    }
}

fn install_release(environment: &Path) -> bool {
    let mut install = pip_install(&environment.join("bin/python3"));
    install.args(["--no-deps", "--only-binary", ":all:", "--require-hashes"]);
    provide_environment(environment) && run_quietly(install.args(["--requirement", RELEASE])).is_ok()
}
