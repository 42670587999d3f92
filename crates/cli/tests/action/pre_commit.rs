//! The hooks for pre-commit, with pre-commit itself.

use std::fs;
use std::process::{Command, Output};

use crate::runner::Job;
use crate::{project_file, results};

/// The folder where the hooks are a separate repository.
const HOOKS: &str = "../hooks";
const HOOK_IDS: [&str; 3] = ["proofmark-lint", "proofmark-policy-test", "proofmark-receipts"];
const CONFIG: &str = ".pre-commit-config.yaml";

fn git(job: &Job, folder: &str, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(arguments).current_dir(job.path(folder));
    let done = git.output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
}

#[test]
fn the_hooks_find_what_is_wrong() {
    if std::env::var_os("PROOFMARK_PYTHON").is_none() {
        return proofmark_testing::skip("python", "PROOFMARK_PYTHON names no Python with pre_commit");
    }
    let Some(python) = proofmark_testing::python_with("pre_commit", "pre-commit==4.7.0") else { return };
    if !proofmark_testing::has_program("git", "git") {
        return;
    }
    let job = Job::new();
    // The binary of this build, in place of the package that pre-commit would install.
    let manifest = fs::read_to_string(project_file("packaging/pre-commit/.pre-commit-hooks.yaml")).unwrap();
    assert_eq!(manifest.matches("language: python").count(), 3);
    job.file(&format!("{HOOKS}/.pre-commit-hooks.yaml"), manifest.replace("language: python", "language: system"));
    for folder in [HOOKS, ""] {
        git(&job, folder, &["init", "-q", "-b", "main"]);
    }
    git(&job, HOOKS, &["add", "."]);
    git(&job, HOOKS, &["commit", "-q", "-m", "hooks"]);
    git(&job, HOOKS, &["tag", "v1"]);
    let config = HOOK_IDS.map(|hook| format!("      - id: {hook}\n")).concat();
    job.file(CONFIG, format!("repos:\n  - repo: {HOOKS}\n    rev: v1\n    hooks:\n{config}"));
    let run = || -> Output {
        git(&job, "", &["add", "."]);
        let mut command = Command::new(&python);
        command.args(["-m", "pre_commit", "run", "--all-files", "--verbose"]);
        command.env("PATH", &job.path).env("PROOFMARK_HOME", job.path("../home"));
        command.env("PRE_COMMIT_HOME", job.path("../cache")).current_dir(job.path("")).output().unwrap()
    };
    let of = |name: &str| fs::read(project_file(name)).unwrap();
    job.file("workflows/good.yaml", of("examples/accept/workflow.yaml"));
    job.file("sort.json", of("examples/sort.json"));
    job.file("proofmark/cases.yaml", of("examples/decide/cases.yaml"));
    job.file("proofmark/policy.yaml", of("examples/decide/policy.yaml"));
    let ended = results::passed(&job, &[]);
    let receipt = fs::read_to_string(ended.output("receipt")).unwrap();
    job.file("receipts/one.jsonl", &receipt);
    let done = run();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert_eq!(String::from_utf8_lossy(&done.stdout).matches("Passed\n").count(), 3, "{done:?}");
    job.file("workflows/bad.yaml", of("crates/cli/tests/bad_workflows/cycle.yaml"));
    job.file("proofmark/policy.yaml", "version: 1\n");
    job.file("receipts/one.jsonl", receipt.replace("\"pass\"", "\"fail\""));
    let done = run();
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let shown = String::from_utf8_lossy(&done.stdout);
    assert_eq!(shown.matches("Failed\n").count(), 3, "{shown}");
    assert!(HOOK_IDS.iter().all(|hook| shown.contains(&format!("hook id: {hook}\n"))), "{shown}");
}
