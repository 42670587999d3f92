//! What a folder holds, as far as it decides what `proofmark init` writes. Its files are read, and none is run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use proofmark_checks::Script;
use proofmark_git::ignored_below;
use proofmark_receipt::Json;

use super::installs::{self, Installs};

/// The most files and folders that are looked at.
const MAX_ENTRIES: usize = 20_000;
/// The most bytes of a file that are read.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// The most bytes of all files that are read.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// How deep folders are searched.
const MAX_DEPTH: usize = 6;
/// The most source files that git ignores and that are included.
const MAX_INCLUDED: usize = 32;
/// Folders that hold no source of the project.
const SKIPPED: [&str; 8] =
    ["__pycache__", "build", "dist", "examples", "node_modules", "site-packages", "target", "venv"];

/// Lists of packages, beside the files with source.
const LISTS: [&str; 6] =
    ["package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "requirements.txt", "yarn.lock"];
/// What loads all tests of minitest, as `rake test` does.
const ALL_OF_MINITEST: &str = "Dir['./{test,tests}/**/{*_test,test_*}.rb'].sort.each { |file| require file }";
/// The runners of Node.js that are packages, with the command that runs all tests.
const NODE_RUNNERS: [(&str, &[&str]); 6] = [
    ("vitest", &["vitest", "run"]),
    ("jest", &["jest"]),
    ("mocha", &["mocha"]),
    ("ava", &["ava"]),
    ("tap", &["tap"]),
    ("tape", &["tape", "test/**/*.js"]),
];
/// The runners that run the tests of all workspaces from the root, with the command.
const WORKSPACE_RUNNERS: [(&str, &[&str]); 3] =
    [("jest", &["jest"]), ("vitest", &["vitest", "run"]), ("node:test", &["node", "--test"])];
/// Tests that no runner here runs, by the paths of their files.
const OTHER_TESTS: [OtherKind; 2] = [
    OtherKind { kind: "tests of Go", is_test: |path| path.ends_with("_test.go") },
    OtherKind { kind: "a package of Rust", is_test: |path| path == "Cargo.toml" },
];

/// A kind of tests, and which files are such tests.
struct OtherKind {
    kind: &'static str,
    is_test: fn(&str) -> bool,
}

/// What to verify in a folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Project {
    /// Tests, and the program that runs them.
    Tests {
        runner: Runner,
        file: String,
        command: Script,
        other: Option<Runner>,
        /// What installs what the tests import.
        installs: Installs,
        /// Source files that git ignores, as a generated `_version.py`: what is tested may need them.
        include: Vec<String>,
    },
    /// A file without tests that defines a function.
    Script { language: ScriptKind, file: String, function: String },
    /// Neither. There may be tests that no runner here runs: what they are, and the first file of them.
    Nothing { tests: Option<OtherTests> },
}

/// Tests that no runner here runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OtherTests {
    kind: &'static str,
    file: String,
}

/// A program that runs tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    Pytest,
    Unittest,
    Node,
    Vitest,
    Jest,
    Mocha,
    Tap,
    Tape,
    Ava,
    Uvu,
    /// Programs that node runs.
    Program,
    Rspec,
    Minitest,
    Bats,
}

/// The language of a script that can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptKind {
    Python,
    Node,
    Ruby,
}

impl Project {
    /// Looks at a folder; one that is missing or cannot be read holds nothing.
    pub(crate) fn find(folder: &Path) -> Project {
        let files = Files::below(folder);
        // Without git nothing is ignored.
        let ignored = ignored_below(folder).unwrap_or_default();
        let (python, node) = (files.python(), files.node().or_else(|| files.elsewhere()));
        // With tests of both, the marker file decides, and the other is named.
        let node_first = files.texts.contains_key("package.json")
            && !["pyproject.toml", "setup.py", "setup.cfg"].iter().any(|name| files.texts.contains_key(*name));
        let (first, second) = if node_first { (node, python) } else { (python, node) };
        match (first, second) {
            (Some(found), other) => files.tests_of(found, other.map(|other| other.runner), &ignored),
            (None, Some(found)) => files.tests_of(found, None, &ignored),
            (None, None) => {
                let tests = files.other_tests();
                files.script().filter(|_| tests.is_none()).unwrap_or(Project::Nothing { tests })
            }
        }
    }

    /// One word for it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Project::Tests { runner, .. } => runner.name(),
            Project::Script { .. } => "script",
            Project::Nothing { .. } => "nothing",
        }
    }
}

impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Project::Tests { runner, file, command, other, .. } => {
                write!(f, "{} tests ({file})", runner.name())?;
                if !command.left_out.is_empty() {
                    write!(f, ", without `{}`", command.left_out.join("`, `"))?;
                }
                match other {
                    Some(other) => write!(f, ", and {} tests, which `proofmark.yaml` does not run", other.name()),
                    None => Ok(()),
                }
            }
            Project::Script { file, function, .. } => write!(f, "no tests, and the function `{function}` in {file}"),
            Project::Nothing { tests: Some(OtherTests { kind, file }) } => {
                write!(f, "{kind} ({file}), which no runner here runs; the suite is an example")
            }
            Project::Nothing { tests: None } => f.write_str("no tests and no function; the suite is an example"),
        }
    }
}

impl Runner {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Runner::Pytest => "pytest",
            Runner::Unittest => "unittest",
            Runner::Node => "node:test",
            Runner::Vitest => "vitest",
            Runner::Jest => "jest",
            Runner::Mocha => "mocha",
            Runner::Tap => "tap",
            Runner::Tape => "tape",
            Runner::Ava => "ava",
            Runner::Uvu => "uvu",
            Runner::Program => "node",
            Runner::Rspec => "rspec",
            Runner::Minitest => "minitest",
            Runner::Bats => "bats",
        }
    }

    /// The runner that a command of Node.js begins.
    fn of(command: &[String]) -> Runner {
        let has_test = command.iter().any(|word| word == "--test");
        match command.first().map(String::as_str) {
            Some("vitest") => Runner::Vitest,
            Some("jest") => Runner::Jest,
            Some("mocha") => Runner::Mocha,
            Some("tap") => Runner::Tap,
            Some("tape") => Runner::Tape,
            Some("ava") => Runner::Ava,
            Some("uvu") => Runner::Uvu,
            _ if has_test => Runner::Node,
            _ => Runner::Program,
        }
    }

    /// GitHub's action that installs its language, and the version. That of Ubuntu runs programs of the host.
    pub(crate) fn action(self) -> Option<(&'static str, &'static str)> {
        match self {
            Runner::Pytest | Runner::Unittest => Some(("setup-python@v5", "python-version: \"3.12\"")),
            Runner::Rspec | Runner::Minitest | Runner::Bats => None,
            _ => Some(("setup-node@v4", "node-version: 22")),
        }
    }

    pub(crate) fn is_python(self) -> bool {
        matches!(self, Runner::Pytest | Runner::Unittest)
    }
}

/// The tests of one language: their runner, its command, and the first file.
struct Found {
    runner: Runner,
    command: Script,
    file: String,
}

impl Found {
    fn new(runner: Runner, file: &str, command: &[&str]) -> Found {
        let command = command.iter().map(ToString::to_string).collect();
        Found { runner, command: Script { command, ..Script::default() }, file: file.to_owned() }
    }
}

/// The source files of a folder, by path, and what is read of them.
#[derive(Default)]
struct Files {
    texts: BTreeMap<String, String>,
    entries: usize,
    bytes: u64,
}

impl Files {
    fn below(folder: &Path) -> Files {
        let mut files = Files::default();
        files.add(folder, "", 0);
        files
    }

