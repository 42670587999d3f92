//! Test runners that are known, and how a command reports its tests.
//!
//! What the results are read from is settled before anything runs, by the command and by the request. What a program
//! prints never decides it: a submission that prints something like a report would choose how it is judged.

use proofmark_receipt::document::{Cause, DocumentError, Field};

use crate::files;

/// What `report` says for a report on standard output.
const ON_STDOUT: [(&str, ReportForm); 2] = [("stdout:tap", ReportForm::Tap), ("stdout:junit", ReportForm::JUnit)];

/// A test runner whose reports are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// pytest, a package of Python.
    Pytest,
    /// unittest, of Python's standard library.
    Unittest,
    /// The test runner of Node.js.
    NodeTest,
    /// jest, a package of Node.js; so are the others.
    Jest,
    Vitest,
    Mocha,
    Tap,
    Tape,
    Ava,
    /// rspec and minitest, packages of Ruby.
    Rspec,
    Minitest,
    /// bats, for programs of shells.
    Bats,
}

impl Runner {
    /// Whether its reporter of ours tells which tests start and end.
    pub(crate) fn tells_tests(self) -> bool {
        match self {
            Runner::Pytest | Runner::Unittest | Runner::NodeTest | Runner::Jest | Runner::Vitest | Runner::Mocha => {
                true
            }
            Runner::Rspec | Runner::Minitest => true,
            // What they write to standard output names the tests that ended, and bats has other uses for descriptors.
            Runner::Tap | Runner::Tape | Runner::Ava | Runner::Bats => false,
        }
    }
}

/// What the results of a command are read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A file below the project, which the run has to write: JUnit's XML or TAP.
    File(String),
    /// Standard output, the whole of it.
    Stdout(ReportForm),
    /// The exit status alone.
    ExitStatus,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportForm {
    /// JUnit's XML.
    JUnit,
    /// TAP 13 or 14 (testanything.org).
    Tap,
}

/// How a command is run and where it reports.
pub(crate) struct Reporting {
    pub(crate) arguments: Vec<String>,
    pub(crate) runner: Option<Runner>,
    pub(crate) report: Report,
    /// The script of an installed package that it runs, below the project.
    pub(crate) script: Option<String>,
    /// The files and folders that the arguments name.
    pub(crate) named: Vec<String>,
    /// Files that make the runner report: their paths below the project, and their text.
    pub(crate) files: Vec<(&'static str, &'static str)>,
}

impl Reporting {
    pub(crate) fn new(arguments: Vec<String>, report: Report) -> Reporting {
        Reporting { arguments, runner: None, report, script: None, named: Vec::new(), files: Vec::new() }
    }
}

/// Reads the field `report`.
pub(crate) fn read(field: &Field<'_>) -> Result<Report, DocumentError> {
    let text = field.text()?;
    if let Some((_, form)) = ON_STDOUT.iter().find(|(word, _)| *word == text) {
        return Ok(Report::Stdout(*form));
    }
    files::check(text).map_err(|why| field.error(Cause::InvalidValue, why).with_help(files::PATH_HELP))?;
    Ok(Report::File(text.to_owned()))
}

/// A command that is not known to be a runner.
pub(crate) fn unknown(arguments: Vec<String>, asked: Option<Report>) -> Reporting {
    Reporting::new(arguments, asked.unwrap_or(Report::ExitStatus))
}

/// The words that are neither options nor the values of these options.
pub(crate) fn positional<'a>(arguments: &'a [String], valued: &'a [&str]) -> impl Iterator<Item = &'a String> {
    let mut is_value = false;
    arguments.iter().filter(move |word| {
        let value = std::mem::replace(&mut is_value, valued.contains(&word.as_str()));
        !value && !word.starts_with('-')
    })
}

/// The values of an option, as `--option=value` and as `--option value`.
pub(crate) fn values(arguments: &[String], option: &str) -> Vec<String> {
    let values = arguments.iter().enumerate().filter_map(|(index, word)| match word.strip_prefix(option)? {
        "" => arguments.get(index + 1).cloned(),
        rest => rest.strip_prefix('=').map(str::to_owned),
    });
    values.collect()
}

/// The arguments without these options and their values.
pub(crate) fn without(arguments: &[String], options: &[&str]) -> Vec<String> {
    let mut is_value = false;
    let kept = arguments.iter().filter(|word| {
        let value = std::mem::replace(&mut is_value, options.contains(&word.as_str()));
        let is_option = options
            .iter()
            .any(|option| word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')));
        !value && !is_option
    });
    kept.cloned().collect()
}

/// Whether a path stays inside of the project.
pub(crate) fn is_inside(path: &str) -> bool {
    files::check(path).is_ok()
}
