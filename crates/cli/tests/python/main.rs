//! The package `clients/python`: its own tests, on the wheel that is built of it, with this binary.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use proofmark_testing::{FRAMEWORK_APART, FRAMEWORKS};
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");
const TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/python");

/// What building, using and testing the package needs, and the packages that bring it.
const NEEDS: [(&str, &str); 5] = [
    ("cryptography", "cryptography"),
    ("hatchling", "hatchling"),
    ("httpx", "httpx"),
    ("mypy", "mypy"),
    ("pytest", "pytest"),
];

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs a program, which must succeed, and returns what it prints.
fn run(command: &mut Command) -> String {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}\n{}", said(&done));
    String::from_utf8(done.stdout).unwrap()
}

/// A Python with all that is needed; `None` after a skip.
fn python() -> Option<PathBuf> {
    let found = NEEDS.map(|(module, package)| proofmark_testing::python_with(module, package));
    found.into_iter().collect::<Option<Vec<_>>>()?.pop()
}

/// The wheel, as the script of a release makes it.
fn wheel(python: &Path, folder: &Path) -> PathBuf {
    let mut pack = Command::new(Path::new(TREE).join("packaging/release/python-client.sh"));
    PathBuf::from(run(pack.arg(folder).env("PYTHON", python)).trim())
}

/// An environment with the wheel and nothing else; what it depends on is that of the Python that made it.
fn environment(python: &Path, wheel: &Path, folder: &Path) -> PathBuf {
    let environment = folder.join("environment");
    run(Command::new(python).args(["-m", "venv", "--without-pip"]).arg(&environment));
    let installed = environment.join("bin/python");
    let options = ["install", "--quiet", "--no-deps", "--no-index"];
    run(Command::new(python).args(["-m", "pip", "--python"]).arg(&installed).args(options).arg(wheel));
    let purelib = "import sysconfig; print(sysconfig.get_path('purelib'), end='')";
    let (theirs, own) = (Command::new(python), Command::new(&installed));
    let [theirs, own] = [theirs, own].map(|mut command| run(command.args(["-c", purelib])));
    std::fs::write(Path::new(&own).join("dependencies.pth"), theirs).unwrap();
    installed
}

#[test]
fn the_wheel_passes_the_tests_of_the_package() {
    let Some(python) = python() else { return };
    let folder = TempDir::new().unwrap();
    let wheel = wheel(&python, folder.path());
    let installed = environment(&python, &wheel, folder.path());
    // The folder of the tests has no sources that could be taken for the package.
    let tested = folder.path().join("tested");
    std::fs::create_dir(&tested).unwrap();
    for name in ["pyproject.toml", "README.md", "examples", "tests"] {
        run(Command::new("cp").arg("-r").arg(Path::new(PACKAGE).join(name)).arg(&tested));
    }
    let place = run(Command::new(&installed).args(["-c", "import proofmark_sdk; print(proofmark_sdk.__file__)"]));
    assert!(Path::new(&place).starts_with(folder.path()), "{place}");
    let mut pytest = Command::new(installed);
    pytest
        .args(["-m", "pytest", "-q", "-rs", "--durations=5", "--ignore=tests/adapters", "--ignore=tests/offline"])
        .current_dir(&tested)
        .env("PROOFMARK_BINARY", BINARY);
    let printed = run(pytest.env_remove("PYTHONPATH").env("PYTHONDONTWRITEBYTECODE", "1"));
    println!("{printed}");
    if let Some(line) = printed.lines().find(|line| line.starts_with("SKIPPED")) {
        proofmark_testing::skip("python", line);
    }
}

/// Runs tests of the package from its sources, and answers the lines about those that were skipped.
fn skipped_of(python: &Path, folder: &str, options: &[&str], variables: &[(&str, &Path)]) -> Vec<String> {
    let place = Path::new(PACKAGE);
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--durations=5", folder]).args(options);
    // The plugins of frameworks take seconds of each start.
    pytest.env("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1");
    // What an installation would write: the package with its bytecode, which each process would make again, and its metadata.
    let installed = TempDir::new().unwrap();
    run(Command::new("cp").arg("-r").arg(place.join("src/proofmark_sdk")).arg(installed.path()));
    run(Command::new(python).args(["-m", "compileall", "-q"]).arg(installed.path()));
    let information = installed.path().join(format!("proofmark_sdk-{}.dist-info", env!("CARGO_PKG_VERSION")));
    std::fs::create_dir(&information).unwrap();
    let metadata = concat!("Metadata-Version: 2.1\nName: proofmark-sdk\nVersion: ", env!("CARGO_PKG_VERSION"), "\n");
    std::fs::write(information.join("METADATA"), metadata).unwrap();
    let path = [installed.path(), &place.join("tests")].map(|part| part.display().to_string());
    pytest.env("PYTHONPATH", path.join(":")).env("PYTHONDONTWRITEBYTECODE", "1").env("PROOFMARK_BINARY", BINARY);
    let printed = run(pytest.current_dir(place).envs(variables.iter().copied()));
    println!("{printed}");
    printed.lines().filter(|line| line.starts_with("SKIPPED")).map(str::to_owned).collect()
}

fn tested(python: &Path, folder: &str, options: &[&str], variables: &[(&str, &Path)]) {
    for line in skipped_of(python, folder, options, variables) {
        proofmark_testing::skip("python", &line);
    }
}

