//! The commands that install what the tests of a project import.

use std::collections::BTreeMap;

/// The extras and groups that hold what tests need, by convention.
const TEST_NAMES: [&str; 3] = ["test", "tests", "dev"];

/// What a job of CI runs before the tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Installs {
    pub(crate) commands: Vec<String>,
    /// What GitHub's action of the language keeps between runs. It refuses a name whose files are missing.
    pub(crate) cache: Option<&'static str>,
}

/// For a project of Python, from the texts of its files by path.
pub(super) fn python(texts: &BTreeMap<String, String>) -> Installs {
    let mut commands = Vec::new();
    if texts.contains_key("requirements.txt") {
        commands.push("python3 -m pip install -r requirements.txt".to_owned());
    }
    if let Some(text) = texts.get("pyproject.toml") {
        if has_table(text, "project") {
            // Of an installed copy the tests would judge that copy, so `verify` refuses it.
            let extra = named(text, "project.optional-dependencies");
            commands.push(match extra {
                Some(extra) => format!("python3 -m pip install --editable '.[{extra}]'"),
                None => "python3 -m pip install --editable .".to_owned(),
            });
        }
        if let Some(group) = named(text, "dependency-groups") {
            commands.push("python3 -m pip install --upgrade 'pip>=25.1'".to_owned());
            commands.push(format!("python3 -m pip install --group {group}"));
        }
    }
    let has_list = ["requirements.txt", "pyproject.toml"].iter().any(|name| texts.contains_key(*name));
    Installs { commands, cache: has_list.then_some("pip") }
}

/// For a project of Node.
pub(super) fn node(texts: &BTreeMap<String, String>) -> Installs {
    let has = |name: &str| texts.contains_key(name);
    let (commands, cache): (&[&str], _) = if !has("package.json") {
        (&[], None)
    } else if has("package-lock.json") || has("npm-shrinkwrap.json") {
        (&["npm ci"], Some("npm"))
    } else if has("pnpm-lock.yaml") {
        // Without a cache: the action looks for the program of the cache before a step can install it.
        (&["corepack enable", "pnpm install --frozen-lockfile"], None)
    } else if has("yarn.lock") {
        (&["corepack enable", "yarn install --immutable"], None)
    } else {
        (&["npm install"], None)
    };
    Installs { commands: commands.iter().map(ToString::to_string).collect(), cache }
}

/// The Debian package of a runner that is a program of the host.
pub(super) fn debian(runner: &str) -> &'static str {
    match runner {
        "rspec" => "ruby-rspec",
        "minitest" => "ruby-minitest",
        _ => "bats",
    }
}

/// The table that a line of TOML begins.
fn header(line: &str) -> Option<&str> {
    let (name, _) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    Some(name.trim())
}

fn has_table(text: &str, table: &str) -> bool {
    text.lines().any(|line| header(line) == Some(table))
}

/// The first of [`TEST_NAMES`] that a table of TOML has as a key. Lines are searched, and nothing is parsed: a key that this
/// misses leaves a command out, which the owner adds.
fn named(text: &str, table: &str) -> Option<&'static str> {
    let lines = text.lines().skip_while(|line| header(line) != Some(table)).skip(1);
    let keys: Vec<&str> = lines
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| Some(line.split_once('=')?.0.trim()))
        .collect();
    TEST_NAMES.into_iter().find(|name| keys.contains(name))
}