    fn add(&mut self, folder: &Path, prefix: &str, depth: usize) {
        let Ok(listed) = fs::read_dir(folder) else { return };
        for entry in listed.flatten() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES || self.bytes > MAX_BYTES {
                return;
            }
            // Names that need quoting in YAML or in a shell are not written into files, and links are not followed.
            let Some(name) = entry.file_name().to_str().filter(|name| is_plain(name)).map(str::to_owned) else {
                continue;
            };
            let Ok(kind) = entry.file_type() else { continue };
            let path = format!("{prefix}{name}");
            if kind.is_dir() && depth < MAX_DEPTH && !SKIPPED.contains(&name.as_str()) {
                self.add(&entry.path(), &format!("{path}/"), depth + 1);
            } else if kind.is_file() && is_source(&name) {
                let text = read(&entry.path());
                self.bytes += text.len() as u64;
                self.texts.insert(path, text);
            }
        }
    }

    fn tests_of(&self, found: Found, other: Option<Runner>, ignored: &BTreeSet<String>) -> Project {
        let Found { runner, command, file } = found;
        let mut installs = if runner.is_python() { installs::python(&self.texts) } else { installs::node(&self.texts) };
        if matches!(runner, Runner::Rspec | Runner::Minitest | Runner::Bats) {
            let package = installs::debian(runner.name());
            installs = Installs { commands: vec![format!("sudo apt-get install -y {package}")], cache: None };
        }
        if runner == Runner::Pytest {
            installs.commands.push("python3 -m pip install pytest".to_owned());
        }
        let is_generated = |path: &&String| self.texts.contains_key(*path);
        let include = ignored.iter().filter(is_generated).take(MAX_INCLUDED).cloned().collect();
        Project::Tests { runner, file, command, other, installs, include }
    }

    /// Tests of languages without a runner here.
    fn other_tests(&self) -> Option<OtherTests> {
        OTHER_TESTS.iter().find_map(|other| {
            let file = self.texts.keys().find(|path| (other.is_test)(path))?.clone();
            Some(OtherTests { kind: other.kind, file })
        })
    }

    fn tests(&self, is_test: fn(&str) -> bool) -> impl Iterator<Item = (&String, &String)> {
        self.texts.iter().filter(move |(path, _)| is_test(path))
    }

    fn python(&self) -> Option<Found> {
        let names_pytest = |path: &str| self.texts.get(path).is_some_and(|text| text.contains("pytest"));
        let configured = ["pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", "requirements.txt"]
            .iter()
            .any(|path| names_pytest(path));
        let of_pytest = |text: &str| text.contains("import pytest") || text.contains("from pytest");
        let of_unittest = |text: &str| text.contains("unittest") || text.contains("TestCase");
        let tests: Vec<_> = self.tests(is_python_test).collect();
        let (first, _) = tests.first()?;
        if configured || tests.iter().any(|(_, text)| of_pytest(text) || !of_unittest(text)) {
            return Some(Found::new(Runner::Pytest, first, &["python3", "-m", "pytest", "-q"]));
        }
        // `unittest` searches a folder without `__init__.py` only if it is told to.
        Some(match first.split_once('/') {
            Some((folder, _)) => {
                Found::new(Runner::Unittest, first, &["python3", "-m", "unittest", "discover", "-s", folder])
            }
            None => Found::new(Runner::Unittest, first, &["python3", "-m", "unittest"]),
        })
    }

    /// Tests of Ruby, or of bats.
    fn elsewhere(&self) -> Option<Found> {
        let first = |is_test: fn(&str) -> bool| self.tests(is_test).next().map(|(path, _)| path.as_str());
        if let Some(spec) = first(|path| path.ends_with("_spec.rb")) {
            return Some(Found::new(Runner::Rspec, spec, &["rspec"]));
        }
        if let Some(test) = first(|path| {
            path.ends_with("_test.rb")
                || path.rsplit('/').next().is_some_and(|name| name.starts_with("test_") && name.ends_with(".rb"))
        }) {
            return Some(Found::new(Runner::Minitest, test, &["ruby", "-Ilib", "-Itest", "-e", ALL_OF_MINITEST]));
        }
        let bats = first(|path| path.ends_with(".bats"))?;
        let folder = bats.rsplit_once('/').map_or(".", |(folder, _)| folder);
        Some(Found::new(Runner::Bats, bats, &["bats", folder]))
    }

    /// What `npm test` runs decides, then what is installed.
    fn node(&self) -> Option<Found> {
        let package = self.texts.get("package.json").and_then(|text| Json::parse(text.as_bytes()).ok());
        let first = self.tests(is_node_test).next().map(|(path, _)| path.as_str());
        let npm_test = ["npm", "test"].map(str::to_owned);
        if let Some(command) = package.as_ref().and_then(|package| Script::of(&npm_test, package)) {
            let file = first.unwrap_or("package.json").to_owned();
            return Some(Found { runner: Runner::of(&command.command), command, file });
        }
        let package = package.as_ref().and_then(Json::as_object);
        if let Some(found) = package.filter(|package| package.contains("workspaces")).and_then(|_| self.workspaces()) {
            return Some(found);
        }
        let member = |name: &str| package.and_then(|package| package.get(name)).and_then(Json::as_object);
        let installed = |name: &str| {
            let lists = ["devDependencies", "dependencies"].into_iter().filter_map(member);
            lists.into_iter().any(|list| list.contains(name))
        };
        let of_node = self.tests(is_node_test).any(|(_, text)| text.contains("node:test"));
        let command = NODE_RUNNERS.iter().find(|(name, _)| installed(name) && !of_node).map(|(_, command)| *command);
        let command = match command {
            Some(command) => command,
            None if installed("tsx") => &["tsx", "--test"],
            None => &["node", "--test"],
        };
        let words = command.iter().map(ToString::to_string).collect::<Vec<_>>();
        Some(Found::new(Runner::of(&words), first?, command))
    }

    /// The tests of a package with workspaces, by the runner that `npm test` runs in most of them. It runs the tests of all from the root,
    /// where their packages are installed; workspaces with another runner are left out.
    fn workspaces(&self) -> Option<Found> {
        let mut by_runner: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (path, text) in &self.texts {
            let Some(folder) = path.strip_suffix("/package.json") else { continue };
            let package = Json::parse(text.as_bytes()).ok();
            let script = package.and_then(|package| Script::of(&["npm", "test"].map(str::to_owned), &package));
            if let Some(script) = script {
                by_runner.entry(Runner::of(&script.command).name()).or_default().push(folder);
            }
        }
        let (name, command) =
            WORKSPACE_RUNNERS.into_iter().max_by_key(|(name, _)| by_runner.get(name).map_or(0, Vec::len))?;
        let folders = by_runner.remove(name)?;
        let is_theirs = |path: &str| {
            folders.iter().any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
        };
        let file = self.tests(is_node_test).map(|(path, _)| path.as_str()).find(|path| is_theirs(path))?;
        let words = command.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut found = Found::new(Runner::of(&words), file, command);
        if !by_runner.is_empty() {
            found.command.command.extend(folders.iter().map(|folder| match name {
                "node:test" => format!("{folder}/**/*.test.{{js,mjs,cjs}}"),
                _ => format!("{folder}/"),
            }));
        }
        found.command.left_out = by_runner.values().flatten().map(|folder| format!("npm test -w {folder}")).collect();
        Some(found)
    }

    /// The first file of the folder itself that defines a function, `solution.*` before others.
    fn script(&self) -> Option<Project> {
        let mut paths: Vec<&String> = self.texts.keys().filter(|path| !path.contains('/')).collect();
        paths.sort_by_key(|path| !path.starts_with("solution."));
        paths.into_iter().find_map(|path| {
            let (language, text) = (ScriptKind::of(path)?, self.texts.get(path)?);
            let function = text.lines().find_map(|line| language.function(line))?;
            Some(Project::Script { language, file: path.clone(), function: function.to_owned() })
        })
    }
}

