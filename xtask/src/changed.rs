//! The packages that a change may break.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, ensure};
use cargo_metadata::{Metadata, Package};

use crate::runner::OF_OTHERS;

/// The branch that changes are compared with.
const MAIN: &str = "main";

/// Files beside the packages, by the beginnings of their paths, and the package whose tests read them; all packages where none is named.
const BESIDE: [(&str, Option<&str>); 5] = [
    ("Cargo.", None),
    (".cargo/", None),
    (".config/", None),
    ("vectors/", Some("proofmark-receipt")),
    // Pages, examples and clients.
    ("", Some("proofmark-cli")),
];

/// Which test binaries of `cli` are about a file, by the beginning of its path: the first row that fits. They take longer than the tests
/// of all other packages, so a change runs those alone that are about it.
const OF_CLI: [(&str, &[&str]); 31] = [
    (".c", &ALMOST_ALL),
    ("Cargo.", &ALMOST_ALL),
    (".github/", &["packages"]),
    ("action/", &["action", "docs"]),
    ("clients/js/", &["js", "npm", "python"]),
    ("clients/npm/", &["npm"]),
    ("clients/python-bin/", &["packages"]),
    ("clients/python/", &["python"]),
    ("crates/cli/src/gate", &["docs", "gate"]),
    ("crates/cli/src/guard", &["apart", "docs", "guard"]),
    ("crates/cli/src/hook", &["docs", "hook"]),
    ("crates/cli/src/man", &["packages"]),
    ("crates/cli/src/mcp", &["docs", "mcp"]),
    ("crates/cli/src/serve", &["docs", "serve"]),
    ("crates/cli/src/setup", &["apart", "docs"]),
    ("crates/cli/src/", &["command", "docs"]),
    ("crates/cli/tests/bad_workflows/", &["command"]),
    ("crates/cli/tests/doubtful/", &["command"]),
    ("crates/decider/", &["apart", "command", "gate", "guard", "hook"]),
    ("crates/git/", &["command", "gate"]),
    ("crates/guard/", &["apart", "guard", "real"]),
    ("crates/hosts/", &["hook", "hooks"]),
    ("crates/jobs/", &["serve", "work"]),
    ("crates/otlp/", &["serve"]),
    ("crates/pages/", &["serve", "ui"]),
    ("crates/proxy/", &["apart", "guard"]),
    ("crates/server/", &["apart", "mcp", "serve"]),
    ("crates/", &ALMOST_ALL),
    ("examples/", &["command", "commerce", "docs", "gate", "guard", "hook"]),
    ("packaging/proofmark.service", &["apart", "packages"]),
    ("packaging/", &["action", "docs", "packages"]),
];

/// All but those with coding agents, in browsers, of programs of others, and of many processes that share a store.
const ALMOST_ALL: [&str; 9] = ["apart", "command", "commerce", "docs", "gate", "guard", "hook", "mcp", "serve"];

/// All test binaries of `cli`.
const ALL_OF_CLI: [&str; 18] = [
    "action", "apart", "command", "commerce", "docs", "gate", "guard", "hook", "hooks", "js", "mcp", "npm", "packages",
    "python", "real", "serve", "ui", "work",
];

/// The filter of nextest for the tests of packages that differ from where this branch left `main`, uncommitted changes included, and of
/// those that depend on them, but for those that are about something else; `None` where no package differs.
pub(crate) fn filter_of_changes(workspace: &Metadata) -> anyhow::Result<Option<String>> {
    let root = workspace.workspace_root.as_str();
    let packages = workspace.workspace_packages();
    let folders: Vec<_> =
        packages.iter().filter_map(|package| Some((folder(package, root)?, package.name.as_str()))).collect();
    let files = changed_files()?;
    let changed: BTreeSet<_> = files.lines().map(|file| package_of(file, &folders)).collect();
    let filters =
        changed.iter().map(|package| package.map_or_else(|| "all()".to_owned(), |name| format!("rdeps(={name})")));
    let filters: Vec<_> = filters.collect();
    Ok((!filters.is_empty()).then(|| format!("({}) - ({})", filters.join(" + "), left_out(&files))))
}

/// The filter of nextest for the tests that these files, one on each line, leave as they are.
fn left_out(files: &str) -> String {
    let about: BTreeSet<&str> = files.lines().flat_map(of_cli).collect();
    let others = ALL_OF_CLI.iter().filter(|name| !about.contains(*name));
    let others = others.map(|name| format!(" + binary_id(proofmark-cli::{name})"));
    OF_OTHERS.to_owned() + &others.collect::<String>()
}

