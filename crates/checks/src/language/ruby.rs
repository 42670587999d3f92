//! Ruby, as CRuby has it.

use proofmark_receipt::document::{DocumentError, Field};

use super::{Commands, Dialect, Functions, Names, TestFiles};
use crate::compare::Rules;
use crate::operators::Operators;
use crate::render::{Floats, JSON, Notation, escape};
use crate::reporting::{Report, Reporting, Runner, positional, unknown};
use crate::value::{Integers, Literals, Value};

/// rspec is a script of Ruby.
const RSPEC: &str = "/usr/bin/rspec";
/// What makes rspec and minitest report: its path below the project, and its text.
const REPORTER: (&str, &str) = (".proofmark-report.rb", include_str!("ruby_report.rb"));
const LOAD_REPORTER: &str = "-r/tmp/project/.proofmark-report.rb";
/// The report that it writes, which has the name as well.
const REPORT: &str = ".proofmark-report.tap";
/// Options of ruby and of rspec that take the next word.
const VALUED: [&str; 8] = ["-I", "-r", "-e", "-P", "-t", "--tag", "--require", "--pattern"];

pub(super) static DIALECT: Dialect = Dialect {
    word: "ruby",
    aliases: &["rb"],
    rules: Rules { booleans_are_numbers: false, integers: Integers::Exact, json: false },
    notation: &NOTATION,
    json: &JSON,
    file: "submission.rb",
    functions: Some(Functions {
        names: Names { special: &['_'], ends: &['?', '!'], keywords: KEYWORDS },
        literals: Literals {
            constants: &[("nil", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))],
            max_digits: 300,
            tuples: false,
            dicts: false,
            // It may begin an expression.
            not_in_strings: &['#'],
        },
        operators: OPERATORS,
        keyword: Some(": "),
        construct: ["", ".new"],
    }),
    no_packages: Some("Ruby submissions can load only what comes with ruby"),
    lock_files: &[],
    commands: Commands { programs: &[("ruby", &[]), ("rspec", &[RSPEC])], reporting },
    tests: TestFiles::NONE,
};

/// As `inspect` writes.
static NOTATION: Notation = Notation {
    null: "nil",
    undefined: "undefined",
    truths: ["false", "true"],
    floats: Floats {
        not_a_number: "NaN",
        infinity: "Infinity",
        plain: -4..16,
        whole: ".0",
        mantissa: ".0",
        exponent_digits: 2,
    },
    single_quotes: false,
    escape,
    symbol_prefix: ":",
    bytes,
    tuple: ["[", "]", "]"],
    set: ["#<Set: {}>", "#<Set: {", "}>"],
    between: " => ",
};

fn bytes(bytes: &[u8]) -> String {
    format!(
        "\"{}\"",
        bytes
            .iter()
            .map(|byte| match byte {
                // `#` could begin an interpolation.
                b'"' | b'\\' | b'#' => format!("\\{}", char::from(*byte)),
                b' '..=b'~' => char::from(*byte).to_string(),
                _ => format!("\\x{byte:02X}"),
            })
            .collect::<String>()
    )
}

const OPERATORS: Operators = Operators {
    deciding: &["<=>", "===", "==", "=~", "!=", "!~", "<=", ">=", "<", ">", "in"],
    other: &["<<", ">>", "=>", "->"],
    carriers: &["Integer", "Float", "String", "Array"],
    keywords: &["not", "and", "or", "in", "if", "unless", "else", "elsif", "then", "while", "until", "when", "case"],
    bodies: &["lambda", "proc", "do", "for"],
    line_comment: "#",
    block_comment: None,
    slash_quotes: true,
    word_ends: &['?', '!'],
};

#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "BEGIN", "END", "alias", "and", "begin", "break", "case", "class", "def", "defined?", "do", "else", "elsif", "end",
    "ensure", "false", "for", "if", "in", "module", "next", "nil", "not", "or", "redo", "rescue", "retry", "return",
    "self", "super", "then", "true", "undef", "unless", "until", "when", "while", "yield", "__ENCODING__", "__FILE__",
    "__LINE__",
];

