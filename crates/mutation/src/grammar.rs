//! How programs of each language are read: one file and one row each.

use proofmark_checks::{Language, TestFile};

use crate::lexer::ReadToken;
use crate::mutants::{Changes, Table};
use crate::tokens::Tokens;

/// Declares the module of each language's grammar, so that no language can be without one.
macro_rules! grammars {
    ($($module:ident: $language:ident,)*) => {
        $(mod $module;)*

        /// The grammar of a language.
        pub(crate) fn of(language: Language) -> &'static Grammar {
            match language {
                $(Language::$language => &$module::GRAMMAR,)*
            }
        }
    };
}

grammars! {
    python: Python,
    javascript: JavaScript,
    typescript: TypeScript,
    bash: Bash,
    ruby: Ruby,
}

type FindTests = fn(&Tokens<'_>) -> Option<TestFile>;

/// What tells the tokens of one language from another's.
pub(crate) struct Grammar {
    pub(crate) token: ReadToken,
    pub(crate) changes: Changes,
    /// Finds the tests of a program, where they can be altered.
    pub(crate) tests: Option<FindTests>,
}

/// Arithmetic of the languages; an operator that one does not have stands in no program of it.
const ARITHMETIC: Table = &[
    ("+", &["-"]),
    ("-", &["+"]),
    ("*", &["/"]),
    ("/", &["*"]),
    ("%", &["*"]),
    ("**", &["*"]),
    ("<<", &[">>"]),
    (">>", &["<<"]),
    ("&", &["|"]),
    ("|", &["&"]),
    ("^", &["&"]),
    ("//", &["/", "*"]),
    ("+=", &["-="]),
    ("-=", &["+="]),
    ("*=", &["/="]),
    ("/=", &["*="]),
    ("//=", &["*="]),
    ("%=", &["*="]),
    ("<<=", &[">>="]),
    (">>=", &["<<="]),
];
