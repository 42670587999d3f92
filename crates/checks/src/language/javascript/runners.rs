//! Test runners that are packages of Node.js, and how each is made to report.

use proofmark_receipt::document::{Cause, DocumentError, Field};

use super::RUNNING_FILE;
use crate::reporting::{Report, ReportForm, Reporting, Runner, is_inside, positional, unknown, values, without};

/// The script of each runner below the project, where its package has it.
pub(super) const JEST: &str = "node_modules/jest/bin/jest.js";
pub(super) const VITEST: &str = "node_modules/vitest/vitest.mjs";
pub(super) const MOCHA: &str = "node_modules/mocha/bin/mocha.js";
pub(super) const TAP: &str = "node_modules/tap/dist/esm/run.mjs";
pub(super) const TAPE: &str = "node_modules/tape/bin/tape";
pub(super) const AVA: &str = "node_modules/ava/entrypoints/cli.mjs";
/// Its report is the exit status: it has no other that a program can read.
pub(super) const UVU: &str = "node_modules/uvu/bin.js";

/// The packages that are runners, with what `node_modules/.bin` calls them.
const RUNNERS: [(&str, &str, Runner); 6] = [
    ("jest", JEST, Runner::Jest),
    ("vitest", VITEST, Runner::Vitest),
    ("mocha", MOCHA, Runner::Mocha),
    ("tap", TAP, Runner::Tap),
    ("tape", TAPE, Runner::Tape),
    ("ava", AVA, Runner::Ava),
];

/// Options of tap and tape that take the next word.
const PATTERN_VALUED: [&str; 4] = ["-r", "--require", "-i", "--ignore"];

const XML_REPORT: &str = ".proofmark-report.xml";
const TAP_REPORT: &str = ".proofmark-report.tap";

/// The reporter that [`JEST_REPORTER`] names, which writes [`TAP_REPORT`]: jest has none for a file of its own.
const JEST_REPORTER_FILE: (&str, &str) = (".proofmark-jest.cjs", include_str!("jest.cjs"));
const JEST_REPORTER: &str = "--reporters=/tmp/project/.proofmark-jest.cjs";

/// The reporters that tell which tests run: mocha's writes its report, too.
const MOCHA_REPORTER_FILE: (&str, &str) = (".proofmark-mocha.cjs", include_str!("mocha.cjs"));
const MOCHA_REPORTER: &str = "/tmp/project/.proofmark-mocha.cjs";
const VITEST_REPORTER_FILE: (&str, &str) = (".proofmark-vitest.mjs", include_str!("vitest.mjs"));
const VITEST_REPORTER: &str = "--reporter=/tmp/project/.proofmark-vitest.mjs";

/// How the runner is run that a script of installed packages is, with the arguments after the script; `None` where the script is
/// the project's own.
pub(super) fn reporting(
    command: &Field<'_>,
    script: &str,
    arguments: &[String],
    asked: Option<Report>,
) -> Result<Option<Reporting>, DocumentError> {
    let below = script.strip_prefix("./").unwrap_or(script);
    if !below.starts_with("node_modules/") {
        return Ok(None);
    }
    let named = below.strip_prefix("node_modules/.bin/");
    let found = RUNNERS.into_iter().find(|(name, path, _)| named == Some(name) || below == *path);
    let Some((_, script, runner)) = found else {
        let all = [vec![script.to_owned()], arguments.to_vec()].concat();
        return Ok(Some(Reporting { script: Some(below.to_owned()), ..unknown(all, asked) }));
    };
    // These have one reporter, and another would only change what is shown.
    let has_one = asked.is_none() && matches!(runner, Runner::Mocha | Runner::Tap);
    let arguments = &if has_one { without(arguments, &["--reporter", "-R"]) } else { arguments.to_vec() };
    let Told { arguments, report, files } = match (asked, runner) {
        (Some(report), _) => Told { arguments: Vec::new(), report, files: Vec::new() },
        (None, Runner::Jest) => jest(arguments),
        (None, Runner::Vitest) => vitest(command, arguments)?,
        (None, Runner::Mocha) => {
            let own = ["--reporter", MOCHA_REPORTER, "--reporter-option", "output=.proofmark-report.xml"];
            Told::by(&own, XML_REPORT).with(MOCHA_REPORTER_FILE)
        }
        (None, Runner::Tap) => Told::on_stdout(&["--reporter=tap"]),
        (None, Runner::Ava) => {
            Told::on_stdout(if arguments.iter().any(|word| word == "--tap") { &[] } else { &["--tap"] })
        }
        (None, _) => Told::on_stdout(&[]),
    }
    .after(script, arguments);
    // A shell gives these the files that a pattern matches.
    let patterns = positional(&arguments, &PATTERN_VALUED).filter(|_| matches!(runner, Runner::Tap | Runner::Tape));
    let named = patterns.filter(|word| word.contains('*')).cloned().collect();
    let (runner, script) = (Some(runner), Some(script.to_owned()));
    Ok(Some(Reporting { runner, script, files, named, ..Reporting::new(arguments, report) }))
}

