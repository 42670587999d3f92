//! The languages a submission can be written in: one file and one row each.
//!
//! A [`Dialect`] holds all that this crate knows of a language. Nothing else matches on [`Language`].

use std::fmt;
use std::str::FromStr;

use proofmark_receipt::document::{DocumentError, Field};
use thiserror::Error;

use crate::compare::Rules;
use crate::operators::Operators;
use crate::render::Notation;
use crate::reporting::{Report, Reporting, Runner};
use crate::value::Literals;

pub use python::RUNNING_MODULE;

/// Declares the module of each language and the variant that stands for it, so that neither can be forgotten.
macro_rules! languages {
    ($($module:ident: $name:ident,)*) => {
        $(mod $module;)*

        /// A language a submission can be written in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Language {
            $($name,)*
        }

        impl Language {
            /// Every language, in the order messages list them.
            pub const ALL: [Language; [$(stringify!($name)),*].len()] = [$(Language::$name),*];

            fn dialect(self) -> &'static Dialect {
                match self {
                    $(Language::$name => &$module::DIALECT,)*
                }
            }
        }
    };
}

languages! {
    python: Python,
    javascript: JavaScript,
    typescript: TypeScript,
    bash: Bash,
    ruby: Ruby,
}

/// What sets a language apart from the others.
struct Dialect {
    /// The word of requests and receipts.
    word: &'static str,
    /// What requests may write instead.
    aliases: &'static [&'static str],
    /// When two of its values are equal.
    rules: Rules,
    notation: &'static Notation,
    /// How JSON of its values is written.
    json: &'static Notation,
    /// What the submission's file is called in locations.
    file: &'static str,
    /// What the modes `call` and `expression` need; a language without it has the mode `stdio` alone.
    functions: Option<Functions>,
    /// What submissions have instead, where suites cannot name installed packages.
    no_packages: Option<&'static str>,
    /// The lock files that packages of a project are installed from, the most exact first.
    lock_files: &'static [&'static str],
    commands: Commands,
    tests: TestFiles,
}

/// A language whose functions return values.
pub(crate) struct Functions {
    pub(crate) names: Names,
    pub(crate) literals: Literals,
    pub(crate) operators: Operators,
    /// What stands between the name and the value of an argument, where functions take arguments by name.
    pub(crate) keyword: Option<&'static str>,
    /// What stands before and after the name of a class to make an object of it.
    pub(crate) construct: [&'static str; 2],
}

/// What a function may be called.
pub(crate) struct Names {
    /// Characters of names beside the ASCII letters and digits.
    special: &'static [char],
    /// Characters that only the end of a name may be.
    ends: &'static [char],
    keywords: &'static [&'static str],
}

/// The commands of the mode `command` that the language's interpreter runs.
struct Commands {
    /// The first word of a command, and the arguments of the interpreter that it stands for.
    programs: &'static [(&'static str, &'static [&'static str])],
    reporting: ReadReporting,
}

/// The files whose tests a counter-run alters. Runners that give each test its assertions as an argument (tap, tape, ava) are left out.
struct TestFiles {
    extensions: &'static [&'static str],
    /// Those that run such files.
    runners: &'static [Runner],
}

impl TestFiles {
    const NONE: TestFiles = TestFiles { extensions: &[], runners: &[] };
}

/// Finds the test runner in the arguments of the interpreter, and makes it report where `asked` does not say how. The
/// field is that of the command, for errors.
pub(crate) type ReadReporting =
    fn(command: &Field<'_>, arguments: Vec<String>, asked: Option<Report>) -> Result<Reporting, DocumentError>;

impl Language {
    /// The word requests and receipts use.
    pub fn as_str(self) -> &'static str {
        self.dialect().word
    }

    /// The words of all languages, as a message lists them.
    pub fn choices() -> String {
        one_of_words(&Language::ALL.map(Language::as_str))
    }

    /// When two values of the language are equal by its own `==`.
    pub fn rules(self) -> Rules {
        self.dialect().rules
    }

    pub(crate) fn notation(self) -> &'static Notation {
        self.dialect().notation
    }

    /// Whether programs of the language may read packages that are installed for its interpreter.
    pub fn has_packages(self) -> bool {
        self.no_packages().is_none()
    }

    /// The lock files that packages of its projects are installed from, the most exact first.
    pub fn lock_files(self) -> &'static [&'static str] {
        self.dialect().lock_files
    }

    /// What its submissions can load, and what to do if that is too little; `None` where suites can name packages.
    pub(crate) fn no_packages(self) -> Option<&'static str> {
        self.dialect().no_packages
    }

    /// How the answers of the mode `call` are written, which are JSON.
    pub(crate) fn json_notation(self) -> &'static Notation {
        self.dialect().json
    }

    /// Whether an expression is the call of one function with literals, and nothing else: then its value is that of the call. The
    /// call of what evaluates or calls by a text is not.
    pub fn is_single_call(self, expression: &str) -> bool {
        let Some(Functions { names, literals, .. }) = self.functions() else { return false };
        let Some((name, rest)) = expression.trim().split_once('(') else { return false };
        let arguments = rest.strip_suffix(')');
        let is_plain = names.allow(name) && !EVALUATORS.contains(&name);
        is_plain && arguments.is_some_and(|inside| literals.value(&format!("[{inside}]")).is_some())
    }

    /// What the submission's file is called in locations.
    pub(crate) fn file(self) -> &'static str {
        self.dialect().file
    }

    pub(crate) fn functions(self) -> Option<&'static Functions> {
        self.dialect().functions.as_ref()
    }

    /// The language whose interpreter runs a command, and the arguments that the command's first word stands for.
    pub(crate) fn of_program(program: &str) -> Option<(Language, &'static [&'static str])> {
        Language::ALL.into_iter().find_map(|language| {
            let programs = language.dialect().commands.programs;
            programs.iter().find(|(word, _)| *word == program).map(|(_, arguments)| (language, *arguments))
        })
    }

    /// Whether the tests of this runner can be altered, in files of the language.
    pub(crate) fn has_tests_of(self, runner: Runner) -> bool {
        self.dialect().tests.runners.contains(&runner)
    }

    /// The language of the tests in a file that the runner runs, by the end of its name; `None` if such tests are not altered.
    pub(crate) fn of_test_file(path: &str, runner: Runner) -> Option<Language> {
        let (_, extension) = path.rsplit('/').next()?.rsplit_once('.')?;
        Language::ALL.into_iter().find(|language| {
            let TestFiles { extensions, runners } = language.dialect().tests;
            extensions.contains(&extension) && runners.contains(&runner)
        })
    }

    /// The first words that commands may have, as a message lists them.
    pub(crate) fn programs() -> String {
        let programs = Language::ALL.iter().flat_map(|language| language.dialect().commands.programs);
        one_of_words(&programs.map(|(word, _)| *word).collect::<Vec<_>>())
    }

    pub(crate) fn reporting(self) -> ReadReporting {
        self.dialect().commands.reporting
    }
}

