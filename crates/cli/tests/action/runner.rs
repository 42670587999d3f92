//! What a runner of GitHub does with a composite action: variables, expressions, outputs, and commands in the log.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proofmark_receipt::Json;
use tempfile::TempDir;

use crate::{BINARY, at, project_file, text, yaml};

type Texts = BTreeMap<String, String>;

/// The address of the host of the repositories.
pub(crate) const SERVER: &str = "https://git.example.org";
/// The doctor starts every interpreter, which takes a second. Most tests do not need that.
const HOLDS: &str = r#"{"levels": [{"level": "B", "holds": true}]}"#;

/// A job with a checkout.
pub(crate) struct Job {
    folder: TempDir,
    /// The folder with the action.
    pub(crate) action: PathBuf,
    pub(crate) path: String,
}

/// The results of a job.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) log: String,
    pub(crate) summary: String,
    pub(crate) outputs: Texts,
    /// The files of the artifact, with its name first.
    pub(crate) kept: Vec<String>,
    pub(crate) commands: Vec<Sent>,
}

/// A command of the log that the runner obeys.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) name: String,
    pub(crate) message: String,
}

impl Job {
    pub(crate) fn new() -> Job {
        let folder = TempDir::new().unwrap();
        for name in ["workspace", "temp", "home"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let path = std::env::var("PATH").unwrap();
        let mut job = Job { folder, action: project_file("action"), path };
        job.program(
            "proofmark",
            &format!("#!/bin/sh\n[ \"$1\" != doctor ] || exec echo '{HOLDS}'\nexec '{BINARY}' \"$@\"\n"),
        );
        job
    }

    /// The path of a file of the checkout.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("workspace").join(name)
    }

    /// Writes a file of the checkout.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a program that is found before others.
    pub(crate) fn program(&mut self, name: &str, script: &str) {
        let folder = self.folder.path().join("bin");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), script).unwrap();
        assert!(Command::new("chmod").arg("+x").arg(folder.join(name)).status().unwrap().success());
        if !self.path.starts_with(folder.to_str().unwrap()) {
            self.path = format!("{}:{}", folder.display(), self.path);
        }
    }

    /// What is left below the runner's folder of temporary files.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        files(&self.folder.path().join("temp"))
    }

    /// Runs the action with these inputs and the binary of this build, whose doctor says that programs can be isolated.
    pub(crate) fn run(&self, given: &[(&str, &str)]) -> Ended {
        let binary = self.path("../bin/proofmark");
        self.run_with(&[&[("binary", binary.to_str().unwrap())], given].concat())
    }

    /// Runs the last step of the action alone.
    pub(crate) fn end(&self, fail_on: &str, result: &str) -> Ended {
        let action = yaml("action/action.yml");
        let values = [("inputs.fail-on", fail_on), ("steps.report.outputs.result", result)];
        let mut values = values.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut ended = Ended::default();
        self.step(at(&action, &["runs", "steps"]).as_array().unwrap().last().unwrap(), &mut values, &mut ended);
        ended
    }

    /// Runs the action with these inputs.
    pub(crate) fn run_with(&self, given: &[(&str, &str)]) -> Ended {
        let action = yaml("action/action.yml");
        let mut values = Texts::from([("github.action_repository".to_owned(), "owner/proofmark".to_owned())]);
        for (name, input) in at(&action, &["inputs"]).as_object().unwrap().iter() {
            values.insert(format!("inputs.{name}"), text(input, &["default"]).to_owned());
        }
        for (name, value) in given {
            let known = values.insert(format!("inputs.{name}"), (*value).to_owned());
            assert!(known.is_some(), "the action has no input `{name}`");
        }
        let mut ended = Ended::default();
        for step in at(&action, &["runs", "steps"]).as_array().unwrap() {
            self.step(step, &mut values, &mut ended);
            if ended.code != 0 {
                break;
            }
        }
        for (name, output) in at(&action, &["outputs"]).as_object().unwrap().iter() {
            ended.outputs.insert(name.to_owned(), evaluate(text(output, &["value"]), &values));
        }
        ended.commands = sent(&ended.log);
        ended
    }

    fn step(&self, step: &Json, values: &mut Texts, ended: &mut Ended) {
        let members = step.as_object().unwrap();
        if members.get("if").is_some_and(|condition| evaluate(condition.as_str().unwrap(), values).is_empty()) {
            return;
        }
        let Some(script) = members.get("run") else {
            assert!(text(step, &["uses"]).starts_with("actions/upload-artifact@"));
            let paths = evaluate(text(step, &["with", "path"]), values);
            ended.kept = vec![evaluate(text(step, &["with", "name"]), values)];
            ended.kept.extend(paths.lines().filter(|path| Path::new(path).exists()).map(str::to_owned));
            return;
        };
        assert_eq!(text(step, &["shell"]), "bash");
        let file = |name: &str| self.folder.path().join(name);
        for name in ["output", "summary"] {
            fs::write(file(name), "").unwrap();
        }
        fs::write(file("script.sh"), evaluate(script.as_str().unwrap(), values)).unwrap();
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail"]).arg(file("script.sh")).env_clear();
        bash.env("PATH", &self.path).env("HOME", file("home")).env("LANG", "C.UTF-8");
        bash.env("GITHUB_ACTION_PATH", &self.action).env("GITHUB_WORKSPACE", self.path(""));
        bash.env("GITHUB_OUTPUT", file("output")).env("GITHUB_STEP_SUMMARY", file("summary"));
        bash.env("RUNNER_TEMP", file("temp")).env("GITHUB_SERVER_URL", SERVER);
        for (name, value) in at(step, &["env"]).as_object().unwrap().iter() {
            bash.env(name, evaluate(value.as_str().unwrap(), values));
        }
        let log = fs::File::create(file("log")).unwrap();
        bash.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).current_dir(self.path(""));
        ended.code = bash.status().unwrap().code().expect("the step ends by itself");
        ended.log.push_str(&String::from_utf8_lossy(&fs::read(file("log")).unwrap()));
        ended.summary.push_str(&fs::read_to_string(file("summary")).unwrap());
        if let Some(id) = members.get("id") {
            for (name, value) in outputs(&fs::read_to_string(file("output")).unwrap()) {
                values.insert(format!("steps.{}.outputs.{name}", id.as_str().unwrap()), value);
            }
        }
    }
}

