//! JavaScript, as Node.js has it.

use proofmark_receipt::document::{Cause, DocumentError, Field, shown};

mod runners;

use super::{Commands, Dialect, Functions, Names, TestFiles};
use crate::compare::Rules;
use crate::operators::Operators;
use crate::render::{Floats, JAVASCRIPT_JSON, Notation, byte_array, escape};
use crate::reporting::{Report, ReportForm, Reporting, Runner, positional, unknown, values, without};
use crate::value::{Integers, Literals, Value};

/// Makes node's test runner report in TAP.
const TAP_REPORTER: &str = "--test-reporter=tap";
/// Reporters of Node that are for people.
const SHOWN: [&str; 2] = ["dot", "spec"];

/// A second reporter of node's test runner, which tells which tests run. It writes nothing to its destination.
const NODE_REPORTER: [&str; 3] = [
    "--test-reporter-destination=stdout",
    "--test-reporter=/tmp/project/.proofmark-node.cjs",
    "--test-reporter-destination=stderr",
];
const NODE_REPORTER_FILE: (&str, &str) = (".proofmark-node.cjs", include_str!("javascript/node.cjs"));
/// What the reporters load that tell which tests run.
const RUNNING_FILE: (&str, &str) = (".proofmark-running.cjs", include_str!("javascript/running.cjs"));

/// Loads TypeScript by the package `tsx`.
const TSX: &str = "--import=tsx";
/// The files that `tsx --test` runs where none is named.
const TSX_TESTS: &str = "**/*.{test,spec}.{ts,tsx,mts,cts,js,mjs,cjs}";

/// Those whose tests are altered, in both languages that they run.
pub(super) const ALTERED_RUNNERS: &[Runner] = &[Runner::NodeTest, Runner::Jest, Runner::Vitest, Runner::Mocha];

pub(super) static DIALECT: Dialect = Dialect {
    word: "javascript",
    aliases: &["js", "node"],
    rules: RULES,
    notation: &NOTATION,
    json: &JAVASCRIPT_JSON,
    file: "submission.js",
    functions: Some(FUNCTIONS),
    no_packages: Some(
        "JavaScript submissions can import only what is built into node; verify a project (`verify --dir`) if the work \
         needs packages",
    ),
    lock_files: &["package-lock.json", "npm-shrinkwrap.json"],
    commands: Commands {
        programs: &[
            ("node", &[]),
            ("jest", &[runners::JEST]),
            ("vitest", &[runners::VITEST]),
            ("mocha", &[runners::MOCHA]),
            ("tap", &[runners::TAP]),
            ("tape", &[runners::TAPE]),
            ("ava", &[runners::AVA]),
            ("uvu", &[runners::UVU]),
            // What `tsx` does for `--test`, without a process of its own in between.
            ("tsx", &[TSX]),
        ],
        reporting,
    },
    tests: TestFiles { extensions: &["js", "mjs", "cjs", "jsx"], runners: ALTERED_RUNNERS },
};

pub(super) const RULES: Rules = Rules { booleans_are_numbers: false, integers: Integers::Doubles, json: false };

pub(super) const FUNCTIONS: Functions = Functions {
    names: Names { special: &['_', '$'], ends: &[], keywords: KEYWORDS },
    literals: Literals {
        constants: &[
            ("null", Value::Null),
            ("undefined", Value::Undefined),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
        ],
        // Safe integers have these digits at least.
        max_digits: 15,
        tuples: false,
        dicts: false,
        not_in_strings: &[],
    },
    operators: OPERATORS,
    keyword: None,
    construct: ["new ", ""],
};

/// As literals are written, with `Map {…}` and `Set {…}`.
pub(super) static NOTATION: Notation = Notation {
    null: "null",
    undefined: "undefined",
    truths: ["false", "true"],
    floats: Floats {
        not_a_number: "NaN",
        infinity: "Infinity",
        plain: -6..21,
        whole: "",
        mantissa: "",
        exponent_digits: 1,
    },
    single_quotes: false,
    escape,
    symbol_prefix: "",
    bytes: byte_array,
    tuple: ["[", "]", "]"],
    set: ["Set {}", "Set {", "}"],
    between: ": ",
};