/// What makes a runner report.
struct Told {
    arguments: Vec<String>,
    report: Report,
    files: Vec<(&'static str, &'static str)>,
}

impl Told {
    fn by(arguments: &[&str], report: &str) -> Told {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        Told { arguments, report: Report::File(report.to_owned()), files: Vec::new() }
    }

    /// The same with a reporter that tells which tests run.
    fn with(self, reporter: (&'static str, &'static str)) -> Told {
        Told { files: vec![reporter, RUNNING_FILE], ..self }
    }

    /// What a runner needs to write TAP to standard output.
    fn on_stdout(arguments: &[&str]) -> Told {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        Told { arguments, report: Report::Stdout(ReportForm::Tap), files: Vec::new() }
    }

    /// The whole command: the script, its own arguments, and these.
    fn after(self, script: &str, arguments: &[String]) -> Told {
        // Before `--`: a runner reads no options after it.
        let options = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
        let (before, behind) = arguments.split_at(options);
        let arguments = [&[script.to_owned()], before, &self.arguments, behind].concat();
        Told { arguments, ..self }
    }
}

fn jest(arguments: &[String]) -> Told {
    // Jest takes reporters away that are not named where others are.
    let asked = !values(arguments, "--reporters").is_empty();
    let reporters: &[&str] = if asked { &[JEST_REPORTER] } else { &["--reporters=default", JEST_REPORTER] };
    Told::by(reporters, TAP_REPORT).with(JEST_REPORTER_FILE)
}

fn vitest(command: &Field<'_>, arguments: &[String]) -> Result<Told, DocumentError> {
    let output = ["--outputFile", "--outputFile.junit"].iter().flat_map(|option| values(arguments, option)).next();
    let reporters = values(arguments, "--reporter");
    match output {
        Some(path) if is_inside(&path) && reporters.iter().any(|reporter| reporter == "junit") => {
            Ok(Told { arguments: Vec::new(), report: Report::File(path), files: Vec::new() })
        }
        Some(_) => Err(named_reporter(command, "--outputFile")),
        None => {
            let default: &[&str] = if reporters.is_empty() { &["--reporter=default"] } else { &[] };
            let own = ["--reporter=junit", "--outputFile.junit=.proofmark-report.xml", VITEST_REPORTER, "--run"];
            Ok(Told::by(&[default, &own].concat(), XML_REPORT).with(VITEST_REPORTER_FILE))
        }
    }
}

fn named_reporter(command: &Field<'_>, option: &str) -> DocumentError {
    let message = format!("the tests cannot be read where `{option}` says");
    command
        .error(Cause::InvalidValue, message)
        .with_help(format!("leave `{option}` out, or name the file of JUnit XML or TAP in `report`"))
}
