//! `--tests-from`: the tests of a project that are its owner's.

use std::io::Write;
use std::path::Path;

use proofmark_checks::Request;
use proofmark_git::{LeftOut, Repository};
use proofmark_receipt::document::{self, Format};
use proofmark_receipt::{Json, object};
use proofmark_verifier::{CONFIG_FILE, Change, HeldTests, ProjectConfig, TestsFrom};

use super::note_left_out;
use crate::out;
use crate::paint::printable;
use crate::source::Source;

/// How much of the id of a commit is shown.
const SHORT: usize = 10;

/// The settings that the place of the tests has, if it has any.
pub(super) fn settings(tests: &TestsFrom) -> anyhow::Result<Option<ProjectConfig>> {
    let Some(text) = tests.settings()? else { return Ok(None) };
    let label = format!("{CONFIG_FILE} of {}", tests.shown());
    let source = Source { label: &label, line: 1, text: &text, format: Format::Yaml };
    let document = document::parse(&text, Format::Yaml).map_err(|error| source.error("read the settings", &error))?;
    Ok(Some(ProjectConfig::read(&document).map_err(|error| source.error("read the settings", &error))?))
}

/// Says where the tests come from, and what the submission changed there.
pub(super) fn tell(tests: &TestsFrom, held: &HeldTests) {
    let commit = tests.commit().and_then(|id| id.get(..SHORT)).map_or_else(String::new, |id| format!(" ({id})"));
    out::note(format_args!("tests: {} files of {}{commit}", held.files.len(), printable(&tests.shown())));
    if let Some(told) = held.told() {
        out::note(format_args!("changed there by the submission, and not run: {}", printable(&told)));
    }
    note_left_out(&held.left_out);
}

/// Says that the tests are those of the submission, where they could be another's.
pub(super) fn tell_own(folder: &Path) {
    if Repository::of_work_tree(folder).is_there() {
        out::note("tests: the submission's own; --tests-from REF holds the owner's");
    }
}

/// Prints which file comes from where, and why.
pub(super) fn explain(
    tests: &TestsFrom,
    held: &HeldTests,
    request: &Request,
    left_out: &[(String, LeftOut)],
    json: bool,
) -> anyhow::Result<()> {
    let own = |path: &String| {
        let change = held.changes.iter().find(|(changed, ..)| changed == path);
        change.map_or("unchanged", |(_, change, _)| match change {
            Change::Added | Change::Changed => "changed by the submission",
            Change::Removed => "removed by the submission",
        })
    };
    let from = tests.shown();
    let mut lines: Vec<[&str; 4]> = Vec::new();
    lines.extend(held.files.iter().map(|(path, (_, rule))| [path.as_str(), from.as_str(), rule.as_str(), own(path)]));
    let added = held.changes.iter().filter(|(_, change, _)| *change == Change::Added);
    lines.extend(added.map(|(path, _, rule)| [path.as_str(), "nowhere", rule.as_str(), "added by the submission"]));
    let (laid_out, reporters) = match &request.checks {
        proofmark_checks::Checks::Command(command) => (command.files.as_slice(), command.reporters.as_slice()),
        _ => (&[][..], &[][..]),
    };
    let is_named = |path: &str| lines.iter().any(|[other, ..]| *other == path);
    let others: Vec<_> =
        laid_out.iter().filter(|file| !is_named(&file.path) && !reporters.contains(&file.path.as_str())).collect();
    lines.extend(others.iter().map(|file| [file.path.as_str(), "the submission", "no rule", "as submitted"]));
    let ignored = left_out.iter().filter(|(_, why)| *why == LeftOut::Ignored);
    lines.extend(ignored.map(|(path, _)| [path.as_str(), "nowhere", "git ignores it", "left out of the submission"]));
    lines.sort_unstable();
    let mut stdout = out::stdout();
    for [path, from, rule, change] in lines {
        if json {
            let line = object! { "path": path, "from": from, "rule": rule, "change": change };
            writeln!(stdout, "{}", Json::from(line).to_text())?;
        } else {
            writeln!(stdout, "{}  from {}  ({}; {change})", printable(path), printable(from), printable(rule))?;
        }
    }
    Ok(())
}
