//! What commands judged, in formats for people and for other programs.
//!
//! A report has groups (a request, a document, a table of cases) of cases. Escaping is the duty of each format: names and
//! messages may come from a submission.

mod also;
mod decision;
mod finding;
mod github;
mod human;
mod junit;
mod markdown;
mod receipt;
mod sarif;
mod tap;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
mod tests;

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use proofmark_receipt::{Json, object};

use crate::out;

pub(crate) use also::{Also, AlsoOption};
pub(crate) use decision::of_decision;
pub(crate) use finding::{Finding, Spot};
pub(crate) use human::{Extent, Human, Style, count};
pub(crate) use receipt::{Places, of_receipt};

/// The format of a command's result.
// The variants have no documentation: with it, `clap` spreads the help of every command over many more lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Human,
    Json,
    Junit,
    Tap,
    Github,
    Sarif,
    Markdown,
}

/// In which format a command prints its result.
#[derive(Args)]
pub(crate) struct Formatting {
    /// Print text, JSON lines, JUnit XML, TAP 14, annotations for GitHub, SARIF 2.1.0 or Markdown (docs/results.md)
    #[arg(short, long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Short for `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl Formatting {
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// How a case or a group ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Status {
    Pass,
    Skipped,
    Warning,
    Fail,
    /// Without a result.
    Error,
}

impl Status {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Skipped => "skipped",
            Status::Warning => "warning",
            Status::Fail => "fail",
            Status::Error => "error",
        }
    }

    pub(crate) fn is_pass(self) -> bool {
        self == Status::Pass
    }

    /// Whether it is a failure in every group. A skipped test or a warning is one only in a group that does not pass.
    fn is_failure(self) -> bool {
        matches!(self, Status::Fail | Status::Error)
    }
}

/// A place in a file of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) file: String,
    /// Counted from 1.
    pub(crate) line: Option<u64>,
    /// Counted from 1.
    pub(crate) column: Option<u64>,
}

impl Location {
    /// The file as hosts of repositories match it with theirs: `./` in front matches none.
    fn path(&self) -> &str {
        let mut path = self.file.as_str();
        while let Some(rest) = path.strip_prefix("./") {
            path = rest.trim_start_matches('/');
        }
        path
    }

    /// The place that `file` or `file:line` names, if there is such a file.
    pub(crate) fn named(label: &str) -> Option<Location> {
        let of = |file: &str, line| {
            Path::new(file).is_file().then(|| Location { file: file.to_owned(), line: Some(line), column: None })
        };
        of(label, 1).or_else(|| {
            let (file, line) = label.rsplit_once(':')?;
            of(file, line.parse().ok()?)
        })
    }
}

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) status: Status,
    pub(crate) time: Option<Duration>,
    pub(crate) location: Option<Location>,
    /// A name for programs, which does not change.
    pub(crate) code: Option<String>,
    /// Why it did not pass.
    pub(crate) message: Option<String>,
    /// The line of the location, and a caret below the column.
    pub(crate) caret: Option<String>,
    /// What explains it, such as its input and its output, each with its name.
    pub(crate) details: Vec<(&'static str, String)>,
    /// What to do about it.
    pub(crate) help: Option<String>,
}

impl Case {
    /// A case of which only the name and the status are known.
    pub(crate) fn new(name: impl Into<String>, status: Status) -> Case {
        let name = name.into();
        Case {
            name,
            status,
            time: None,
            location: None,
            code: None,
            message: None,
            caret: None,
            details: Vec::new(),
            help: None,
        }
    }

    /// The case of an error.
    pub(crate) fn error(name: impl Into<String>, error: &anyhow::Error) -> Case {
        let message = format!("failed to {}", crate::error::message(error));
        let case = Case { message: Some(message), help: crate::error::help(error), ..Case::new(name, Status::Error) };
        let case = Case { code: crate::error::code(error).map(str::to_owned), ..case };
        let Some(found) = crate::error::in_text(error) else { return case };
        let (line, column) = found.place.unzip();
        let location = Some(Location { file: found.file.clone(), line, column });
        Case { location, caret: found.caret(), ..case }
    }

    pub(crate) fn detail(&self, name: &str) -> Option<&str> {
        self.details.iter().find(|(other, _)| *other == name).map(|(_, text)| text.as_str())
    }

