//! Markdown as GitHub reads it: a table of the groups, and what did not pass.

use std::io::{self, Write};

use super::{Case, Group};
use crate::paint::{printable, printable_lines};

/// The most groups in the table, and the most cases below it: GitHub limits summaries and comments.
const MAX_ROWS: usize = 200;
const MAX_CASES: usize = 50;
/// The longest name, in characters.
const MAX_NAME_CHARS: usize = 200;

/// Writes the report.
pub(crate) fn write(out: &mut impl Write, title: &str, groups: &[Group]) -> io::Result<()> {
    let good = groups.iter().filter(|group| group.status.is_pass()).count();
    match groups {
        [only] => writeln!(out, "### proofmark {title}: {}\n", text(&only.word))?,
        groups => writeln!(out, "### proofmark {title}: {good} of {} passed\n", groups.len())?,
    }
    writeln!(out, "| result | name | checks | receipt |\n|---|---|---|---|")?;
    // Those that did not pass first: the table may be cut.
    let ordered = || {
        groups
            .iter()
            .filter(|group| !group.status.is_pass())
            .chain(groups.iter().filter(|group| group.status.is_pass()))
    };
    for group in ordered().take(MAX_ROWS) {
        let passed = group.cases.iter().filter(|case| group.passes(case)).count();
        let time = || group.time.map_or_else(String::new, |time| format!(", {} ms", time.as_millis()));
        // A summary has the time in it.
        let counts = || format!("{passed} of {} passed{}", group.cases.len(), time());
        let summary = group.summary.clone().unwrap_or_else(counts);
        let receipt = group.receipt.as_deref().map_or_else(String::new, code);
        writeln!(out, "| {} | {} | {} | {receipt} |", text(&group.word), code(&group.name), text(&summary))?;
    }
    more(out, groups.len(), MAX_ROWS)?;
    let notes = || ordered().flat_map(|group| group.notes.iter().map(move |note| (group, note)));
    for (group, note) in notes().take(MAX_ROWS) {
        writeln!(out, "\n{}: {}", code(&group.name), text(&printable(note)))?;
    }
    let failures = || ordered().flat_map(|group| group.failures().map(move |case| (group, case)));
    for (group, case) in failures().take(MAX_CASES) {
        details(out, group, case)?;
    }
    more(out, failures().count(), MAX_CASES)
}

fn more(out: &mut impl Write, all: usize, shown: usize) -> io::Result<()> {
    match all.checked_sub(shown).filter(|more| *more > 0) {
        Some(more) => writeln!(out, "\nand {more} more"),
        None => Ok(()),
    }
}

fn details(out: &mut impl Write, group: &Group, case: &Case) -> io::Result<()> {
    let name = code(&group.full_name(case));
    writeln!(out, "\n<details><summary>{} {name}</summary>\n\n<pre>", case.status.as_str())?;
    if let Some(location) = &case.location {
        let line = location.line.map_or_else(String::new, |line| format!(":{line}"));
        writeln!(out, "at {}{line}", html(&printable(location.path())))?;
    }
    lines(out, &case.text())?;
    for (name, value) in case.shown_details() {
        let name = case.heading(name);
        if value.contains('\n') {
            writeln!(out, "{name}:")?;
            lines(out, value)?;
        } else {
            writeln!(out, "{name}: {}", html(&printable(value)))?;
        }
    }
    writeln!(out, "</pre>\n\n</details>")
}

/// Lines inside `<pre>`, where Markdown means nothing and only HTML has to be escaped.
fn lines(out: &mut impl Write, text: &str) -> io::Result<()> {
    printable_lines(text).try_for_each(|line| writeln!(out, "{}", html(&line)))
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A name as code, in which nobody is mentioned and nothing is linked.
fn code(name: &str) -> String {
    let shown: String = printable(name).chars().take(MAX_NAME_CHARS).collect();
    format!("<code>{}</code>", text(&shown))
}

/// Text in which no character has a meaning to Markdown or HTML: a character written as a number never has one.
fn text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        // `www.` begins a link, and a dot after a number a list.
        let links = c == '.' && (before.eq_ignore_ascii_case(&'w') || before.is_ascii_digit());
        if c.is_ascii_punctuation() && (links || !matches!(c, '.' | ',' | '/' | ';' | '?' | '%')) {
            safe.push_str(&format!("&#{};", u32::from(c)));
        } else {
            safe.push(c)
        }
        before = c;
    }
    safe
}