/// The tests of the adapters, each in an agent of its framework.
const ADAPTERS: &str = "tests/adapters";
/// What other environments have: the frameworks of [`FRAMEWORK_APART`], and Harbor.
const APART: [&str; 3] = ["crewai", "harbor_run", "strands"];

#[test]
fn receipts_are_verified_offline_as_the_binary_does() {
    let Some(python) = python() else { return };
    // Where the data is missing, this lists the skip, and the tests leave out what needs it.
    let conformance = proofmark_testing::conformance("ed25519");
    let folder = conformance.as_deref().and_then(Path::parent);
    let variables: Vec<_> = folder.iter().map(|folder| ("PROOFMARK_CONFORMANCE", *folder)).collect();
    tested(&python, "tests/offline", &[], &variables);
}

/// The file whose tests start a program of each framework.
const EXAMPLES: &str = "tests/adapters/test_examples.py";
/// The files whose tests need no framework.
const WITHOUT_FRAMEWORK: [&str; 2] = ["tests/adapters/test_pytest_plugin.py", "tests/adapters/test_toolhive.py"];

// One process for all of them: it loads each framework once.
#[test]
fn agents_of_frameworks_make_no_call_that_was_not_allowed() {
    let others = [EXAMPLES].into_iter().chain(WITHOUT_FRAMEWORK);
    adapters_are_tested(ADAPTERS, &others.flat_map(|file| ["--ignore", file]).collect::<Vec<_>>());
}

#[test]
fn examples_of_adapters_let_nothing_pass_that_was_not_allowed() {
    adapters_are_tested(EXAMPLES, &[]);
}

#[test]
fn pytest_and_toolhive_let_nothing_pass_that_was_not_decided() {
    let Some(python) = python() else { return };
    let [first, second] = WITHOUT_FRAMEWORK;
    tested(&python, first, &[second], &[]);
}

fn adapters_are_tested(place: &str, options: &[&str]) {
    let Some(python) = proofmark_testing::python_with_framework(FRAMEWORKS, "langchain") else { return };
    let which = format!("not {}", APART.join(" and not "));
    let variables = [("PROOFMARK_REQUIRE_ADAPTERS", Path::new("1"))];
    let skipped = skipped_of(&python, place, &[options, &["-k", which.as_str()][..]].concat(), &variables);
    for line in skipped.iter().filter(|line| !APART.iter().any(|framework| line.contains(framework))) {
        proofmark_testing::skip("python", line);
    }
}

#[test]
fn agents_of_crewai_make_no_call_that_was_not_allowed() {
    agents_of_one_apart_are_tested("crewai");
}

#[test]
fn agents_of_strands_make_no_call_that_was_not_allowed() {
    agents_of_one_apart_are_tested("strands");
}

fn agents_of_one_apart_are_tested(framework: &str) {
    let Some(python) = proofmark_testing::python_with_framework(FRAMEWORK_APART, framework) else { return };
    let skipped = skipped_of(&python, ADAPTERS, &["-k", framework], &[]);
    for line in skipped.iter().filter(|line| line.contains(framework)) {
        proofmark_testing::skip("python", line);
    }
}

#[test]
fn harbor_gives_the_verdict_as_the_reward() {
    if let Some(python) = proofmark_testing::python_with_harbor() {
        tested(&python, "tests/adapters/test_harbor_run.py", &[], &[]);
    }
}

#[test]
fn the_wheel_holds_the_package_and_nothing_else() {
    let Some(python) = python() else { return };
    let folder = TempDir::new().unwrap();
    let wheel = wheel(&python, folder.path());
    let listed = run(Command::new(&python).args(["-m", "zipfile", "--list"]).arg(&wheel));
    let names: Vec<_> = listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    let information = format!("proofmark_sdk-{}.dist-info", env!("CARGO_PKG_VERSION"));
    for name in ["proofmark_sdk/__init__.py", "proofmark_sdk/py.typed"] {
        assert!(names.contains(&name), "`{name}` is missing:\n{listed}");
    }
    let entries = format!("{information}/entry_points.txt");
    let print = "import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]).decode())";
    let entries = run(Command::new(&python).args(["-c", print]).arg(&wheel).arg(entries));
    assert!(entries.contains("[pytest11]\nproofmark = proofmark_sdk.pytest_plugin"), "{entries}");
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        assert!(names.contains(&&*format!("{information}/licenses/{name}")), "`{name}` is missing:\n{listed}");
    }
    let foreign = |name: &&&str| !name.starts_with("proofmark_sdk/") && !name.starts_with(&information);
    assert_eq!(names.iter().find(foreign), None, "{listed}");
}

#[test]
fn the_package_has_the_version_and_the_licences_of_the_binary() {
    let manifest = std::fs::read_to_string(Path::new(PACKAGE).join("pyproject.toml")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let lines = [
        format!("version = \"{version}\""),
        format!("license = \"{}\"", env!("CARGO_PKG_LICENSE")),
        format!("cli = [\"proofmark-bin=={version}\"]"),
        "dependencies = [\"httpx>=0.27,<1\"]".to_owned(),
    ];
    for line in lines {
        assert!(manifest.lines().any(|one| one == line), "`{line}` is missing:\n{manifest}");
    }
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let read = |folder: &str| std::fs::read(Path::new(folder).join(name)).unwrap();
        assert_eq!(read(PACKAGE), read(TREE), "{name}");
    }
}
