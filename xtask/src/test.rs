//! `cargo xtask test`: everything a change must pass, on a machine with only the toolchain.
//!
//! Lints and documentation come first and share one build, in which dependencies are only checked; the tests share the
//! other. Programs and Python packages are installed meanwhile.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use cargo_metadata::MetadataCommand;
use proofmark_testing::REQUIRE;
use proofmark_testing::home::ENGINE;
use proofmark_testing::postgres::{self, Cluster};
use xtask::machine;
use xtask::step::{Steps, cargo};

use crate::skips::Skips;

/// The tests that run a second time, with their stores in PostgreSQL: those that take their stores from `proofmark_testing::Home`. The
/// tests of the store, of its faults and of workers run on both engines by themselves. `real` and `ui` can run on both as well; what
/// they ask of a store is asked by the others, and they take long.
const ON_POSTGRES: [(&str, &[&str]); 3] = [
    ("proofmark-verifier", &["fronts", "guard", "jobs", "self_test", "suites"]),
    ("proofmark-server", &["it"]),
    ("proofmark-cli", &["command", "commerce", "guard", "hook", "mcp", "serve"]),
];

/// Runs every check, the quick ones first, and stops at the first that fails.
pub(crate) fn run_all() -> anyhow::Result<()> {
    let workspace = MetadataCommand::new().no_deps().exec()?;
    std::env::set_current_dir(&workspace.workspace_root)
        .with_context(|| format!("failed to enter `{}`", workspace.workspace_root))?;
    let target = workspace.target_directory.as_std_path();
    machine::require_component("fmt", "rustfmt")?;
    machine::require_component("clippy", "clippy")?;

    let skips = Skips::new(target);
    let mut steps = Steps::new(8);
    steps.run("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    steps.run("rules of the tree", with_skips(&mut cargo(&["test", "--package", "xtask", "--tests"]), &skips))?;
    let nextest = machine::provide_nextest();
    let packages = std::thread::scope(|scope| {
        let installing = scope.spawn(|| {
            machine::provide_runtimes();
            Packages { python: machine::python_with_packages(target), node: machine::node_modules(target) }
        });
        steps.run("lints", &mut clippy())?;
        steps.run("documentation", cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
        steps.run("build of the tests", tests(nextest).arg("--no-run"))?;
        installing.join().map_err(|_| anyhow::anyhow!("failed to install what the tests need"))
    })?;
    let server = server_of_tests();
    let run = |steps: &mut Steps, title: &str, mut command: Command| {
        command.envs(server.iter().map(|server| (postgres::SHARED, server.superuser_url())));
        // Where it can be installed, as in CI, its tests are not left out.
        if machine::may_install() && std::env::var_os(REQUIRE).is_none() {
            command.env(REQUIRE, "postgres");
        }
        steps.run(title, with_skips(packages.named_in(&mut command), &skips))
    };
    let run_on_postgres = |steps: &mut Steps| {
        if !postgres::is_installed() {
            return skips.add("postgres", "tests on PostgreSQL", "PostgreSQL is missing; `apt-get install postgresql`");
        }
        let mut command = tests_on_postgres(nextest);
        command.env(ENGINE, "postgres");
        run(steps, "tests on PostgreSQL", command)
    };
    let tested = run(&mut steps, "tests", tests(nextest))
        .and_then(|()| run_on_postgres(&mut steps))
        .and_then(|()| run(&mut steps, "examples in the documentation", cargo(&["test", "--workspace", "--doc"])));
    skips.print();
    tested
}

/// The server of PostgreSQL that tests share. It ends with this process, however that ends.
fn server_of_tests() -> Option<Cluster> {
    match Cluster::try_start() {
        Ok(server) => Some(server),
        Err(error) => {
            eprintln!("xtask: failed to {error}; each test that needs a server will start its own, or skip");
            None
        }
    }
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

/// Those of [`ON_POSTGRES`], of the same build.
fn tests_on_postgres(nextest: bool) -> Command {
    let tests = ON_POSTGRES.iter().flat_map(|(package, names)| names.iter().map(move |name| (package, name)));
    if nextest {
        let wanted: Vec<_> = tests.map(|(package, name)| format!("binary_id({package}::{name})")).collect();
        return cargo(&["nextest", "run", "--workspace", "--filterset", &wanted.join(" + ")]);
    }
    let mut command = cargo(&["test", "--workspace", "--no-fail-fast"]);
    command.args(tests.flat_map(|(_, name)| ["--test", name]));
    command
}

/// What tests load from PyPI and from npm. Tests find it through variables, and skip without.
struct Packages {
    python: Option<PathBuf>,
    node: Option<PathBuf>,
}

impl Packages {
    fn named_in<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        for (name, path) in [("PROOFMARK_PYTHON", &self.python), ("PROOFMARK_NODE_MODULES", &self.node)] {
            if let Some(path) = path {
                command.env(name, path);
            }
        }
        command
    }
}
