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

/// Tests of `cli` that take as long as all others together: with coding agents, in browsers, of programs of others, and of many
/// processes that share a store. They run where they differ themselves, or what they are about, which is in the folder beside.
const SLOW: [(&str, &str); 5] = [
    ("hooks", "crates/hosts/"),
    ("js", "clients/js/"),
    ("real", "crates/guard/"),
    ("ui", "crates/pages/"),
    ("work", "crates/jobs/"),
];

/// The filter of nextest for the tests of packages that differ from where this branch left `main`, uncommitted changes included, and of
/// those that depend on them, but for those that are slow; `None` where no package differs.
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

/// The filter of nextest for slow tests that these files leave as they are.
fn left_out(files: &str) -> String {
    let mut filter = OF_OTHERS.to_owned();
    for (name, about) in SLOW {
        let own = format!("crates/cli/tests/{name}/");
        if !files.lines().any(|file| file.starts_with(&own) || file.starts_with(about)) {
            filter += &format!(" + binary({name})");
        }
    }
    filter
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
    use super::{left_out, package_of};

    #[test]
    fn slow_tests_run_where_they_differ_or_what_they_are_about() {
        for (file, is_left_out) in [
            ("crates/cli/src/main.rs", true),
            ("crates/cli/tests/ui/looks.mjs", false),
            ("crates/pages/src/lib.rs", false),
        ] {
            let left_out = left_out(&format!("README.md\n{file}\n"));
            assert_eq!(left_out.contains("binary(ui)"), is_left_out, "{file}");
            assert!(left_out.contains("binary(work)"), "{file}");
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