impl Ended {
    pub(crate) fn output(&self, name: &str) -> &str {
        self.outputs.get(name).unwrap_or_else(|| panic!("the action has no output `{name}`"))
    }

    /// The messages of commands with this name.
    pub(crate) fn sent(&self, name: &str) -> Vec<&str> {
        self.commands.iter().filter(|sent| sent.name == name).map(|sent| sent.message.as_str()).collect()
    }
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// A text with `${{ }}` replaced. The operators are `&&` and `||`, with equal precedence. A value is not expanded again.
fn evaluate(written: &str, values: &Texts) -> String {
    let mut parts = written.split("${{");
    let mut done = parts.next().unwrap().to_owned();
    for part in parts {
        let (expression, rest) = part.split_once("}}").expect("an expression ends");
        let value = |name: &str| {
            let known = ["inputs.", "steps.", "github."].iter().any(|context| name.starts_with(context));
            assert!(known, "`{name}` is in no context");
            let value = values.get(name).cloned();
            assert!(value.is_some() || !name.starts_with("inputs."), "there is no `{name}`");
            value.unwrap_or_default()
        };
        let mut words = expression.split_whitespace();
        let mut result = value(words.next().unwrap());
        while let Some(operator) = words.next() {
            let other = value(words.next().unwrap());
            result = match operator {
                "&&" => {
                    if result.is_empty() {
                        result
                    } else {
                        other
                    }
                }
                "||" => {
                    if result.is_empty() {
                        other
                    } else {
                        result
                    }
                }
                other => panic!("`{other}` is not an operator"),
            };
        }
        done.push_str(&result);
        done.push_str(rest);
    }
    done
}

/// The outputs in a file of `GITHUB_OUTPUT`.
fn outputs(file: &str) -> Texts {
    let mut found = Texts::new();
    let mut lines = file.lines();
    while let Some(line) = lines.next() {
        let (name, end) = line.split_once("<<").unwrap_or_else(|| panic!("`{line}` sets no output"));
        let value: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
        found.insert(name.to_owned(), value.join("\n"));
    }
    found
}

/// The commands that a runner finds in a log: `::name properties::message` at the start of a line, `##[name properties]message`
/// anywhere in it, and none between `::stop-commands::TOKEN` and `::TOKEN::`.
fn sent(log: &str) -> Vec<Sent> {
    let mut found = Vec::new();
    let mut stopped: Option<String> = None;
    for line in log.split(['\n', '\r']) {
        let Some((name, message)) = command(line) else { continue };
        match &stopped {
            Some(token) if name == *token => stopped = None,
            Some(_) => {}
            None if name == "stop-commands" => stopped = Some(message),
            None => found.push(Sent { name, message }),
        }
    }
    assert_eq!(stopped, None, "commands stay stopped");
    found
}

fn command(line: &str) -> Option<(String, String)> {
    let name = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    if let Some(rest) = line.trim_start().strip_prefix("::") {
        let (head, message) = rest.split_once("::")?;
        return Some((name(head), message.to_owned()));
    }
    let (head, message) = line.split_once("##[")?.1.split_once(']')?;
    Some((name(head), message.to_owned()))
}
