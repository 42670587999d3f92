//! The recording: a line a call.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use proofmark_receipt::{Json, Object};

/// The most characters of a call that are printed.
const SHOWN: usize = 150;

/// One task and the calls it took.
pub(crate) struct Task {
    pub(crate) suite: String,
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) goal: String,
    pub(crate) calls: Vec<Call>,
}

/// Whose task it is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    User,
    Injection,
}

/// One call and what came of it.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) step: String,
    pub(crate) tool: String,
    pub(crate) args: Json,
    pub(crate) result: String,
    pub(crate) failed: bool,
}

impl Call {
    /// The call on one line, shortened.
    pub(crate) fn shown(&self) -> String {
        let text = format!("{} {}", self.tool, self.args.to_text());
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text,
        }
    }
}

/// The tasks in the order of the file.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Task>> {
    let text = fs::read_to_string(path).with_context(|| format!("failed to read `{}`", path.display()))?;
    let mut tasks: Vec<Task> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let (task, call) = row(line).with_context(|| format!("failed to read line {}", index + 1))?;
        let same = |other: &&mut Task| (&other.suite, other.kind, &other.name) == (&task.suite, task.kind, &task.name);
        match tasks.iter_mut().find(same) {
            Some(task) => task.calls.push(call),
            None => tasks.push(Task { calls: vec![call], ..task }),
        }
    }
    Ok(tasks)
}

fn row(line: &str) -> anyhow::Result<(Task, Call)> {
    let document = Json::parse(line.as_bytes())?;
    let row = document.as_object().context("the line is not an object")?;
    let kind = match text(row, "kind")?.as_str() {
        "user" => Kind::User,
        "injection" => Kind::Injection,
        other => bail!("the kind `{other}` is not known"),
    };
    let task = Task {
        suite: text(row, "suite")?,
        kind,
        name: text(row, "task")?,
        goal: text(row, "goal")?,
        calls: Vec::new(),
    };
    let call = Call {
        step: member(row, "step")?.to_text(),
        tool: text(row, "tool")?,
        args: member(row, "args")?.clone(),
        result: text(row, "result")?,
        failed: !member(row, "error")?.is_null(),
    };
    Ok((task, call))
}

fn member<'a>(row: &'a Object, name: &str) -> anyhow::Result<&'a Json> {
    row.get(name).with_context(|| format!("`{name}` is missing"))
}

fn text(row: &Object, name: &str) -> anyhow::Result<String> {
    Ok(member(row, name)?.as_str().with_context(|| format!("`{name}` is not a text"))?.to_owned())
}
