//! Test runners that are known, and how a command reports its tests.
//!
//! What the results are read from is settled before anything runs, by the command and by the request. What a program
//! prints never decides it: a submission that prints something like a report would choose how it is judged.

use proofmark_receipt::document::{Cause, DocumentError, Field, shown};

use super::files;
use crate::job::Language;

/// The report pytest is told to write where the command names none.
const OWN_REPORT: &str = ".proofmark-report.xml";
/// The report [`UNITTEST`] writes, which has the name as well.
const UNITTEST_REPORT: &str = ".proofmark-report.tap";
/// Runs unittest as `python3 -m unittest` does, and writes TAP.
const UNITTEST: &str = include_str!("unittest.py");
/// Makes node's test runner report in TAP.
const TAP_REPORTER: &str = "--test-reporter=tap";
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
}

impl Runner {
    /// The package of Python that it is, where it comes without the interpreter.
    pub fn package(self) -> Option<&'static str> {
        match self {
            Runner::Pytest => Some("pytest"),
            Runner::Unittest | Runner::NodeTest => None,
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
pub(super) struct Reporting {
    pub(super) arguments: Vec<String>,
    pub(super) runner: Option<Runner>,
    pub(super) report: Report,
}

/// Finds the runner in the arguments of the interpreter, and makes it report where the command does not say how.
pub(super) fn reporting(
    command: &Field<'_>,
    language: Language,
    arguments: Vec<String>,
    asked: Option<&Field<'_>>,
) -> Result<Reporting, DocumentError> {
    let asked = asked.map(read).transpose()?;
    match language {
        Language::Python => Ok(python(arguments, asked)),
        Language::JavaScript => node(command, arguments, asked),
        Language::Bash => Ok(unknown(arguments, asked)),
    }
}

fn read(field: &Field<'_>) -> Result<Report, DocumentError> {
    let text = field.text()?;
    if let Some((_, form)) = ON_STDOUT.iter().find(|(word, _)| *word == text) {
        return Ok(Report::Stdout(*form));
    }
    files::check(text).map_err(|why| field.error(Cause::InvalidValue, why))?;
    Ok(Report::File(text.to_owned()))
}

/// A command that is not known to be a runner.
fn unknown(arguments: Vec<String>, asked: Option<Report>) -> Reporting {
    Reporting { arguments, runner: None, report: asked.unwrap_or(Report::ExitStatus) }
}

fn python(mut arguments: Vec<String>, asked: Option<Report>) -> Reporting {
    let Some(module) = Module::of(&arguments) else { return unknown(arguments, asked) };
    match (module.name.as_str(), asked) {
        ("pytest", asked) => {
            let report = asked.or_else(|| named_junit(&arguments)).unwrap_or_else(|| {
                arguments.push(format!("--junitxml={OWN_REPORT}"));
                Report::File(OWN_REPORT.to_owned())
            });
            Reporting { arguments, runner: Some(Runner::Pytest), report }
        }
        ("unittest", None) => {
            let script = ["-c".to_owned(), UNITTEST.to_owned()];
            let arguments = module.before.into_iter().chain(script).chain(module.after).collect();
            Reporting { arguments, runner: Some(Runner::Unittest), report: Report::File(UNITTEST_REPORT.to_owned()) }
        }
        (_, asked) => unknown(arguments, asked),
    }
}

/// The module that Python's options make it run, and what stands before and after it.
struct Module {
    name: String,
    before: Vec<String>,
    after: Vec<String>,
}

impl Module {
    /// Finds `-m name`, also behind other options and as in `-Bmname`.
    fn of(arguments: &[String]) -> Option<Module> {
        let mut index = 0;
        while let Some(word) = arguments.get(index) {
            let flags = word.strip_prefix('-').filter(|flags| !flags.is_empty() && !flags.starts_with('-'))?;
            // Of the options of one letter, these take the rest of the word, or else the next word.
            let Some(at) = flags.find(['m', 'c', 'X', 'W']) else {
                index += 1;
                continue;
            };
            let (others, option) = flags.split_at(at);
            let inline = option.get(1..).filter(|inline| !inline.is_empty());
            let next = if inline.is_some() { index + 1 } else { index + 2 };
            if option.starts_with('m') {
                let mut before = arguments.get(..index)?.to_vec();
                before.extend((!others.is_empty()).then(|| format!("-{others}")));
                let name = inline.map(str::to_owned).or_else(|| arguments.get(index + 1).cloned())?;
                return Some(Module { name, before, after: arguments.get(next..)?.to_vec() });
            }
            if option.starts_with('c') {
                return None;
            }
            index = next;
        }
        None
    }
}

/// The file that pytest's `--junitxml` names, where it is one of the project.
fn named_junit(arguments: &[String]) -> Option<Report> {
    let named = ["--junitxml", "--junit-xml"].iter().flat_map(|option| values(arguments, option)).next();
    named.filter(|path| files::check(path).is_ok()).map(Report::File)
}

fn node(command: &Field<'_>, mut arguments: Vec<String>, asked: Option<Report>) -> Result<Reporting, DocumentError> {
    if !runs_tests(&arguments) {
        return Ok(unknown(arguments, asked));
    }
    let reporters = values(&arguments, "--test-reporter");
    let elsewhere = values(&arguments, "--test-reporter-destination").iter().any(|place| place != "stdout");
    let report = match (asked, reporters.as_slice(), elsewhere) {
        (Some(report), _, _) => report,
        (None, [], false) => {
            arguments.insert(0, TAP_REPORTER.to_owned());
            Report::Stdout(ReportForm::Tap)
        }
        (None, [one], false) if one == "tap" => Report::Stdout(ReportForm::Tap),
        (None, [one], false) if one == "junit" => Report::Stdout(ReportForm::JUnit),
        (None, reporters, _) => {
            let message = format!(
                "the tests cannot be read from the reporter `{}`; leave `--test-reporter` and `--test-reporter-destination` out, or name the file of a `tap` or `junit` reporter in `report`",
                shown(&reporters.join("`, `"))
            );
            return Err(command.error(Cause::InvalidValue, message));
        }
    };
    Ok(Reporting { arguments, runner: Some(Runner::NodeTest), report })
}

/// Options of node that take the next word as their value.
const NODE_VALUED: [&str; 17] = [
    "-C",
    "-r",
    "--conditions",
    "--env-file",
    "--experimental-loader",
    "--import",
    "--loader",
    "--max-old-space-size",
    "--require",
    "--stack-trace-limit",
    "--test-concurrency",
    "--test-name-pattern",
    "--test-reporter",
    "--test-reporter-destination",
    "--test-shard",
    "--test-skip-pattern",
    "--test-timeout",
];

/// Whether `--test` is an option of node: behind the name of a script it is the script's, which may print what it likes.
fn runs_tests(arguments: &[String]) -> bool {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--test" => return true,
            "-e" | "--eval" | "-p" | "--print" => return false,
            option if NODE_VALUED.contains(&option) => drop(words.next()),
            option if option.starts_with('-') => {}
            _ => return false,
        }
    }
    false
}

/// The values of an option, as `--option=value` and as `--option value`.
fn values(arguments: &[String], option: &str) -> Vec<String> {
    let inline = |word: &String| Some(word.strip_prefix(option)?.strip_prefix('=')?.to_owned());
    let apart = |index: usize, word: &String| (word == option).then(|| arguments.get(index + 1).cloned()).flatten();
    arguments.iter().enumerate().filter_map(|(index, word)| inline(word).or_else(|| apart(index, word))).collect()
}
