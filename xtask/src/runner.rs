//! Runs the tests, with what they need besides what is built here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};
use proofmark_testing::home::ENGINE;
use proofmark_testing::postgres::{self, Cluster};
use proofmark_testing::{FRAMEWORK_APART, FRAMEWORKS, HARBOR, NODE_FRAMEWORKS, REQUIRE, SCHEMATHESIS, is_required};
use xtask::machine::{self, AGENTS_NEED, FRAMEWORKS_NEED};
use xtask::nextest::Nextest;
use xtask::step::{Steps, cargo, is_ci};

use crate::durations::print_slowest;
use crate::shims::path_without_shims;
use crate::skips::Skips;
use crate::test::RULES;

/// The tests that run a second time, with their stores in PostgreSQL: those that take their stores from `proofmark_testing::Home`. The
/// tests of the store, of its faults and of workers run on both engines by themselves. `real` and `ui` can run on both as well; what
/// they ask of a store is asked by the others, and they take long.
const ON_POSTGRES: [(&str, &[&str]); 5] = [
    ("proofmark-decider", &["decider"]),
    ("proofmark-jobs", &["it"]),
    ("proofmark-pages", &["it"]),
    ("proofmark-server", &["it"]),
    ("proofmark-cli", &["command", "commerce", "guard", "hook", "mcp", "serve"]),
];

/// Of these, the ones that ask nothing of a store but to take a receipt, and those that take a file whatever the engine: nextest leaves
/// them out, with [`OF_OTHERS`].
const ONLY_ONCE: &str = "binary(command) & test(/^(bad_input|broken|capabilities|counter|digests|environments|examples|formats|help|ignored|key|large|\
     lint|lint_meaning|locked|loss|output|owner_tests|patches|policy_diff|policy_option|project|projects|running|strength|trust)::/) + \
     binary(guard) & test(/^(lost|secrets|stuck|wrap)::/) + \
     binary(serve) & test(/^(bodies|collector|proxied)::|^shares::(answers|bodies|half_open|sessions|streams)_/) + \
     binary_id(proofmark-jobs::it) & test(/^(self_test|suites)::/) + \
     binary_id(proofmark-server::it) & test(/^connections::/)";

/// Tests that run programs of others, which take a second to start.
pub(crate) const OF_OTHERS: &str =
    "test(/official|inspector|schemathesis|typescript|the_user_of_a_client|unmodified_sdk/)";

/// The packages whose tests run together: those of [`RULES`] have run before.
pub(crate) const ALL_BUT_RULES: [&str; 3] = ["--workspace", "--exclude", RULES];

/// The profiles of nextest for a first run and for the second one. Each writes a file of its own with the durations of its tests.
const FIRST: &str = "default";
const SECOND: &str = "postgres";

/// So many tests run at once for each processor: most of them wait for other programs most of their time.
const TESTS_PER_PROCESSOR: usize = 3;

/// The tests that were built, as nextest and cargo list them.
pub(crate) struct Built {
    binaries: PathBuf,
    workspace: PathBuf,
}

/// The needs of the tests that run linters of others. All can be installed where the system's packages can.
const LINTERS: [&str; 5] = ["actionlint", "hadolint", "lintian", "mandoc", "shellcheck"];

/// What runs the tests.
pub(crate) struct Runner {
    skips: Skips,
    /// The needs that must be met, separated by commas.
    required: String,
    /// `None` where plain cargo runs the tests.
    nextest: Option<Nextest>,
    /// What tests load from PyPI and from npm. Tests find it through variables, and skip without.
    python: Option<PathBuf>,
    schemathesis: Option<PathBuf>,
    /// Of Python and of npm.
    frameworks: ([Option<PathBuf>; 3], Option<PathBuf>),
    node: Option<PathBuf>,
    /// `PATH` of the tests.
    path: OsString,
    /// The server of PostgreSQL that tests share. It ends with this process, however that ends.
    server: Option<Cluster>,
}

