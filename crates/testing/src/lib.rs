//! What tests share: how a test is skipped, where data and programs are that not every machine has, homes with a store of either
//! engine, servers of PostgreSQL, and networks and clocks that fail.
//!
//! A dependency of tests and of `xtask` only. A skip has a name, such as `conformance`, `python` or `level-a`. It is written to the file that
//! `PROOFMARK_SKIPS` names, which `cargo xtask test` lists at its end, and fails the test where `PROOFMARK_REQUIRE` has that
//! name, or `all`.

mod clock;
pub mod home;
mod network;
mod once;
mod port;
pub mod postgres;

pub use clock::wrong_clock;
pub use home::Home;
pub use network::Network;
pub use once::once_in_a_run;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The file to which skips are appended, one line each: need, test and reason, separated by tabs.
const SKIPS: &str = "PROOFMARK_SKIPS";

/// A policy that allows every call.
pub const OPEN_POLICY: &str = "
version: 1
tools:
  - {tool: '*', class: generic}
boundaries:
  - id: everything
    match: {action_class: generic}
";

/// The needs, separated by commas, that must be met.
pub const REQUIRE: &str = "PROOFMARK_REQUIRE";

/// Records that the calling test does not run, because `need` is not met; the caller returns.
///
/// # Panics
///
/// Where `PROOFMARK_REQUIRE` names `need`, or `all`.
pub fn skip(need: &str, reason: &str) {
    let required = std::env::var(REQUIRE).unwrap_or_default();
    assert!(!is_required(need, &required), "`{need}` is required by {REQUIRE}, but {reason}");
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a thread of a test");
    println!("skipped: {reason}");
    let Some(file) = std::env::var_os(SKIPS) else { return };
    // One write, so that the lines of tests that run at the same time do not mix.
    let line = format!("{need}\t{test}\t{}\n", reason.replace(['\n', '\t'], " "));
    let written =
        OpenOptions::new().create(true).append(true).open(file).and_then(|mut to| to.write_all(line.as_bytes()));
    assert!(written.is_ok(), "failed to write to the file of {SKIPS}: {written:?}");
}

/// The processor time that this thread has used, in steps of 10 ms. Time on the clock would say how busy the machine is.
///
/// # Panics
///
/// Where `/proc` does not say.
#[must_use]
pub fn cpu_time() -> Duration {
    cpu_time_of("/proc/thread-self/stat")
}

/// As [`cpu_time`], of all threads of this process.
///
/// # Panics
///
/// Where `/proc` does not say.
#[must_use]
pub fn cpu_time_of_process() -> Duration {
    cpu_time_of("/proc/self/stat")
}

fn cpu_time_of(file: &str) -> Duration {
    let ticks = std::fs::read_to_string(file).ok().and_then(|stat| {
        // User mode and kernel (proc_pid_stat(5)), after the name, which may hold anything.
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut ticks = fields.split(' ').skip(11).map(str::parse::<u64>);
        Some(ticks.next()?.ok()? + ticks.next()?.ok()?)
    });
    assert!(ticks.is_some(), "`{file}` says no processor time");
    Duration::from_millis(10 * ticks.unwrap_or_default())
}

/// The path of conformance data below `$PROOFMARK_CONFORMANCE` or, beside the repository, `../shared/conformance`;
/// `None` after a skip.
pub fn conformance(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let path = std::env::var_os("PROOFMARK_CONFORMANCE").map_or_else(beside, PathBuf::from).join(name);
    if !path.exists() {
        skip(
            "conformance",
            &format!("there is no `{}`; name the folder of the data in PROOFMARK_CONFORMANCE", path.display()),
        );
        return None;
    }
    Some(path)
}

/// Ends with 0 if the module that is named is installed.
const FIND_MODULE: &str = "\
import sys
from importlib.machinery import PathFinder
path = None
for name in sys.argv[1].split('.'):
    found = PathFinder.find_spec(name, path)
    if found is None:
        sys.exit(1)
    path = found.submodule_search_locations
";

/// A Python that has `module`: the one that `PROOFMARK_PYTHON` names, or else `python3`; `None` after a skip.
pub fn python_with(module: &str, package: &str) -> Option<PathBuf> {
    python_of(&["PROOFMARK_PYTHON"], module, package)
}

/// The variable with the path of a Python that has schemathesis.
pub const SCHEMATHESIS: &str = "PROOFMARK_SCHEMATHESIS";

/// A Python that has schemathesis: the one that [`SCHEMATHESIS`] names, or else that of [`python_with`]; `None` after a skip.
pub fn python_with_schemathesis() -> Option<PathBuf> {
    python_of(&[SCHEMATHESIS, "PROOFMARK_PYTHON"], "schemathesis", "schemathesis==4.32.5")
}

/// The variable with the path of a Python that has frameworks of agents.
pub const FRAMEWORKS: &str = "PROOFMARK_FRAMEWORKS";

