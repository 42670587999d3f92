//! Python, as CPython 3.14 reads it.

use super::{ARITHMETIC, Grammar};
use crate::expectation;
use crate::lexer::{Holes, LexError, Lexer, Literal, Numbers, Scope};
use crate::mutants::{Changes, Lines, Mutant, arguments, slices};
use crate::tokens::Tokens;

pub(super) static GRAMMAR: Grammar = Grammar { token, changes: CHANGES, tests: Some(expectation::python::read) };

const NUMBERS: Numbers = Numbers { digits_around_point: false, suffixes: &['j', 'J'] };

#[rustfmt::skip]
const OPERATORS: [&str; 42] = [
    "**=", "//=", ">>=", "<<=", "...", "!=", "==", "<=", ">=", "->", ":=", "+=", "-=", "*=", "/=", "%=", "@=", "&=", "|=",
    "^=", "**", "//", "<<", ">>", "<", ">", "+", "-", "*", "/", "%", "@", "&", "|", "^", "~", ":", ",", ".", ";", "=", "!",
];

#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def", "del", "elif", "else", "except",
    "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
    "return", "try", "while", "with", "yield",
];

const CHANGES: Changes = Changes {
    comparisons: &[
        ("<", &["<=", ">="]),
        ("<=", &["<", ">"]),
        (">", &[">=", "<="]),
        (">=", &[">", "<"]),
        ("==", &["!="]),
        ("!=", &["=="]),
        ("is", &["is not"]),
        ("in", &["not in"]),
    ],
    arithmetic: ARITHMETIC,
    connectives: &[("and", &["or"]), ("or", &["and"])],
    not: "not ",
    constants: &[("True", "False"), ("False", "True")],
    null: "None",
    keywords: KEYWORDS,
    operand_marks: &["..."],
    definers: &["def", "class", "@"],
    calls_without_brackets: false,
    structure,
    load_errors: &["SyntaxError", "IndentationError", "TabError"],
};

const LINES: Lines = Lines {
    conditions: &["if", "elif", "while", "assert"],
    #[rustfmt::skip]
    fixed: &[
        "and", "as", "async", "case", "class", "def", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
        "in", "match", "nonlocal", "return", "try", "while", "with",
    ],
    openers: &[],
    nothing: "pass",
};

fn structure(tokens: &Tokens<'_>, changes: &Changes) -> Vec<Mutant> {
    let mut found = LINES.mutants(tokens, changes);
    found.extend(slices(tokens));
    found.extend(arguments(tokens, &["range"]));
    found
}

fn token(lexer: &mut Lexer<'_>) -> Result<(), LexError> {
    if let Some(Scope::Literal(literal)) = lexer.scope()
        && lexer.is_next(":")
    {
        return lexer.resume_with_spec(literal);
    }
    let ends = lexer.scope().is_none();
    let read = lexer.space(ends)?
        || lexer.line_comment("#")?
        || string(lexer)?
        || lexer.name(&[])?
        || lexer.number(NUMBERS)?
        || lexer.bracket()?
        || lexer.operator(&OPERATORS)?;
    if read { Ok(()) } else { Err(lexer.unexpected()) }
}

/// Reads a string with its prefix.
fn string(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    let rest = lexer.rest();
    let prefix =
        rest.find(|char: char| !char.is_ascii_alphabetic()).and_then(|end| rest.get(..end)).unwrap_or_default();
    let quote = rest.get(prefix.len()..).unwrap_or_default().chars().next();
    let (Some(quote @ ('"' | '\'')), true) = (quote, is_prefix(prefix)) else { return Ok(false) };
    lexer.eat(prefix);
    let triple = if quote == '"' { "\"\"\"" } else { "'''" };
    let is_triple = lexer.eat(triple);
    if !is_triple {
        lexer.bump();
    }
    let formatted = prefix.contains(['f', 'F', 't', 'T']);
    lexer.literal(Literal {
        count: if is_triple { 3 } else { 1 },
        lines: is_triple,
        holes: if formatted { Holes::Python } else { Holes::None },
        ..Literal::quoted(quote)
    })?;
    Ok(true)
}

fn is_prefix(prefix: &str) -> bool {
    let lower = prefix.to_ascii_lowercase();
    ["", "r", "u", "b", "f", "t", "br", "rb", "fr", "rf", "tr", "rt"].contains(&lower.as_str())
}