impl Runner {
    /// Installs what the tests need, while `meanwhile` runs.
    pub(crate) fn prepare(
        target: &Path,
        skips: Skips,
        meanwhile: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let required = required();
        let install = || {
            machine::provide_runtimes();
            let node = machine::node_modules(target, is_required(AGENTS_NEED, &required));
            let (python, schemathesis) =
                (machine::python_with_packages(target), machine::python_with_schemathesis(target));
            let is_asked_for = is_required(FRAMEWORKS_NEED, &required);
            let pythons = if is_asked_for {
                let [most, apart] = machine::pythons_with_frameworks(target);
                [most, apart, machine::python_with_harbor(target)]
            } else {
                Default::default()
            };
            let asked = node.as_ref().filter(|_| is_asked_for);
            let node_frameworks = asked.and_then(|modules| machine::node_frameworks(target, modules));
            (Nextest::provide(target), python, schemathesis, node, (pythons, node_frameworks))
        };
        let (nextest, python, schemathesis, node, frameworks) = std::thread::scope(|scope| {
            let installing = scope.spawn(install);
            meanwhile()?;
            installing.join().map_err(|_| anyhow!("failed to install what the tests need"))
        })?;
        let server = Cluster::try_start();
        if let Err(error) = &server {
            eprintln!("xtask: failed to {error}; each test that needs a server will start its own, or skip");
        }
        let path = path_without_shims(&std::env::var_os("PATH").unwrap_or_default())?;
        let server = server.ok();
        let runner = Self { skips, required, nextest, python, schemathesis, frameworks, node, path, server };
        // Those of an earlier run; a file that is missing is what this asks for.
        [FIRST, SECOND].iter().for_each(|profile| drop(std::fs::remove_file(durations_of(profile))));
        Ok(runner)
    }

    /// The list of what was built. With it nextest does not ask cargo, and so does not wait for another build to end.
    pub(crate) fn list_built(&self, target: &Path) -> anyhow::Result<Option<Built>> {
        let Some(nextest) = &self.nextest else { return Ok(None) };
        let built = Built { binaries: target.join("binaries.json"), workspace: target.join("workspace.json") };
        let list = ["list", "--list-type", "binaries-only", "--message-format", "json"];
        write_said(nextest.command(&[&list, &ALL_BUT_RULES[..]].concat()), &built.binaries)?;
        write_said(cargo(&["metadata", "--format-version", "1"]), &built.workspace)?;
        Ok(Some(built))
    }

    /// Runs all tests as the next step.
    pub(crate) fn run_all(&self, steps: &mut Steps, built: Option<&Built>) -> anyhow::Result<()> {
        self.run(steps, "tests", self.tests_of(FIRST, built))
    }

    /// Runs the tests of a filter of nextest as the next step; all of them where plain cargo runs them, which has no such filters.
    pub(crate) fn run_some(&self, steps: &mut Steps, filter: &str) -> anyhow::Result<()> {
        let mut command = self.tests_of(FIRST, None);
        if self.nextest.is_some() {
            command.args(["--no-tests", "pass", "--filterset", filter]);
        }
        self.run(steps, "tests", command)
    }

    /// Runs the tests that run a second time as the next step.
    pub(crate) fn run_on_postgres(&self, steps: &mut Steps, built: Option<&Built>) -> anyhow::Result<()> {
        let title = "tests on PostgreSQL";
        if !postgres::is_installed() {
            return self.skips.add("postgres", title, "PostgreSQL is missing; `apt-get install postgresql`");
        }
        let mut command = self.tests_of(SECOND, built);
        let tests = ON_POSTGRES.iter().flat_map(|(package, names)| names.iter().map(move |name| (package, name)));
        if self.nextest.is_some() {
            let wanted: Vec<_> = tests.map(|(package, name)| format!("binary_id({package}::{name})")).collect();
            command.args(["--filterset", &format!("({}) - ({ONLY_ONCE} + {OF_OTHERS})", wanted.join(" + "))]);
        } else {
            command.args(tests.flat_map(|(_, name)| ["--test", name]));
        }
        command.env(ENGINE, "postgres");
        self.run(steps, title, command)
    }

    /// Prints which tests took longest in the runs until here, and which were skipped.
    pub(crate) fn print_summary(&self) {
        if self.nextest.is_some() {
            print_slowest(&[(durations_of(FIRST), ""), (durations_of(SECOND), " (on PostgreSQL)")]);
        }
        self.skips.print();
    }