/// The variable with the folder of npm packages.
const NODE_MODULES: &str = "PROOFMARK_NODE_MODULES";
/// The variable with the folder of npm packages that are frameworks of agents.
pub const NODE_FRAMEWORKS: &str = "PROOFMARK_NODE_FRAMEWORKS";

/// As [`FRAMEWORKS`], with a framework that needs other versions than the others do.
pub const FRAMEWORK_APART: &str = "PROOFMARK_FRAMEWORK_APART";

/// The Python that `variable` names, [`FRAMEWORKS`] or [`FRAMEWORK_APART`], if it has `module`. `None` after a skip for the need `frameworks`,
/// which is large, and which only CI requires.
pub fn python_with_framework(variable: &str, module: &str) -> Option<PathBuf> {
    let python = std::env::var_os(variable).map(PathBuf::from);
    let found = python.filter(|python| has_module(python, module));
    if found.is_none() {
        skip("frameworks", &format!("{variable} names no Python with `{module}`"));
    }
    found
}

/// The variable with the path of a Python that has Harbor.
pub const HARBOR: &str = "PROOFMARK_HARBOR";

/// The Python that [`HARBOR`] names, if it has Harbor. `None` after a skip for the need `harbor`: Harbor needs a newer Python than many systems
/// have.
pub fn python_with_harbor() -> Option<PathBuf> {
    let found = std::env::var_os(HARBOR).map(PathBuf::from).filter(|python| has_module(python, "harbor"));
    if found.is_none() {
        skip("harbor", &format!("{HARBOR} names no Python, from 3.12 on, with `harbor`"));
    }
    found
}

/// The Python that the first of these variables names, or else `python3`, if it has `module`; `None` after a skip.
fn python_of(variables: &[&str], module: &str, package: &str) -> Option<PathBuf> {
    let named = variables.iter().find_map(std::env::var_os);
    let python = named.map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    if has_module(&python, module) {
        return Some(python);
    }
    skip("python", &format!("`{}` has no `{module}`; `pip install {package}` for it", python.display()));
    None
}

/// Whether a Python has this module. It is looked for and not imported, which takes a second for some.
pub fn has_module(python: &Path, module: &str) -> bool {
    let found = Command::new(python).args(["-c", FIND_MODULE, module]).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// The folder `node_modules` that `PROOFMARK_NODE_MODULES` names, if it has all of `packages`; `None` after a skip.
pub fn node_modules_with(packages: &[&str]) -> Option<PathBuf> {
    modules_with(NODE_MODULES, "npm", packages)
}

/// As [`node_modules_with`], if it has the package of a whole coding agent: the need `hosts`, which is large, and which only CI
/// requires.
pub fn node_modules_with_host(package: &str) -> Option<PathBuf> {
    modules_with(NODE_MODULES, "hosts", &[package])
}

/// The folder `node_modules` that [`NODE_FRAMEWORKS`] names, if it has all of `packages`: frameworks of agents. `None` after a skip for the
/// need `frameworks`.
pub fn node_frameworks_with(packages: &[&str]) -> Option<PathBuf> {
    modules_with(NODE_FRAMEWORKS, "frameworks", packages)
}

fn modules_with(variable: &str, need: &str, packages: &[&str]) -> Option<PathBuf> {
    let Some(modules) = std::env::var_os(variable).map(PathBuf::from) else {
        skip(need, &format!("{variable} names no folder `node_modules`; `cargo xtask test` makes one"));
        return None;
    };
    if let Some(missing) = packages.iter().find(|package| !modules.join(package).join("package.json").exists()) {
        skip(need, &format!("`{}` has no `{missing}`; `npm install {missing}` for it", modules.display()));
        return None;
    }
    Some(modules)
}

/// Whether this program runs; `false` after a skip. `package` is the Debian package that has it.
pub fn has_program(program: &str, package: &str) -> bool {
    // Not all take `--version`, so how it ends says nothing.
    let mut version = Command::new(program);
    version.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let runs = version.status().is_ok();
    if !runs {
        skip(program, &format!("{program} is missing; `apt-get install {package}`"));
    }
    runs
}

/// A port of the loopback for a program that has to be told one before it starts. One that takes port 0 needs none.
///
/// # Panics
///
/// When none is free.
#[must_use]
pub fn free_port() -> u16 {
    postgres::must(port::draw())
}

/// Whether the value of `PROOFMARK_REQUIRE` names a need.
#[must_use]
pub fn is_required(need: &str, required: &str) -> bool {
    required.split(',').map(str::trim).any(|name| name == need || name == "all")
}

#[cfg(test)]
mod tests {
    use super::is_required;

    #[test]
    fn a_need_is_required_by_its_whole_name_or_by_all() {
        assert!(is_required("level-a", "python, level-a"));
        assert!(is_required("level-a", "all"));
        assert!(!is_required("level-a", "level-b,level"));
        assert!(!is_required("level-a", ""));
    }
}
