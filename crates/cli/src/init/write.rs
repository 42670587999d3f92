//! What `proofmark init` writes for a project, and what it says to do next.

use std::path::Path;

use proofmark_checks::Script;
use proofmark_receipt::Json;

use super::project::{Project, ScriptKind};
use super::word;

/// What CI needs: GitHub's, and others.
pub(crate) const CI: &str = "GitHub Actions: first set the repository variables that the recipe names.
Other CI runs the same commands: `--format junit` prints a JUnit report.";

const POLICY: &str = include_str!("templates/policy.yaml");
const CASES: &str = include_str!("templates/cases.yaml");
const PROJECT: &str = include_str!("templates/proofmark.yaml");
const EXAMPLE_SUITE: &str = include_str!("templates/suite.yaml");
const EXAMPLE_SUBMISSION: &str = include_str!("templates/solution.py");
const SCRIPT_SUITE: &str = include_str!("templates/script-suite.yaml");
const GITHUB: &str = include_str!("templates/workflow.yml");
/// The step that verifies a project with tests.
const VERIFY_PROJECT: &str = include_str!("templates/verify-project.yml");
/// Words that YAML does not read as texts.
const NOT_TEXTS: [&str; 8] = ["true", "false", "yes", "no", "on", "off", "null", "y"];

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
        Project::Tests { command, include, .. } => {
            vec![file("proofmark.yaml", project_file(command, include), "how the project is verified")]
        }
        Project::Script { language, file: script, function } => {
            vec![file(suite, script_suite(*language, script, function), "the suite for the function")]
        }
        Project::Nothing { .. } => vec![
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
        Project::Nothing { .. } => format!("{} --submission {}", suite(), word("proofmark/solution.py")),
    }
}

fn project_file(script: &Script, include: &[String]) -> String {
    let words: Vec<String> = script.command.iter().map(|word| yaml_word(word)).collect();
    let report = script.report.map(|report| format!("report: {}\n", yaml_word(report)));
    let env: String = script.env.iter().map(|(name, value)| format!("  {name}: {}\n", yaml_word(value))).collect();
    let env = if env.is_empty() { env } else { format!("env:\n{env}") };
    let include: Vec<String> = include.iter().map(|path| yaml_word(path)).collect();
    let include = if include.is_empty() { String::new() } else { format!("include: [{}]\n", include.join(", ")) };
    let more = report.unwrap_or_default() + &env + &include;
    PROJECT.replace("@COMMAND@", &format!("[{}]", words.join(", "))).replace("@MORE@", &more)
}

/// A text in a list of YAML. JSON's strings are YAML's, too.
fn yaml_word(word: &str) -> String {
    let is_plain =
        word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/'))
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "._/=+@-".contains(c))
            && !NOT_TEXTS.contains(&word.to_ascii_lowercase().as_str());
    if is_plain { word.to_owned() } else { Json::from(word).to_text() }
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
        Project::Tests { runner, installs, .. } => {
            let cache = installs.cache.map_or_else(String::new, |cache| format!(", cache: {cache}"));
            let action = runner
                .action()
                .map(|(action, with)| format!("      - uses: actions/{action}\n        with: {{{with}{cache}}}\n"));
            action.unwrap_or_default() + &steps(&installs.commands)
        }
        Project::Script { .. } | Project::Nothing { .. } => String::new(),
    };
    let verify = match project {
        Project::Tests { .. } => VERIFY_PROJECT.to_owned(),
        Project::Script { .. } | Project::Nothing { .. } => {
            let verify = verify(project, &str::to_owned);
            format!("      - run: proofmark verify {verify} --format github --out receipts.jsonl\n")
        }
    };
    GITHUB.replace("@SETUP@", &setup).replace("@VERIFY@", &verify)
}