    fn run(&self, steps: &mut Steps, title: &str, mut command: Command) -> anyhow::Result<()> {
        command.envs(self.server.iter().map(|server| (postgres::SHARED, server.superuser_url())));
        command.envs(self.python.iter().map(|python| ("PROOFMARK_PYTHON", python)));
        let pythons = [FRAMEWORKS, FRAMEWORK_APART, HARBOR].into_iter().zip(&self.frameworks.0);
        command.envs(pythons.filter_map(|(name, python)| Some((name, python.as_ref()?))));
        command.envs(self.frameworks.1.iter().map(|modules| (NODE_FRAMEWORKS, modules)));
        command.envs(self.schemathesis.iter().map(|python| (SCHEMATHESIS, python)));
        command.envs(self.node.iter().map(|node| ("PROOFMARK_NODE_MODULES", node)));
        command.env(REQUIRE, &self.required).env("PATH", &self.path);
        steps.run(title, self.skips.named_in(&mut command))
    }

    /// All tests but the rules of the tree, under nextest or else under plain cargo; built now, if not before.
    fn tests_of(&self, profile: &str, built: Option<&Built>) -> Command {
        let Some(nextest) = &self.nextest else {
            return cargo(&[&["test", "--no-fail-fast"], &ALL_BUT_RULES[..]].concat());
        };
        let threads = TESTS_PER_PROCESSOR * std::thread::available_parallelism().map_or(1, usize::from);
        let mut command = nextest.command(&["run", "--profile", profile]);
        match built {
            Some(Built { binaries, workspace }) => {
                command.arg("--binaries-metadata").arg(binaries).arg("--cargo-metadata").arg(workspace)
            }
            None => command.args(ALL_BUT_RULES),
        };
        command.args(["--test-threads", &threads.to_string()]);
        command
    }
}

/// Runs a command, and writes what it says on standard output to a file.
fn write_said(mut command: Command, file: &Path) -> anyhow::Result<()> {
    let output = command.stderr(Stdio::inherit()).output()?;
    anyhow::ensure!(output.status.success(), "`{command:?}` ended with {}", output.status);
    std::fs::write(file, output.stdout).with_context(|| format!("failed to write `{}`", file.display()))
}

/// Where nextest writes how long the tests of a run took, from the workspace's folder: there whatever the target folder is.
fn durations_of(profile: &str) -> PathBuf {
    Path::new("target/nextest").join(profile).join("junit.xml")
}

/// The needs that the user names, or else those that can be met here; in CI real coding agents and frameworks of agents as well.
fn required() -> String {
    let named = std::env::var(REQUIRE).unwrap_or_default();
    let mut needs = vec![named.as_str()];
    if named.is_empty() && machine::may_install() {
        needs.push("postgres");
    }
    if is_ci() {
        needs.extend([AGENTS_NEED, FRAMEWORKS_NEED]);
        needs.extend(LINTERS);
    }
    needs.retain(|need| !need.is_empty());
    needs.join(",")
}

#[cfg(test)]
mod tests {
    use super::{ALL_BUT_RULES, Command, FIRST, Nextest, Runner, SECOND};
    use crate::skips::Skips;
    use crate::test::rules;

    fn has(command: &Command, words: &[&str]) -> bool {
        let arguments: Vec<_> = command.get_args().collect();
        arguments.windows(words.len()).any(|window| window == words)
    }

    #[test]
    fn the_rules_of_the_tree_run_once() {
        assert!(has(&rules(), &["--package", env!("CARGO_PKG_NAME"), "--tests"]));
        let place = tempfile::tempdir().unwrap();
        let mut runner = Runner {
            skips: Skips::new(place.path()),
            required: String::new(),
            nextest: None,
            python: None,
            schemathesis: None,
            frameworks: Default::default(),
            node: None,
            path: "".into(),
            server: None,
        };
        assert!(has(&runner.tests_of(FIRST, None), &ALL_BUT_RULES));
        runner.nextest = Some(Nextest::of_machine());
        for profile in [FIRST, SECOND] {
            assert!(
                has(&runner.tests_of(profile, None), &["--workspace", "--exclude", env!("CARGO_PKG_NAME")]),
                "{profile}"
            );
        }
    }
}
