//! `--tasks`: tasks and predictions as the public harness for patches writes them, one JSON object a line.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use proofmark_checks::is_project_path;
use proofmark_receipt::json::Limits;
use proofmark_receipt::{Json, Object, Task};
use proofmark_verifier::{Base, Lists, Patch, ProjectConfig, TestsFrom, project_origin};

use super::{Project, Reading};
use crate::error::with_help;

/// The longest line, in bytes.
const MAX_LINE_BYTES: usize = 16 << 20;
/// The most values of a line.
const MAX_VALUES: usize = 1 << 20;
/// How deep a line nests.
const MAX_DEPTH: usize = 16;
/// The most tasks.
const MAX_TASKS: usize = 100_000;

/// Tasks, and the work that was done on them.
#[derive(Args)]
pub(crate) struct TaskOptions {
    /// Verify predictions of these tasks: JSON lines with instance_id, repo, base_commit, test_patch, FAIL_TO_PASS and PASS_TO_PASS
    #[arg(long, value_name = "FILE", requires_all = ["repos", "predictions"], conflicts_with_all = ["dir", "repo", "submission", "tests_from", "watch"])]
    tasks: Option<PathBuf>,
    /// The folder with the repositories of the tasks, as OWNER/NAME or NAME
    #[arg(long, value_name = "DIR", requires = "tasks")]
    repos: Option<PathBuf>,
    /// The predictions: JSON lines with instance_id and model_patch
    #[arg(long, value_name = "FILE", requires = "tasks")]
    predictions: Option<PathBuf>,
}

/// A task.
struct Instance {
    repo: String,
    base_commit: String,
    test_patch: String,
    lists: Lists,
}

/// Predictions that become projects one after the other.
pub(crate) struct Tasks {
    instances: HashMap<String, Instance>,
    predictions: Vec<(String, String)>,
    repos: PathBuf,
    config: ProjectConfig,
}

impl TaskOptions {
    /// Whether tasks are named.
    pub(crate) fn is_given(&self) -> bool {
        self.tasks.is_some()
    }

    /// The tasks, all of which run as `config` says.
    pub(super) fn open(&self, config: ProjectConfig) -> anyhow::Result<Option<Tasks>> {
        let (Some(tasks), Some(repos), Some(predictions)) = (&self.tasks, &self.repos, &self.predictions) else {
            return Ok(None);
        };
        let mut instances = HashMap::new();
        for (id, instance) in lines(tasks, instance)? {
            if instances.insert(id.clone(), instance).is_some() {
                return Err(with_help(
                    format!("read the tasks `{}`: the instance `{id}` is there twice", tasks.display()),
                    "leave one of the two out",
                ));
            }
        }
        let predictions = lines(predictions, |line| {
            Ok((
                text(line, "instance_id")?.to_owned(),
                line.get("model_patch").and_then(Json::as_str).unwrap_or("").to_owned(),
            ))
        })?;
        Ok(Some(Tasks { instances, predictions, repos: repos.clone(), config }))
    }
}

impl Tasks {
    /// The predictions as projects, each with the name of its task.
    pub(crate) fn into_projects(self) -> impl Iterator<Item = (String, anyhow::Result<Project>)> {
        let Tasks { instances, predictions, repos, config } = self;
        predictions.into_iter().map(move |(id, patch)| {
            let project = match instances.get(&id) {
                Some(instance) => instance.project(&id, &repos, Patch::Text(patch.into_bytes()), &config),
                None => Err(with_help(
                    format!("verify the prediction of `{id}`: there is no such task"),
                    "name the file of tasks that has it",
                )),
            };
            (id, project)
        })
    }
}

