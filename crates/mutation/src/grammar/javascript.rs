//! JavaScript, as ECMAScript 2025 has it, with JSX.

use super::{ARITHMETIC, Grammar};
use crate::expectation;
use crate::lexer::{Holes, LexError, Lexer, Literal, Numbers, Scope};
use crate::mutants::{Braces, Changes, Mutant, arguments};
use crate::token::Kind;
use crate::tokens::Tokens;

mod markup;

pub(super) static GRAMMAR: Grammar = Grammar { token, changes: CHANGES, tests: Some(expectation::javascript::read) };

const NUMBERS: Numbers = Numbers { digits_around_point: false, suffixes: &['n'] };

#[rustfmt::skip]
const OPERATORS: [&str; 52] = [
    ">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "==", "!=", "<=", ">=", "&&", "||",
    "??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "**", "<<", ">>", "<", ">", "+", "-", "*", "/",
    "%", "&", "|", "^", "~", "!", "=", "?", ":", ",", ".", ";", "@",
];

/// Words behind which an expression begins.
#[rustfmt::skip]
const BEFORE_EXPRESSION: [&str; 18] = [
    "return", "typeof", "instanceof", "in", "of", "new", "delete", "void", "throw", "case", "do", "else", "yield", "await",
    "default", "extends", "if", "while",
];

/// Words whose brackets are followed by a statement.
const BEFORE_STATEMENT: [&str; 4] = ["if", "while", "for", "with"];

#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "async", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else",
    "export", "extends", "finally", "for", "function", "if", "import", "in", "instanceof", "let", "new", "of", "return", "switch",
    "throw", "try", "typeof", "var", "void", "while", "with", "yield",
];

pub(super) const CHANGES: Changes = Changes {
    comparisons: &[
        ("<", &["<=", ">="]),
        ("<=", &["<", ">"]),
        (">", &[">=", "<="]),
        (">=", &[">", "<"]),
        ("==", &["!="]),
        ("!=", &["=="]),
        ("===", &["!=="]),
        ("!==", &["==="]),
    ],
    arithmetic: ARITHMETIC,
    connectives: &[("&&", &["||"]), ("||", &["&&"]), ("??", &["&&"])],
    not: "!",
    constants: &[("true", "false"), ("false", "true")],
    null: "null",
    keywords: KEYWORDS,
    operand_marks: &["++", "--"],
    definers: &["function", "class", "new", "*", "get", "set", "async"],
    calls_without_brackets: false,
    structure,
    load_errors: &["SyntaxError"],
};

const BRACES: Braces = Braces {
    conditions: &["if", "while"],
    #[rustfmt::skip]
    fixed: &[
        "async", "case", "catch", "class", "const", "default", "do", "else", "enum", "export", "finally", "for", "function", "if",
        "import", "interface", "let", "return", "static", "switch", "try", "type", "var", "while", "with",
    ],
};

fn structure(tokens: &Tokens<'_>, changes: &Changes) -> Vec<Mutant> {
    let mut found = BRACES.mutants(tokens, changes);
    found.extend(arguments(tokens, &["slice", "substring", "substr", "at", "charAt"]));
    found
}

fn token(lexer: &mut Lexer<'_>) -> Result<(), LexError> {
    match lexer.scope() {
        Some(Scope::Tag) => return markup::in_tag(lexer),
        Some(Scope::Element) => return markup::in_element(lexer),
        Some(Scope::Bracket(_) | Scope::Literal(_)) | None => {}
    }
    if markup::begins(lexer) && begins_expression(lexer) {
        return markup::in_tag_at_start(lexer);
    }
    token_without_markup(lexer)
}

/// Reads a token of JavaScript, where `<` is an operator.
pub(super) fn token_without_markup(lexer: &mut Lexer<'_>) -> Result<(), LexError> {
    let ends = !matches!(lexer.scope(), Some(Scope::Bracket(')' | ']') | Scope::Literal(_)));
    let read = lexer.space(ends)?
        || comment(lexer)?
        || string(lexer)?
        || name(lexer)?
        || lexer.number(NUMBERS)?
        || lexer.bracket()?
        || regex(lexer)?
        || lexer.operator(&OPERATORS)?;
    if read { Ok(()) } else { Err(lexer.unexpected()) }
}

