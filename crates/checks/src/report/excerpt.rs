//! What a report says of a test that failed: the texts of the assertion, and where it is.
//!
//! The texts are the submission's. They explain a failure and never decide whether there is one.

use crate::job::{PROJECT_FOLDER, ProjectFile};

/// How much of the end of an output is kept, in characters.
const MAX_OUTPUT_CHARS: usize = 1_000;

/// What a report says of a test that did not pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Excerpts {
    pub(crate) message: Option<String>,
    pub(crate) difference: Option<String>,
    pub(crate) expected: Option<String>,
    pub(crate) actual: Option<String>,
    /// `file:line`, of a file of the project.
    pub(crate) location: Option<String>,
    pub(crate) stdout: Option<String>,
    pub(crate) stderr: Option<String>,
}

impl Excerpts {
    /// Takes the difference off a message that has one.
    pub(super) fn with_message(self, message: &str) -> Excerpts {
        let (message, difference) = split(message);
        Excerpts { message: Some(message), difference: difference.or(self.difference), ..self }
    }
}

/// The files of the project, sorted by path: a failure is in one of them or nowhere.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a>(pub(super) &'a [ProjectFile]);

impl Sources<'_> {
    /// Whether the project has a file with this path.
    pub(super) fn has(self, path: &str) -> bool {
        self.0.binary_search_by(|file| file.path.as_str().cmp(path)).is_ok()
    }

    /// `file:line`, where that is a file of the project.
    fn place(self, path: &str, line: &str) -> Option<String> {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let below = path.strip_prefix(PROJECT_FOLDER).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path);
        let below = below.strip_prefix("./").unwrap_or(below);
        let line: u32 = line.parse().ok()?;
        self.has(below).then(|| format!("{below}:{line}"))
    }

    /// Where a traceback leads inside of the project: Python lists the innermost frame last, JavaScript first.
    pub(super) fn location(self, traceback: &str) -> Option<String> {
        let mut last = None;
        for line in traceback.lines() {
            if let Some(place) = javascript_frame(line).and_then(|(path, line)| self.place(path, line)) {
                return last.or(Some(place));
            }
            last = python_frame(line).and_then(|(path, line)| self.place(path, line)).or(last);
        }
        last
    }
}

/// A frame as pytest (`tests/test_a.py:6: AssertionError`) and Python itself (`File "a.py", line 6, in f`) write it, and
/// the head of a syntax error of node (`/tmp/project/a.js:2`).
fn python_frame(line: &str) -> Option<(&str, &str)> {
    if let Some((path, rest)) = line.trim_start().strip_prefix("File \"").and_then(|rest| rest.split_once("\", line "))
    {
        return Some((path, rest.split(',').next()?.trim_end()));
    }
    let (path, rest) = line.split_once(':')?;
    let line = rest.split_once(": ").map_or(rest, |(line, _)| line);
    Some((path, line.trim_end().trim_end_matches(':')))
}

/// A frame as node, jest and mocha (`at f (/tmp/project/a.js:6:10)`) and vitest (`❯ a.js:6:10`) write it.
fn javascript_frame(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_end().trim_end_matches(')');
    let start = line.rfind(['(', ' ']).map_or(0, |at| at + 1);
    let mut parts = line.get(start..)?.rsplitn(3, ':');
    let (column, line) = (parts.next()?, parts.next()?);
    column.parse::<u32>().ok()?;
    Some((parts.next()?, line))
}

fn is_javascript_frame(line: &str) -> bool {
    let line = line.trim_start();
    (line.starts_with("at ") || line.starts_with("❯ ")) && javascript_frame(line).is_some()
}

/// What went wrong, of the attribute `message` and the text that JUnit's XML has for a failure.
pub(super) fn failure(attribute: &str, text: &str, sources: Sources<'_>) -> Excerpts {
    let excerpts = Excerpts { location: sources.location(text), ..Excerpts::default() };
    excerpts.with_message(&message(attribute, text))
}

/// The end of an attribute whose rest is in the text.
const CUT: &str = "[truncated; full report in element text]";

fn message(attribute: &str, text: &str) -> String {
    let attribute = attribute.trim();
    if let Some(assertion) = assertion(text) {
        let stage =
            ["setup", "teardown"].into_iter().find(|stage| attribute.starts_with(&format!("failed on {stage}")));
        return match stage {
            Some(stage) => format!("in {stage}: {assertion}"),
            // The attribute has all lines of the assertion; but of a file that does not load it says only so much, and
            // pytest 9 cuts a long one.
            None if attribute.is_empty() || attribute == "collection failure" || attribute.ends_with(CUT) => assertion,
            None => attribute.to_owned(),
        };
    }
    let body = text.lines().take_while(|line| !is_javascript_frame(line)).collect::<Vec<_>>().join("\n");
    let body = body.trim();
    let repeats = attribute.lines().next().is_none_or(|first| body.contains(first));
    if repeats && !body.is_empty() && !body.starts_with("Traceback (most") {
        return body.to_owned();
    }
    if attribute.is_empty() { text.trim() } else { attribute }.to_owned()
}

/// The lines that pytest marks with `E`, of the last exception.
fn assertion(text: &str) -> Option<String> {
    let mut group = Vec::new();
    let mut ended = false;
    for line in text.lines() {
        match line.strip_prefix('E').filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
            Some(rest) => {
                if std::mem::take(&mut ended) {
                    group.clear();
                }
                group.push(rest);
            }
            None => ended = true,
        }
    }
    (!group.is_empty()).then(|| dedented(&group))
}

/// A message, and the lines of `+` and `-` after its first paragraph, where it has such lines.
fn split(text: &str) -> (String, Option<String>) {
    let text = text.trim();
    let lines: Vec<&str> = text.lines().collect();
    let Some(blank) = lines.iter().position(|line| line.trim().is_empty()) else { return (text.to_owned(), None) };
    let (message, rest) = (lines.get(..blank).unwrap_or_default(), lines.get(blank + 1..).unwrap_or_default());
    // Mocha repeats the error after the difference.
    let rest: Vec<&str> =
        rest.iter().take_while(|line| message.first().is_none_or(|first| !line.ends_with(first))).copied().collect();
    if rest.iter().any(|line| line.trim_start().starts_with(['+', '-'])) {
        (message.join("\n"), Some(dedented(&rest)))
    } else {
        (text.to_owned(), None)
    }
}

/// The lines without the white space that all of them begin with, and without blank lines around them.
pub(super) fn dedented(lines: &[&str]) -> String {
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let common = filled.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let lines: Vec<&str> = lines.iter().map(|line| line.get(common..).unwrap_or_default().trim_end()).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// The end of an output, without the headings of pytest; `None` where nothing was written.
pub(super) fn output(text: &str) -> Option<String> {
    let lines = text.lines().filter(|line| {
        let is_heading = line.starts_with("-----") && line.ends_with("-----") && line.contains(" Captured ");
        !is_heading
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = text.trim_matches('\n').trim_end();
    if text.trim().is_empty() {
        return None;
    }
    Some(match text.char_indices().rev().nth(MAX_OUTPUT_CHARS - 1).filter(|(start, _)| *start > 0) {
        Some((start, _)) => format!("…{}", text.get(start..).unwrap_or_default()),
        None => text.to_owned(),
    })
}