impl Instance {
    fn project(&self, id: &str, repos: &Path, patch: Patch, config: &ProjectConfig) -> anyhow::Result<Project> {
        let folder = self.folder(repos)?;
        let base = Base::find(&folder, &self.base_commit)?;
        let tests: TestsFrom = base.with_tests(self.test_patch.as_bytes())?;
        let (files, known) = base.patched(&folder, Some(&patch), config)?;
        let mut reading = Reading::new(&folder, files, config, Some(tests), &self.lists)?;
        reading.request.known.insert("patch", known);
        reading.request.task = Some(Task { task_id: Some(id.to_owned()), task_type: None, description: None });
        let origin = project_origin(&folder)?;
        Ok(Project { folder, request: reading.request, packages: reading.packages, origin })
    }

    fn folder(&self, repos: &Path) -> anyhow::Result<PathBuf> {
        let name = self.repo.rsplit('/').next().unwrap_or(&self.repo);
        let names = [self.repo.clone(), self.repo.replace('/', "__"), name.to_owned()];
        // The names are those of a file of others: none may lead out of the folder.
        let found =
            names.iter().filter(|name| is_project_path(name)).map(|name| repos.join(name)).find(|path| path.is_dir());
        found.ok_or_else(|| {
            with_help(
                format!("find the repository `{}` in `{}`", self.repo, repos.display()),
                "clone it there, as OWNER/NAME or NAME",
            )
        })
    }
}

/// What is read of each line of a file.
fn lines<T>(path: &Path, read: impl Fn(&Object) -> anyhow::Result<T>) -> anyhow::Result<Vec<T>> {
    let place = |number: usize| format!("read line {} of `{}`", number + 1, path.display());
    let file = File::open(path).with_context(|| format!("read `{}`", path.display()))?;
    let (mut reader, mut all) = (BufReader::new(file), Vec::new());
    for number in 0.. {
        let mut line = Vec::new();
        reader.by_ref().take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut line).with_context(|| place(number))?;
        if line.is_empty() {
            break;
        }
        if line.len() > MAX_LINE_BYTES || all.len() >= MAX_TASKS {
            let most =
                format!("{}: a line has at most {MAX_LINE_BYTES} bytes, and a file {MAX_TASKS} lines", place(number));
            return Err(with_help(most, "split the file"));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let json = Json::parse_with(&line, limits()).with_context(|| place(number))?;
        let object = json.as_object().context("expected an object").with_context(|| place(number))?;
        all.push(read(object).with_context(|| place(number))?);
    }
    Ok(all)
}

fn limits() -> Limits {
    Limits { max_bytes: MAX_LINE_BYTES, max_depth: MAX_DEPTH, max_nodes: MAX_VALUES }
}

fn instance(line: &Object) -> anyhow::Result<(String, Instance)> {
    let lists = Lists { must_pass: names(line, "FAIL_TO_PASS")?, must_keep: names(line, "PASS_TO_PASS")? };
    if lists.is_empty() {
        return Err(with_help("read the lists: no test has to pass", "write one in `FAIL_TO_PASS`"));
    }
    let instance = Instance {
        repo: text(line, "repo")?.to_owned(),
        base_commit: text(line, "base_commit")?.to_owned(),
        test_patch: text(line, "test_patch")?.to_owned(),
        lists,
    };
    Ok((text(line, "instance_id")?.to_owned(), instance))
}

fn text<'a>(line: &'a Object, name: &str) -> anyhow::Result<&'a str> {
    line.get(name).and_then(Json::as_str).with_context(|| format!("find the text `{name}`"))
}

/// A list of tests, or a text that is one in JSON.
fn names(line: &Object, name: &str) -> anyhow::Result<Vec<String>> {
    let inner;
    let list = match line.get(name) {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::String(text)) => {
            inner = Json::parse_with(text.as_bytes(), limits()).with_context(|| format!("read `{name}`"))?;
            &inner
        }
        Some(list) => list,
    };
    let names = list.as_array().map(|list| list.iter().map(|name| name.as_str().map(str::to_owned)).collect());
    names.flatten().with_context(|| format!("read `{name}`: expected a list of texts"))
}