const OPERATORS: Operators = Operators {
    deciding: &["==", "!=", "<=", ">=", "<", ">", "in"],
    // `===` and `!==` ask no value.
    other: &[">>>", "===", "!==", "<<", ">>", "=>"],
    carriers: &["Boolean", "Number", "String", "Set"],
    keywords: &["in", "if", "else", "await", "typeof", "void", "yield"],
    bodies: &["for", "=>"],
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    slash_quotes: true,
    word_ends: &[],
};

#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "arguments", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default",
    "delete", "do", "else", "enum", "eval", "export", "extends", "false", "finally", "for", "function", "if",
    "implements", "import", "in", "instanceof", "interface", "let", "new", "null", "package", "private",
    "protected", "public", "return", "static", "super", "switch", "this", "throw", "true", "try", "typeof",
    "var", "void", "while", "with", "yield",
];

fn reporting(
    command: &Field<'_>,
    mut arguments: Vec<String>,
    asked: Option<Report>,
) -> Result<Reporting, DocumentError> {
    if !runs_tests(&arguments) {
        return runs_script(command, arguments, asked);
    }
    let has_files = |arguments: &[String]| positional(arguments, &NODE_VALUED).next().is_some();
    if arguments.first().is_some_and(|word| word == TSX) && !has_files(&arguments) {
        arguments.push(TSX_TESTS.to_owned());
    }
    let reporters = values(&arguments, "--test-reporter");
    let mut files = Vec::new();
    let elsewhere = values(&arguments, "--test-reporter-destination").iter().any(|place| place != "stdout");
    let report = match (asked, reporters.as_slice(), elsewhere) {
        (Some(report), _, _) => report,
        (None, [], false) => {
            files.extend(report_in_tap(&mut arguments));
            Report::Stdout(ReportForm::Tap)
        }
        (None, [one], false) if one == "junit" => Report::Stdout(ReportForm::JUnit),
        // What is shown to people is replaced by what can be read.
        (None, [one], false) if one == "tap" || SHOWN.contains(&one.as_str()) => {
            arguments = without(&arguments, &["--test-reporter", "--test-reporter-destination"]);
            files.extend(report_in_tap(&mut arguments));
            Report::Stdout(ReportForm::Tap)
        }
        (None, reporters, _) => {
            let message = format!("the tests cannot be read from the reporter `{}`", shown(&reporters.join("`, `")));
            return Err(command.error(Cause::InvalidValue, message).with_help(
                "leave `--test-reporter` and `--test-reporter-destination` out, or name the file of a `tap` or `junit` reporter in `report`",
            ));
        }
    };
    let words = arguments.iter().skip_while(|word| *word != "--test").skip(1).cloned().collect::<Vec<_>>();
    let named = positional(&words, &NODE_VALUED).cloned().collect();
    Ok(Reporting { runner: Some(Runner::NodeTest), named, files, ..Reporting::new(arguments, report) })
}

/// Makes node report in TAP, and tell which tests run; the files that this takes.
fn report_in_tap(arguments: &mut Vec<String>) -> [(&'static str, &'static str); 2] {
    // In front, for node reads its options only up to the first file. Its default reporter differs by version.
    arguments.splice(0..0, [TAP_REPORTER].into_iter().chain(NODE_REPORTER).map(str::to_owned));
    [NODE_REPORTER_FILE, RUNNING_FILE]
}

/// A script of the project, or one of installed packages.
fn runs_script(command: &Field<'_>, arguments: Vec<String>, asked: Option<Report>) -> Result<Reporting, DocumentError> {
    if let Some((script, rest)) = arguments.split_first()
        && let Some(reporting) = runners::reporting(command, script, rest, asked.clone())?
    {
        return Ok(reporting);
    }
    let inline = arguments.iter().any(|word| matches!(word.as_str(), "-e" | "--eval" | "-p" | "--print" | "-i"));
    let named = positional(&arguments, &NODE_VALUED).take(usize::from(!inline)).cloned().collect();
    Ok(Reporting { named, ..unknown(arguments, asked) })
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
            // The value of an option missing above would look like a script: then the exit status is the report.
            option if option.starts_with('-') => {}
            _ => return false,
        }
    }
    false
}
