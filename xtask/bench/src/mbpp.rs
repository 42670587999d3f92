//! MBPP tasks as requests: each assert `left == right` is a test.

use std::fs;

use anyhow::Context;
use proofmark_receipt::{Json, Object};

/// One task: a correct solution and the asserts it meets.
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) code: String,
    /// Both sides of each assert.
    pub(crate) tests: Vec<(String, String)>,
}

/// Every task of the data set.
pub(crate) fn tasks() -> anyhow::Result<Vec<Task>> {
    let path = super::conformance()?.join("mbpp/mbpp.jsonl");
    let text = fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
    text.lines().map(|line| task(line).with_context(|| format!("failed to read the task `{line}`"))).collect()
}

impl Task {
    /// The request that verifies the solution.
    pub(crate) fn request(&self) -> String {
        let mut output = Object::new();
        output.insert("content", self.code.as_str());
        let mut verification = Object::new();
        verification.insert("kind", "test_suite");
        verification.insert("language", "python");
        let tests = self.tests.iter().enumerate().map(|(index, (input, expected))| {
            let mut test = Object::new();
            test.insert("name", format!("assert_{}", index + 1));
            test.insert("input", input.as_str());
            test.insert("expected_output", expected.as_str());
            Json::from(test)
        });
        verification.insert("tests", tests.collect::<Vec<_>>());
        let mut request = Object::new();
        let mut task = Object::new();
        task.insert("task_id", self.id.as_str());
        request.insert("task", task);
        request.insert("output", output);
        request.insert("verification", verification);
        Json::from(request).to_text()
    }
}

fn task(line: &str) -> anyhow::Result<Task> {
    let document = Json::parse(line.as_bytes())?;
    let object = document.as_object().context("it is not an object")?;
    let text = |name: &str| object.get(name).and_then(Json::as_str).with_context(|| format!("`{name}` is missing"));
    let asserts = object.get("test_list").and_then(Json::as_array).context("`test_list` is missing")?;
    let tests = asserts.iter().map(|assert| {
        let sides = assert.as_str().and_then(|text| text.strip_prefix("assert ")?.split_once("=="));
        let (left, right) = sides.context("an assert without `==`")?;
        Ok((left.trim().to_owned(), before_message(right).trim().to_owned()))
    });
    Ok(Task {
        id: text("task_id")?.to_owned(),
        code: format!("{}\n{}", text("test_setup_code")?, text("code")?),
        tests: tests.collect::<anyhow::Result<_>>()?,
    })
}

/// The expression before the comma that begins an assert's message.
fn before_message(right: &str) -> &str {
    let (mut depth, mut quote) = (0_i32, None);
    for (at, character) in right.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => return right.get(..at).unwrap_or(right),
            (None, _) => {}
        }
    }
    right
}