fn reporting(_: &Field<'_>, mut arguments: Vec<String>, asked: Option<Report>) -> Result<Reporting, DocumentError> {
    let is_rspec = arguments.first().is_some_and(|script| script == RSPEC);
    let named: Vec<String> = positional(&arguments, &VALUED).filter(|word| *word != RSPEC).cloned().collect();
    let is_minitest = arguments.iter().any(|word| word.starts_with("-Itest")) || named.iter().any(|file| is_test(file));
    let (runner, own): (_, &[&str]) = match (asked, is_rspec, is_minitest) {
        (Some(report), ..) => return Ok(Reporting { named, ..unknown(arguments, Some(report)) }),
        (None, true, _) => {
            (Runner::Rspec, &[LOAD_REPORTER, "--format", "ProofmarkReport::Formatter", "--format", "progress"])
        }
        (None, false, true) => (Runner::Minitest, &[LOAD_REPORTER]),
        (None, false, false) => return Ok(Reporting { named, ..unknown(arguments, None) }),
    };
    // Behind the script of rspec, and in front of ruby's: each reads its options up to the first file.
    let at = usize::from(is_rspec);
    arguments.splice(at..at, own.iter().map(ToString::to_string));
    let report = Report::File(REPORT.to_owned());
    Ok(Reporting { runner: Some(runner), named, files: vec![REPORTER], ..Reporting::new(arguments, report) })
}

/// Whether a file is one of minitest, by its name.
fn is_test(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.ends_with("_test.rb") || (name.starts_with("test_") && name.ends_with(".rb"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;
    use crate::render::render;
    use crate::value::Integer;

    fn functions() -> &'static Functions {
        Language::Ruby.functions().unwrap()
    }

    #[test]
    fn names_may_end_with_a_mark() {
        for name in ["f", "prime?", "sort!", "_f2"] {
            assert!(functions().names.allow(name), "{name}");
        }
        for name in ["defined?", "end", "?", "a?b", "f=", "f??", "@f", "$f"] {
            assert!(!functions().names.allow(name), "{name}");
        }
    }

    #[test]
    fn plain_literals_are_known_and_the_rest_is_left_to_ruby() {
        let one = Value::Int(Integer::new("1").unwrap());
        let text = Value::Text("a".to_owned());
        assert_eq!(functions().literals.value("[1, 'a', nil,]"), Some(Value::List(vec![one, text, Value::Null])));
        for text in ["\"#{1}\"", "'a#b'", "{\"a\" => 1}", "(1)", ":a", "1r", "1..2", "[1].sum", "'a' 'b'", "%w[a]"] {
            assert_eq!(functions().literals.value(text), None, "{text}");
        }
    }

    #[test]
    fn a_comparison_is_found_wherever_it_decides() {
        for (text, operator) in [
            ("f(7) == 49", "=="),
            ("49 === f(7)", "==="),
            ("f(7) <=> 49", "<=>"),
            ("f('a') =~ /a/", "=~"),
            ("!(f(7) == 49)", "=="),
            ("[f(7) == 49]", "=="),
            ("{ 'a' => f(7) == 49 }", "=="),
            ("f(7).prime? == true", "=="),
            ("f(7) in Integer", "in"),
        ] {
            assert_eq!(functions().operators.deciding(text), Some(operator), "{text}");
        }
        for text in [
            "f(7)",
            "f(7).select { |x| x > 1 }",
            "f(7).all? { |x| x > 1 }",
            "f(7).map do |x| x == 1 end",
            "f(->(x) { x == 1 })",
            "f('a == b') # == c",
            "f(/a == b/)",
            "f(7 == 7)",
            "{ 'a' => f(7) }",
            "f(7) << 2",
        ] {
            assert_eq!(functions().operators.deciding(text), None, "{text}");
        }
    }

    #[test]
    fn values_read_as_inspect_writes_them() {
        for (wire, text) in [
            (r#"[null,true,1,{"f":"1e+20"},{"f":"-0.0"}]"#, "[nil, true, 1, 1.0e+20, -0.0]"),
            (r#"{"d":[["a",1],[{"y":"b"},{"y":"c d"}]]}"#, r#"{"a" => 1, :b => :"c d"}"#),
            (r#"{"s":[2,1]}"#, "#<Set: {1, 2}>"),
            (r#"{"b":"61ff22"}"#, r#""a\xFF\"""#),
        ] {
            assert_eq!(render(&Value::decode(wire.as_bytes()).unwrap(), &NOTATION), text);
        }
    }
}