    /// The details for people: a difference replaces the two values that differ.
    pub(crate) fn shown_details(&self) -> impl Iterator<Item = &(&'static str, String)> {
        let differs = self.detail(DIFFERENCE).is_some();
        self.details.iter().filter(move |(name, _)| !(differs && matches!(*name, "expected" | "actual")))
    }

    /// The heading of a detail. That of a difference says which lines are which; a test runner has its own signs, and
    /// then `expected` is absent.
    pub(crate) fn heading(&self, name: &'static str) -> &'static str {
        match name {
            DIFFERENCE if self.detail("expected").is_some() => "difference (- expected, + actual)",
            _ => name,
        }
    }

    /// Why it did not pass, on one line.
    pub(crate) fn why(&self) -> String {
        let message = self.message.as_deref().and_then(|message| message.lines().find(|line| !line.trim().is_empty()));
        let compared =
            || match (self.detail(DIFFERENCE).and_then(differs), self.detail("expected"), self.detail("actual")) {
                (Some(differs), _, _) => Some(differs),
                (None, Some(expected), Some(actual)) => {
                    Some(format!("expected {}, found {}", cut(expected), cut(actual)))
                }
                _ => Some(format!("it breaks `{}`", cut(self.detail("constraint")?))),
            };
        message.map(|message| cut(message.trim())).or_else(compared).unwrap_or_default()
    }

    /// The message and the help, for formats that have one field for both.
    fn text(&self) -> String {
        let message = self.message.clone().unwrap_or_else(|| self.why());
        match &self.help {
            Some(help) => format!("{message}\nhelp: {help}"),
            None => message,
        }
    }

    /// The case as JSON.
    pub(crate) fn to_json(&self) -> Json {
        let (file, line, column) = match &self.location {
            Some(Location { file, line, column }) => (Some(file.as_str()), *line, *column),
            None => (None, None, None),
        };
        object! {
            "name": self.name.as_str(),
            "status": self.status.as_str(),
            "file"?: file,
            "line"?: line,
            "column"?: column,
            "message"?: self.message.as_deref(),
            "help"?: self.help.as_deref(),
        }
        .into()
    }
}

/// The detail whose lines begin with `-` and `+`.
const DIFFERENCE: &str = "difference";

/// The first difference on one line: its place and the two lines that differ.
fn differs(difference: &str) -> Option<String> {
    let line = |sign: char| {
        let line = difference.lines().find_map(|line| line.strip_prefix(sign))?;
        Some(cut(line.trim().trim_end_matches(',')))
    };
    let place = difference.lines().next().and_then(|line| line.strip_prefix("at "));
    let place = place.map_or_else(String::new, |place| format!("at {place}: "));
    Some(match (line('-'), line('+')) {
        (Some(expected), Some(actual)) => format!("{place}expected {expected}, found {actual}"),
        (Some(expected), None) => format!("{place}missing {expected}"),
        (None, Some(actual)) => format!("{place}unexpected {actual}"),
        (None, None) => return None,
    })
}

/// The longest value in a reason of one line, in characters.
const MAX_WHY_CHARS: usize = 120;

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_WHY_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The name of a project that is in the current folder.
const HERE: &str = ".";

/// Cases that belong together: those of a request, a document or a table.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// The verdict of the whole, which may be worse than that of any case listed: cases can be hidden.
    pub(crate) status: Status,
    /// The command's own word for the verdict.
    pub(crate) word: String,
    pub(crate) time: Option<Duration>,
    /// The whole in a few words.
    pub(crate) summary: Option<String>,
    /// The id of its receipt.
    pub(crate) receipt: Option<String>,
    /// How many of its checks the submission decided.
    pub(crate) decided_inside: usize,
    /// What every format says of the whole, whatever the verdict.
    pub(crate) notes: Vec<String>,
    pub(crate) cases: Vec<Case>,
    /// Whether the names of cases say nothing without that of the group.
    pub(crate) qualifies: bool,
    /// The lines of the format JSON.
    pub(crate) json: Vec<String>,
}

