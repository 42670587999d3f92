//! Workflow commands of GitHub Actions, which annotate files, and the summary of the job.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};

use super::{Case, Group, Status, count, markdown};
use crate::paint::{printable, printable_lines};

/// Where GitHub reads the summary of a job.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The most lines about what passed.
const MAX_PASSES: usize = 200;

/// Writes an annotation for each case that did not pass.
pub(crate) fn group(out: &mut impl Write, group: &Group) -> io::Result<()> {
    group.failures().try_for_each(|case| annotation(out, group, case))?;
    for note in &group.notes {
        writeln!(out, "::warning title={}::{}", property(&group.name), message(note))?;
    }
    // Where all groups pass, the line of this one says it.
    if group.decided_inside == 0 || group.status.is_pass() {
        return Ok(());
    }
    let checks = count(group.decided_inside, "check");
    writeln!(out, "::notice title={}::{checks} decided by the submission", property(&group.name))
}

fn annotation(out: &mut impl Write, group: &Group, case: &Case) -> io::Result<()> {
    let level = match case.status {
        Status::Pass | Status::Skipped => "notice",
        Status::Warning => "warning",
        Status::Fail | Status::Error => "error",
    };
    let mut properties = Vec::new();
    if let Some(location) = &case.location {
        properties.push(("file", location.path().to_owned()));
        // GitHub shows no annotation of a file without a line.
        properties.push(("line", location.line.unwrap_or(1).to_string()));
        properties.push(("col", location.column.unwrap_or(1).to_string()));
    }
    let title = case.code.clone().unwrap_or_else(|| group.full_name(case));
    properties.push(("title", title));
    let properties: Vec<String> =
        properties.iter().map(|(name, value)| format!("{name}={}", property(value))).collect();
    let mut text = case.text();
    for (name, value) in case.shown_details() {
        text.push_str(&format!("\n{}: {value}", case.heading(name)));
    }
    writeln!(out, "::{level} {}::{}", properties.join(","), message(&text))
}

/// The runner decodes `%25`, `%0D` and `%0A`; what is escaped so cannot end the command.
fn message(text: &str) -> String {
    let text = printable_lines(text).collect::<Vec<_>>().join("\n");
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// As a message; `:` and `,` would end a property.
fn property(text: &str) -> String {
    printable(text).replace('%', "%25").replace(':', "%3A").replace(',', "%2C")
}

/// Writes a line for each group where all pass: without it the log says nothing.
pub(crate) fn passes(out: &mut impl Write, groups: &[Group]) -> io::Result<()> {
    if !groups.iter().all(|group| group.status.is_pass()) {
        return Ok(());
    }
    for group in groups.iter().take(MAX_PASSES) {
        let summary = group.summary.as_ref().filter(|summary| **summary != group.word);
        let summary = summary.map_or_else(String::new, |summary| format!(": {summary}"));
        let receipt = group.receipt.as_ref().map_or_else(String::new, |receipt| format!(", receipt {receipt}"));
        writeln!(out, "{}", printable(&format!("{} {}{summary}{receipt}", group.word, group.name)))?;
    }
    match groups.len().saturating_sub(MAX_PASSES) {
        0 => Ok(()),
        more => writeln!(out, "and {more} more"),
    }
}

/// Appends the report to the job's summary, where the runner asks for one.
pub(crate) fn summarize(title: &str, groups: &[Group]) -> io::Result<()> {
    let Some(path) = env::var_os(SUMMARY).filter(|path| !path.is_empty()) else { return Ok(()) };
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    let mut text = Vec::new();
    markdown::write(&mut text, title, groups)?;
    file.write_all(&text)
}