/// The test binaries of `cli` that are about a file; those of the documentation, where no row has the file.
fn of_cli(file: &str) -> Vec<&str> {
    let own = file.strip_prefix("crates/cli/tests/").and_then(|path| path.split('/').next());
    if let Some(own) = own.filter(|own| ALL_OF_CLI.contains(own)) {
        return vec![own];
    }
    let row = OF_CLI.iter().find(|(start, _)| file.starts_with(start));
    row.map_or_else(|| vec!["docs"], |(_, names)| names.to_vec())
}

/// The folder of a package below the workspace, with a slash at its end.
fn folder<'a>(package: &'a Package, root: &str) -> Option<&'a str> {
    package.manifest_path.as_str().strip_prefix(root)?.strip_prefix('/')?.strip_suffix("Cargo.toml")
}

/// The package of a file, or the one whose tests read it; `None` for all packages.
fn package_of<'a>(file: &str, folders: &[(&str, &'a str)]) -> Option<&'a str> {
    let own = folders.iter().filter(|(folder, _)| file.starts_with(folder)).max_by_key(|(folder, _)| folder.len());
    let beside = || BESIDE.iter().find(|(start, _)| file.starts_with(start)).and_then(|(_, package)| *package);
    own.map(|(_, package)| *package).or_else(beside)
}

/// The paths of files that differ from where this branch left `main`, one on each line.
fn changed_files() -> anyhow::Result<String> {
    let base = git(&["merge-base", "HEAD", MAIN]).unwrap_or_else(|_| "HEAD".to_owned());
    let changed = git(&["diff", "--name-only", "--no-renames", base.trim()])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(changed + &new)
}

fn git(arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").args(arguments).output().context("failed to start `git`")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`git {}` ended with {}: {error}", arguments.join(" "), output.status);
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::{OF_CLI, left_out, of_cli, package_of};

    #[test]
    fn tests_of_commands_run_where_they_differ_or_what_they_are_about() {
        for (file, about) in [
            ("README.md", vec!["docs"]),
            ("crates/cli/src/verify.rs", vec!["command", "docs"]),
            ("crates/cli/src/gate/checks.rs", vec!["docs", "gate"]),
            ("crates/cli/tests/ui/looks.mjs", vec!["ui"]),
            ("crates/cli/tests/doubtful/policy_absent_and_read.yaml", vec!["command"]),
            ("crates/pages/src/lib.rs", vec!["serve", "ui"]),
        ] {
            assert_eq!(of_cli(file), about, "{file}");
        }
        assert_eq!(of_cli("crates/receipt/src/lib.rs").len(), 9);
        let left_out = left_out("docs/gate.md\ncrates/cli/src/gate.rs\n");
        assert!(left_out.contains("proofmark-cli::command") && left_out.contains("proofmark-cli::ui"), "{left_out}");
        assert!(!left_out.contains("proofmark-cli::gate") && !left_out.contains("proofmark-cli::docs"), "{left_out}");
    }

    #[test]
    fn every_folder_of_tests_is_known() {
        let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/cli/tests");
        let folders = std::fs::read_dir(tests).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        for folder in folders {
            let path = format!("crates/cli/tests/{folder}/");
            let has_row = OF_CLI.iter().any(|(start, _)| *start == path);
            assert!(has_row || of_cli(&path) == [folder.as_str()], "{folder}");
        }
    }

    #[test]
    fn a_file_belongs_to_the_innermost_package_or_to_the_one_that_reads_it() {
        let folders = [("xtask/", "xtask"), ("xtask/bench/", "xtask-bench"), ("crates/cli/", "proofmark-cli")];
        for (file, package) in [
            ("xtask/src/main.rs", Some("xtask")),
            ("xtask/bench/src/main.rs", Some("xtask-bench")),
            ("crates/cli/tests/ui/main.rs", Some("proofmark-cli")),
            ("vectors/receipt.json", Some("proofmark-receipt")),
            ("docs/serving.md", Some("proofmark-cli")),
            ("Cargo.lock", None),
            (".config/nextest.toml", None),
        ] {
            assert_eq!(package_of(file, &folders), package, "{file}");
        }
    }
}
