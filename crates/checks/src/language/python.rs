//! Python, as CPython 3 has it.

use proofmark_receipt::document::{DocumentError, Field};

use super::{Commands, Dialect, Functions, Names, TestFiles};
use crate::compare::Rules;
use crate::operators::Operators;
use crate::render::{Floats, JSON, Notation};
use crate::reporting::{Report, Reporting, Runner, is_inside, positional, unknown, values};
use crate::value::{Integers, Literals, Value};

/// The report pytest is made to write where the command does not name one.
const PYTEST_REPORT: &str = ".proofmark-report.xml";
/// Options by which pytest reports what failing tests wrote.
const PYTEST_OUTPUT: [&str; 4] = ["-o", "junit_logging=out-err", "-o", "junit_log_passing_tests=false"];
/// The option by which pytest reports the file of each test, and what has to be in a command that says it itself.
const PYTEST_FAMILY: ([&str; 2], &str) = (["-o", "junit_family=xunit1"], "junit_family");
/// The module that tells which tests run, a plugin of pytest: its name, and its text. The environment of each project has it.
pub const RUNNING_MODULE: (&str, &str) = ("proofmark_running", include_str!("running.py"));
/// The report [`UNITTEST`] writes, which has the name as well.
const UNITTEST_REPORT: &str = ".proofmark-report.tap";
/// Runs unittest as `python3 -m unittest` does, and writes TAP.
const UNITTEST: &str = include_str!("unittest.py");

pub(super) static DIALECT: Dialect = Dialect {
    word: "python",
    aliases: &["py"],
    rules: Rules { booleans_are_numbers: true, integers: Integers::Exact, json: false },
    notation: &NOTATION,
    json: &JSON,
    file: "submission.py",
    functions: Some(Functions {
        names: Names { special: &['_'], ends: &[], keywords: KEYWORDS },
        literals: Literals {
            constants: &[("None", Value::Null), ("True", Value::Bool(true)), ("False", Value::Bool(false))],
            max_digits: 300,
            tuples: true,
            dicts: true,
            not_in_strings: &[],
        },
        operators: OPERATORS,
        keyword: Some("="),
        construct: ["", ""],
    }),
    no_packages: None,
    lock_files: &["uv.lock", "poetry.lock", "Pipfile.lock", "requirements.txt"],
    commands: Commands { programs: &[("python3", &[]), ("python", &[]), ("pytest", &["-m", "pytest"])], reporting },
    tests: TestFiles { extensions: &["py"], runners: &[Runner::Pytest, Runner::Unittest] },
};

/// As `repr` writes.
static NOTATION: Notation = Notation {
    null: "None",
    undefined: "undefined",
    truths: ["False", "True"],
    floats: Floats {
        not_a_number: "nan",
        infinity: "inf",
        plain: -4..16,
        whole: ".0",
        mantissa: "",
        exponent_digits: 2,
    },
    single_quotes: true,
    escape,
    symbol_prefix: "",
    bytes,
    tuple: ["(", ",)", ")"],
    set: ["set()", "{", "}"],
    between: ": ",
};

fn escape(point: u32) -> String {
    match point {
        0..=0xff => format!("\\x{point:02x}"),
        0x1_0000.. => format!("\\U{point:08x}"),
        _ => format!("\\u{point:04x}"),
    }
}

fn bytes(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let shown = bytes.iter().map(|byte| match char::from(*byte) {
        char if char == quote || char == '\\' => format!("\\{char}"),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        char @ ' '..='~' => char.to_string(),
        _ => format!("\\x{byte:02x}"),
    });
    format!("b{quote}{}{quote}", shown.collect::<String>())
}

const OPERATORS: Operators = Operators {
    deciding: &["==", "!=", "<=", ">=", "<", ">", "in"],
    other: &["<<", ">>", "->", ":="],
    carriers: &[
        "bool",
        "all",
        "any",
        "int",
        "float",
        "str",
        "repr",
        "abs",
        "sum",
        "min",
        "max",
        "list",
        "tuple",
        "set",
        "frozenset",
        "sorted",
    ],
    keywords: &["not", "and", "or", "in", "is", "if", "else", "await", "yield"],
    bodies: &["lambda", "for"],
    line_comment: "#",
    block_comment: None,
    slash_quotes: false,
    word_ends: &[],
};