impl Names {
    /// Whether a text is a name and nothing else: it goes into source text.
    pub(crate) fn allow(&self, name: &str) -> bool {
        // Only one mark is removed, so that `f??` is refused.
        let stem = name.strip_suffix(self.ends).unwrap_or(name);
        let letter = |char: char| char.is_ascii_alphabetic() || self.special.contains(&char);
        stem.starts_with(letter)
            && stem.chars().all(|char| letter(char) || char.is_ascii_digit())
            // The whole name, not its stem: in Ruby `defined?` is a keyword.
            && !self.keywords.contains(&name)
    }
}

/// Functions of the languages whose text may be an expression, or the name of another function.
const EVALUATORS: [&str; 8] =
    ["eval", "exec", "send", "public_send", "__send__", "instance_eval", "instance_exec", "method"];

fn one_of_words(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => format!("`{only}`"),
        [first @ .., last] => format!("`{}` or `{last}`", first.join("`, `")),
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no supported language.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown language `{0}`")]
pub struct ParseLanguageError(pub String);

impl ParseLanguageError {
    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        Some(format!("write {}", Language::choices()))
    }
}

impl FromStr for Language {
    type Err = ParseLanguageError;

    /// Reads the specification's word, or an alias such as `py`, `js` or `sh`.
    fn from_str(word: &str) -> Result<Language, ParseLanguageError> {
        Language::ALL
            .into_iter()
            .find(|language| language.as_str() == word || language.dialect().aliases.contains(&word))
            .ok_or_else(|| ParseLanguageError(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_languages_share_a_word() {
        let mut words = BTreeSet::new();
        for language in Language::ALL {
            let dialect = language.dialect();
            for word in dialect.aliases.iter().chain([&dialect.word]) {
                assert!(words.insert(*word), "{word}");
                assert_eq!(word.parse(), Ok(language));
            }
        }
    }

    #[test]
    fn a_single_call_has_literals_and_nothing_else() {
        for (language, expression, single) in [
            (Language::Python, "f()", true),
            (Language::Python, " f( 1, 'a b', [None, {'x': 2}], (1,) ) ", true),
            (Language::Ruby, "f?(1)", true),
            (Language::JavaScript, "f([1, 2], 'a', null)", true),
            (Language::Python, "f(g(1))", false),
            (Language::Python, "f(1) == 1", false),
            (Language::Python, "f(1)[0]", false),
            (Language::Python, "f(1)(2)", false),
            (Language::Python, "(f)(1)", false),
            (Language::Python, "f(x)", false),
            (Language::Python, "f(*[1])", false),
            (Language::Python, "f(1], [2)", false),
            (Language::Python, "f('a' 'b')", false),
            (Language::Python, "f.g(1)", false),
            (Language::Python, "eval('f(1) == 1')", false),
            (Language::Ruby, "send('f', 1)", false),
            (Language::Python, "lambda(1)", false),
            (Language::Python, "f(1) # )", false),
            (Language::JavaScript, "f({a: 1})", false),
            (Language::JavaScript, "f(1), g(2)", false),
            (Language::Bash, "f(1)", false),
            (Language::Python, "", false),
        ] {
            assert_eq!(language.is_single_call(expression), single, "{language}: {expression}");
        }
    }

    #[test]
    fn names_are_plain_identifiers() {
        let allowed = |language: Language, name: &str| language.functions().is_some_and(|it| it.names.allow(name));
        for (name, python, javascript) in [
            ("f", true, true),
            ("_f2", true, true),
            ("$f", false, true),
            ("class", false, false),
            ("lambda", false, true),
            ("new", true, false),
            ("", false, false),
            ("2f", false, false),
            ("f?", false, false),
            ("f()", false, false),
            ("f g", false, false),
            ("é", false, false),
        ] {
            assert_eq!(allowed(Language::Python, name), python, "{name}");
            assert_eq!(allowed(Language::JavaScript, name), javascript, "{name}");
        }
    }
}