impl ScriptKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ScriptKind::Python => "python",
            ScriptKind::Node => "javascript",
            ScriptKind::Ruby => "ruby",
        }
    }

    fn of(path: &str) -> Option<ScriptKind> {
        match path.rsplit_once('.')?.1 {
            "py" => Some(ScriptKind::Python),
            "js" | "mjs" | "cjs" => Some(ScriptKind::Node),
            "rb" => Some(ScriptKind::Ruby),
            _ => None,
        }
    }

    /// The public function that a line at the top level begins to define.
    fn function(self, line: &str) -> Option<&str> {
        let rest = match self {
            ScriptKind::Python | ScriptKind::Ruby => line.strip_prefix("def ")?,
            ScriptKind::Node => line.strip_prefix("export ").unwrap_or(line).strip_prefix("function ")?,
        };
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = rest.get(..end)?;
        // In Ruby a name may end with `?` or `!`, which this does not read.
        let ends = rest.get(end..).is_some_and(|rest| !rest.starts_with(['?', '!', '=', '.', '$']));
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
        (begins && ends).then_some(name)
    }
}

fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

fn is_source(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ["py", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "rb", "go", "rs", "bats", "toml", "cfg", "ini"]
        .contains(&ending)
        || LISTS.contains(&name)
}

fn is_python_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

fn is_node_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx")) = name.rsplit_once('.') else {
        return false;
    };
    if stem.ends_with(".d") {
        return false;
    }
    let named = [".test", "-test", "_test", ".spec"].iter().any(|end| stem.ends_with(end));
    let in_folder = ["test/", "tests/", "__tests__/"]
        .iter()
        .any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}")));
    named || in_folder || stem == "test" || stem.starts_with("test-")
}

/// The beginning of a file, as far as it is text.
fn read(path: &Path) -> String {
    let mut bytes = Vec::new();
    // A file that cannot be read tells nothing about the project.
    let _ = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}