#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

fn reporting(_: &Field<'_>, arguments: Vec<String>, asked: Option<Report>) -> Result<Reporting, DocumentError> {
    Ok(python(arguments, asked))
}

fn python(mut arguments: Vec<String>, asked: Option<Report>) -> Reporting {
    let Some(module) = Module::of(&arguments) else {
        let named = script(&arguments).into_iter().collect();
        return Reporting { named, ..unknown(arguments, asked) };
    };
    match (module.name.as_str(), asked) {
        ("pytest", asked) => {
            // The report has the output of failing tests, unless the command says what it has.
            if !arguments.iter().any(|word| word.contains("junit_logging")) {
                arguments.extend(PYTEST_OUTPUT.map(str::to_owned));
            }
            let (family, option) = PYTEST_FAMILY;
            if !arguments.iter().any(|word| word.contains(option)) {
                arguments.extend(family.map(str::to_owned));
            }
            let report = asked.or_else(|| named_junit(&arguments)).unwrap_or_else(|| {
                arguments.push(format!("--junitxml={PYTEST_REPORT}"));
                Report::File(PYTEST_REPORT.to_owned())
            });
            arguments.extend(["-p".to_owned(), RUNNING_MODULE.0.to_owned()]);
            let named = pytest_paths(&module.after);
            Reporting { runner: Some(Runner::Pytest), named, ..Reporting::new(arguments, report) }
        }
        ("unittest", None) => {
            // The values of `discover` are folders too, which unittest itself looks for.
            let discovers = module.after.iter().any(|word| word == "discover");
            let named = module
                .after
                .iter()
                .filter(|word| !word.starts_with('-') && (word.contains('/') || word.ends_with(".py")))
                .filter(|_| !discovers)
                .cloned()
                .collect();
            let script = ["-c".to_owned(), UNITTEST.to_owned()];
            let arguments = module.before.into_iter().chain(script).chain(module.after).collect();
            let report = Report::File(UNITTEST_REPORT.to_owned());
            Reporting { runner: Some(Runner::Unittest), named, ..Reporting::new(arguments, report) }
        }
        (_, asked) => unknown(arguments, asked),
    }
}

/// The file that Python runs.
fn script(arguments: &[String]) -> Option<String> {
    let inline = arguments.iter().any(|word| word.starts_with("-c"));
    positional(arguments, &["-X", "-W"]).next().filter(|_| !inline).cloned()
}

/// The files and folders that the arguments of pytest name.
fn pytest_paths(arguments: &[String]) -> Vec<String> {
    if arguments.iter().any(|word| word == "--pyargs") {
        return Vec::new();
    }
    let mut paths = Vec::new();
    let mut before = "";
    for word in arguments {
        // A long option that is not known may take the next word.
        let takes_value = PYTEST_VALUED.contains(&before)
            || (before.starts_with("--") && !before.contains('=') && !PYTEST_FLAGS.contains(&before));
        if !word.starts_with('-') && !takes_value {
            paths.push(word.clone());
        }
        before = word;
    }
    paths
}

/// Options of pytest that take the next word.
const PYTEST_VALUED: [&str; 8] = ["-c", "-k", "-m", "-n", "-o", "-p", "-r", "-W"];
/// Long options of pytest that take none.
const PYTEST_FLAGS: [&str; 14] = [
    "--cache-clear",
    "--disable-warnings",
    "--exitfirst",
    "--failed-first",
    "--ff",
    "--last-failed",
    "--lf",
    "--no-header",
    "--no-summary",
    "--quiet",
    "--runxfail",
    "--showlocals",
    "--strict-markers",
    "--verbose",
];

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
    // A file outside cannot be read back; the caller adds its own `--junitxml` then, and pytest uses the last.
    named.filter(|path| is_inside(path)).map(Report::File)
}