fn comment(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    if !lexer.is_next("/*") {
        let first = lexer.char_before().is_none();
        return Ok(lexer.line_comment("//")? || (first && lexer.line_comment("#!")?));
    }
    lexer.eat("/*");
    if !lexer.eat_through("*/") {
        return Err(lexer.unexpected_end("the comment"));
    }
    lexer.emit(Kind::Comment).map(|_| true)
}

fn string(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    let Some(quote @ ('"' | '\'' | '`')) = lexer.peek() else { return Ok(false) };
    lexer.bump();
    let plain = Literal::quoted(quote);
    let template = Literal { lines: true, holes: Holes::Dollar, ..plain };
    lexer.literal(if quote == '`' { template } else { plain })?;
    Ok(true)
}

/// Reads a name, which may be private (`#x`) or escaped (`\u0061`).
fn name(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    let private =
        lexer.is_next("#") && lexer.peek_second().is_some_and(|char| char.is_alphabetic() || "_$".contains(char));
    let escaped = lexer.is_next("\\u");
    if private || escaped {
        lexer.bump();
    }
    lexer.name(&['$', '\\'])
}

fn regex(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    if !lexer.is_next("/") || !begins_expression(lexer) {
        return Ok(false);
    }
    lexer.bump();
    let mut in_class = false;
    loop {
        match lexer.peek() {
            None | Some('\n') => return Err(lexer.unexpected_end("the regular expression")),
            Some('\\') => {
                lexer.bump();
            }
            Some('[') => in_class = true,
            Some(']') => in_class = false,
            Some('/') if !in_class => break,
            Some(_) => {}
        }
        lexer.bump();
    }
    lexer.bump();
    lexer.eat_while(|char| char.is_ascii_alphabetic());
    lexer.emit(Kind::Regex).map(|_| true)
}

/// Whether an operand may begin here, by what stands before: then `/` begins a regular expression.
fn begins_expression(lexer: &Lexer<'_>) -> bool {
    let Some(index) = lexer.last_word() else { return true };
    let Some((kind, text)) = lexer.token(index) else { return true };
    match kind {
        Kind::Operator => !matches!(text, "++" | "--") && !is_assertion(lexer, index),
        Kind::Open | Kind::Head | Kind::Middle => true,
        Kind::Close => ends_statement(lexer, index, text),
        Kind::Name => BEFORE_EXPRESSION.contains(&text) && !follows_point(lexer, index),
        Kind::Number | Kind::String | Kind::Regex | Kind::Tail | Kind::Symbol | Kind::Markup | Kind::Heredoc => false,
        Kind::Space | Kind::Comment | Kind::Newline => true,
    }
}

/// Whether a `!` stands behind a value, as in `x!` of TypeScript.
fn is_assertion(lexer: &Lexer<'_>, index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|before| lexer.token(before));
    let after_value = match before {
        Some((Kind::Name, text)) => !BEFORE_EXPRESSION.contains(&text),
        Some((Kind::Close, _)) => true,
        _ => false,
    };
    lexer.token(index).is_some_and(|(_, text)| text == "!") && after_value
}

fn follows_point(lexer: &Lexer<'_>, index: usize) -> bool {
    let before = lexer.word_before(index).and_then(|before| lexer.token(before));
    matches!(before, Some((Kind::Operator, "." | "?.")))
}

/// Whether a closing bracket ends a statement or the head of one, rather than a value.
fn ends_statement(lexer: &Lexer<'_>, close: usize, text: &str) -> bool {
    let before = lexer.partner(close).and_then(|open| lexer.word_before(open));
    let word = before.and_then(|before| lexer.token(before));
    match text {
        ")" => {
            let is_head = matches!(word, Some((Kind::Name, word)) if BEFORE_STATEMENT.contains(&word));
            is_head && before.is_some_and(|before| !follows_point(lexer, before))
        }
        // A block, by what stands before it; an object literal follows an operator, a bracket or a word.
        "}" => match word {
            None => true,
            Some((Kind::Operator, operator)) => matches!(operator, ";" | "=>"),
            Some((Kind::Close, close)) => matches!(close, ")" | "}"),
            Some((Kind::Open, open)) => open == "{",
            Some((Kind::Name, name)) => !BEFORE_EXPRESSION.contains(&name) || matches!(name, "do" | "else"),
            Some(_) => false,
        },
        _ => false,
    }
}
