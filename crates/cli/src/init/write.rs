//! What `proofmark init` writes for a project, and what it says to do next.

use std::path::Path;

use super::project::{Project, Runner, ScriptKind};
use super::word;

/// What CI needs: GitHub's, and others.
pub(crate) const CI: &str =
    "GitHub Actions: first set the repository variable `PROOFMARK_SOURCE`; the recipe says where.
Other CI runs the same commands: `--format junit` prints a JUnit report.";

const POLICY: &str = include_str!("templates/policy.yaml");
const CASES: &str = include_str!("templates/cases.yaml");
const PROJECT: &str = include_str!("templates/proofmark.yaml");
const EXAMPLE_SUITE: &str = include_str!("templates/suite.yaml");
const EXAMPLE_SUBMISSION: &str = include_str!("templates/solution.py");
const SCRIPT_SUITE: &str = include_str!("templates/script-suite.yaml");
const GITHUB: &str = include_str!("templates/workflow.yml");

/// A file to write.
pub(crate) struct File {
    /// Its path below the folder of the project.
    pub(crate) path: &'static str,
    pub(crate) content: String,
    /// What it is for.
    pub(crate) about: &'static str,
}

/// The files that fit a project.
pub(crate) fn files(project: &Project) -> Vec<File> {
    let file = |path, content: String, about| File { path, content, about };
    let suite = "proofmark/suite.yaml";
    let mut files = match project {
        Project::Tests { runner, file: test, .. } => {
            vec![file("proofmark.yaml", project_file(*runner, test), "how the project is verified")]
        }
        Project::Script { language, file: script, function } => {
            vec![file(suite, script_suite(*language, script, function), "the suite for the function")]
        }
        Project::Nothing => vec![
            file(suite, EXAMPLE_SUITE.to_owned(), "an example of a suite"),
            file("proofmark/solution.py", EXAMPLE_SUBMISSION.to_owned(), "a submission that passes it"),
        ],
    };
    files.push(file("proofmark/policy.yaml", POLICY.to_owned(), "what an agent may do"));
    files.push(file("proofmark/cases.yaml", CASES.to_owned(), "cases that the policy is tested with"));
    files.push(file(".github/workflows/proofmark.yml", github(project), "the same in GitHub Actions"));
    files
}

/// The commands that come next, for the folder as the command line names it.
pub(crate) fn next(project: &Project, folder: &Path) -> Vec<String> {
    vec![
        format!("proofmark verify {}", verify(project, &|path| word(folder, path))),
        format!("proofmark policy test {}", word(folder, "proofmark/cases.yaml")),
        "proofmark receipt list".to_owned(),
    ]
}

/// The arguments of `proofmark verify` for a project.
fn verify(project: &Project, word: &dyn Fn(&str) -> String) -> String {
    let suite = || word("proofmark/suite.yaml");
    match project {
        Project::Tests { .. } => format!("--dir {}", word(".")),
        Project::Script { file, .. } => format!("{} --submission {}", suite(), word(file)),
        Project::Nothing => format!("{} --submission {}", suite(), word("proofmark/solution.py")),
    }
}

fn project_file(runner: Runner, test: &str) -> String {
    let command = match runner {
        Runner::Pytest => "[python3, -m, pytest, -q]".to_owned(),
        Runner::Unittest => unittest(test),
        Runner::Node => "[node, --test]".to_owned(),
        Runner::Vitest => "[node, node_modules/.bin/vitest, run]".to_owned(),
        Runner::Jest => "[node, node_modules/.bin/jest]".to_owned(),
        Runner::Mocha => "[node, node_modules/.bin/mocha]".to_owned(),
    };
    PROJECT.replace("@COMMAND@", &command)
}

/// `unittest` searches a folder without `__init__.py` only if it is told to.
fn unittest(test: &str) -> String {
    match test.split_once('/') {
        Some((folder, _)) => format!("[python3, -m, unittest, discover, -s, {folder}]"),
        None => "[python3, -m, unittest]".to_owned(),
    }
}

fn script_suite(language: ScriptKind, file: &str, function: &str) -> String {
    let (input, expected) = match language {
        ScriptKind::Python => (format!("\"callable({function})\""), "\"True\""),
        ScriptKind::Node => (format!("\"typeof {function}\""), "'\"function\"'"),
        ScriptKind::Ruby => (format!("\"respond_to?(:{function}, true)\""), "\"true\""),
    };
    let names = [("@FILE@", file), ("@FUNCTION@", function), ("@LANGUAGE@", language.name())];
    let values = [("@INPUT@", input.as_str()), ("@EXPECTED@", expected)];
    names.into_iter().chain(values).fold(SCRIPT_SUITE.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// Commands as steps of a job.
fn steps(commands: &[String]) -> String {
    commands.iter().map(|command| format!("      - run: {command}\n")).collect()
}

fn github(project: &Project) -> String {
    let setup = match project {
        Project::Tests { runner, installs, .. } if runner.is_python() => {
            let version = "        with: {python-version: \"3.12\"}\n";
            format!("      - uses: actions/setup-python@v5\n{version}{}", steps(installs))
        }
        Project::Tests { installs, .. } => {
            format!("      - uses: actions/setup-node@v4\n        with: {{node-version: 22}}\n{}", steps(installs))
        }
        Project::Script { .. } | Project::Nothing => String::new(),
    };
    let verify = verify(project, &str::to_owned);
    GITHUB.replace("@SETUP@", &setup).replace("@VERIFY@", &verify)
}
