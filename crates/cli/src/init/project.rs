//! What a folder holds, as far as it decides what `proofmark init` writes. Its files are read, and none is run.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use proofmark_receipt::Json;

use super::installs;

/// The most files and folders that are looked at.
const MAX_ENTRIES: usize = 20_000;
/// The most bytes of a file that are read.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// The most bytes of all files that are read.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// How deep folders are searched.
const MAX_DEPTH: usize = 6;
/// Folders that hold no source of the project.
const SKIPPED: [&str; 8] =
    ["__pycache__", "build", "dist", "examples", "node_modules", "site-packages", "target", "venv"];

/// What to verify in a folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Project {
    /// Tests, and the program that runs them.
    Tests {
        runner: Runner,
        file: String,
        other: Option<Runner>,
        /// The commands that install what the tests import.
        installs: Vec<String>,
    },
    /// A file without tests that defines a function.
    Script { language: ScriptKind, file: String, function: String },
    /// Neither.
    Nothing,
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
        let (python, node) = (files.python(), files.node());
        // With tests of both, the marker file decides, and the other is named.
        let node_first = files.texts.contains_key("package.json")
            && !["pyproject.toml", "setup.py", "setup.cfg"].iter().any(|name| files.texts.contains_key(*name));
        let (first, second) = if node_first { (node, python) } else { (python, node) };
        match (first, second) {
            (Some((runner, file)), other) => files.tests_of(runner, file, other.map(|(runner, _)| runner)),
            (None, Some((runner, file))) => files.tests_of(runner, file, None),
            (None, None) => files.script().unwrap_or(Project::Nothing),
        }
    }

    /// One word for it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Project::Tests { runner, .. } => runner.name(),
            Project::Script { .. } => "script",
            Project::Nothing => "nothing",
        }
    }
}

impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Project::Tests { runner, file, other, .. } => {
                write!(f, "{} tests ({file})", runner.name())?;
                match other {
                    Some(other) => write!(f, ", and {} tests, which `proofmark.yaml` does not run", other.name()),
                    None => Ok(()),
                }
            }
            Project::Script { file, function, .. } => write!(f, "no tests, and the function `{function}` in {file}"),
            Project::Nothing => f.write_str("no tests and no function; the suite is an example"),
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
        }
    }

    pub(crate) fn is_python(self) -> bool {
        matches!(self, Runner::Pytest | Runner::Unittest)
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

    fn tests_of(&self, runner: Runner, file: String, other: Option<Runner>) -> Project {
        let mut installs = if runner.is_python() { installs::python(&self.texts) } else { installs::node(&self.texts) };
        if runner == Runner::Pytest {
            installs.push("python3 -m pip install pytest".to_owned());
        }
        Project::Tests { runner, file, other, installs }
    }

    fn tests(&self, is_test: fn(&str) -> bool) -> impl Iterator<Item = (&String, &String)> {
        self.texts.iter().filter(move |(path, _)| is_test(path))
    }

    fn python(&self) -> Option<(Runner, String)> {
        let names_pytest = |path: &str| self.texts.get(path).is_some_and(|text| text.contains("pytest"));
        let configured = ["pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", "requirements.txt"]
            .iter()
            .any(|path| names_pytest(path));
        let of_pytest = |text: &str| text.contains("import pytest") || text.contains("from pytest");
        let of_unittest = |text: &str| text.contains("unittest") || text.contains("TestCase");
        let tests: Vec<_> = self.tests(is_python_test).collect();
        let (first, _) = tests.first()?;
        let pytest = configured || tests.iter().any(|(_, text)| of_pytest(text) || !of_unittest(text));
        Some((if pytest { Runner::Pytest } else { Runner::Unittest }, (*first).clone()))
    }

    fn node(&self) -> Option<(Runner, String)> {
        let (first, _) = self.tests(is_node_test).next()?;
        let package = self.texts.get("package.json").and_then(|text| Json::parse(text.as_bytes()).ok());
        let package = package.as_ref().and_then(Json::as_object);
        let member = |name: &str| package.and_then(|package| package.get(name)).and_then(Json::as_object);
        let script = member("scripts").and_then(|scripts| scripts.get("test")).and_then(Json::as_str).unwrap_or("");
        let installed = |name: &str| {
            ["devDependencies", "dependencies"]
                .iter()
                .any(|list| member(list).is_some_and(|list| list.get(name).is_some()))
        };
        // What `npm test` runs decides, then what is installed.
        let runners = [("vitest", Runner::Vitest), ("jest", Runner::Jest), ("mocha", Runner::Mocha)];
        let named = runners.iter().find(|(name, _)| script.split([' ', '/']).any(|word| word == *name));
        let found = named.or_else(|| runners.iter().find(|(name, _)| installed(name)));
        let runner =
            if script.contains("node --test") || self.tests(is_node_test).any(|(_, text)| text.contains("node:test")) {
                Runner::Node
            } else {
                found.map_or(Runner::Node, |(_, runner)| *runner)
            };
        Some((runner, first.clone()))
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
    ["py", "js", "mjs", "cjs", "rb", "toml", "cfg", "ini"].contains(&ending)
        || ["package.json", "package-lock.json", "npm-shrinkwrap.json", "requirements.txt"].contains(&name)
}

fn is_python_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

fn is_node_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, "js" | "mjs" | "cjs")) = name.rsplit_once('.') else { return false };
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