impl Group {
    /// A group whose verdict is that of its worst case.
    pub(crate) fn of_cases(name: impl Into<String>, cases: Vec<Case>) -> Group {
        let status = cases.iter().map(|case| case.status).max().unwrap_or(Status::Pass);
        let json = cases.iter().map(|case| case.to_json().to_text()).collect();
        Group {
            name: name.into(),
            status,
            word: status.as_str().to_owned(),
            time: None,
            summary: None,
            receipt: None,
            decided_inside: 0,
            notes: Vec::new(),
            cases,
            qualifies: false,
            json,
        }
    }

    /// With the result of the command itself. What did not pass in a group that does is a warning.
    pub(crate) fn with_result(mut self, word: &str, passes: bool) -> Group {
        self.word = word.to_owned();
        if passes {
            self.status = Status::Pass;
            let failed = self.cases.iter_mut().filter(|case| case.status.is_failure());
            failed.for_each(|case| case.status = Status::Warning);
        } else {
            self.status = self.status.max(Status::Fail);
        }
        self
    }

    /// The cases that explain why the group does not pass.
    pub(crate) fn failures(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| !self.passes(case))
    }

    /// The name of a case in formats that have no groups. The name of the project in the current folder says nothing.
    fn full_name(&self, case: &Case) -> String {
        if self.qualifies && self.name != case.name && self.name != HERE {
            format!("{}: {}", self.name, case.name)
        } else {
            case.name.clone()
        }
    }

    /// Whether this case of the group counts as a pass.
    pub(crate) fn passes(&self, case: &Case) -> bool {
        case.status.is_pass() || (self.status.is_pass() && !case.status.is_failure())
    }

    /// Adds a case for the group itself where its verdict shows in no case, so that no format hides a failure.
    fn complete(&mut self) {
        let shows = self.cases.iter().any(|case| !matches!(case.status, Status::Pass | Status::Skipped));
        if (!self.status.is_pass() && !shows) || self.cases.is_empty() {
            let message = self.summary.clone().filter(|_| !self.status.is_pass());
            self.cases.push(Case { message, time: self.time, ..Case::new(self.name.as_str(), self.status) });
        }
    }
}

/// Writes a report, group by group, to standard output.
pub(crate) struct Reporter {
    format: Format,
    /// The command.
    title: &'static str,
    pub(crate) human: Human,
    tap: tap::Tap,
    /// The groups of a format that is one document, or that has a summary.
    groups: Vec<Group>,
    also: also::Files,
}

impl Reporter {
    pub(crate) fn new(format: Format, title: &'static str, human: Human) -> Reporter {
        Reporter { format, title, human, tap: tap::Tap::default(), groups: Vec::new(), also: also::Files::default() }
    }

    /// Writes the report to these files, too.
    pub(crate) fn also(mut self, files: &[Also]) -> anyhow::Result<Reporter> {
        self.also = also::Files::create(files)?;
        Ok(self)
    }

    /// Adds a group to the files, and prints nothing.
    pub(crate) fn group_in_files(&mut self, group: &Group) {
        self.also.group(group);
    }

    pub(crate) fn group(&mut self, mut group: Group) -> anyhow::Result<()> {
        let mut out = out::stdout();
        self.also.group(&group);
        match self.format {
            Format::Human => self.human.group(&mut out, &group)?,
            Format::Json => group.json.iter().try_for_each(|line| out.json(line))?,
            Format::Tap => {
                group.complete();
                self.tap.group(&mut out, &group)?;
            }
            Format::Github | Format::Junit | Format::Sarif | Format::Markdown => {
                group.complete();
                if self.format == Format::Github {
                    github::group(&mut out, &group)?;
                }
                group.json.clear();
                self.groups.push(group);
            }
        }
        Ok(())
    }

    /// Writes the end of the report.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let mut out = out::stdout();
        match self.format {
            Format::Human => self.human.finish(&mut out)?,
            Format::Json => {}
            Format::Tap => self.tap.finish(&mut out)?,
            Format::Github => {
                github::passes(&mut out, &self.groups)?;
                github::summarize(self.title, &self.groups).context("write the job summary")?;
            }
            Format::Junit => junit::report(self.title, &self.groups).serialize(&mut out)?,
            Format::Sarif => out.json(&sarif::log(&self.groups).to_text())?,
            Format::Markdown => markdown::write(&mut out, self.title, &self.groups)?,
        }
        self.also.finish(self.title)
    }
}
