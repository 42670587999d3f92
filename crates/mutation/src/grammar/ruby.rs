//! Ruby, as its interpreter reads it where spaces stand as people write them.

use super::{ARITHMETIC, Grammar};
use crate::lexer::{Holes, LexError, Lexer, Literal, Numbers};
use crate::mutants::{Changes, Class, Lines, Mutant};
use crate::token::Kind;
use crate::tokens::Tokens;

mod percent;
mod symbol;

pub(super) static GRAMMAR: Grammar = Grammar { token, changes: CHANGES, tests: None };

const NUMBERS: Numbers = Numbers { digits_around_point: true, suffixes: &['r', 'i'] };

#[rustfmt::skip]
const OPERATORS: [&str; 51] = [
    "<=>", "===", "**=", "<<=", ">>=", "&&=", "||=", "...", "!~", "=~", "=>", "->", "::", "&.", "..", "**", "==", "!=", "<=",
    ">=", "&&", "||", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<", ">", "+", "-", "*", "/", "%", "&", "|",
    "^", "~", "!", "=", "?", ":", ",", ".", ";", "`",
];

/// Words behind which an expression begins.
#[rustfmt::skip]
const BEFORE_EXPRESSION: [&str; 25] = [
    "and", "begin", "break", "case", "do", "else", "elsif", "ensure", "for", "if", "in", "loop", "next", "not", "or", "rescue",
    "return", "then", "unless", "until", "when", "while", "yield", "raise", "puts",
];

/// Words that are values.
const VALUES: [&str; 8] = ["end", "self", "true", "false", "nil", "__FILE__", "__LINE__", "__dir__"];

#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "alias", "and", "begin", "break", "case", "class", "def", "do", "else", "elsif", "ensure", "for", "if", "in", "module", "next",
    "not", "or", "redo", "rescue", "retry", "return", "then", "undef", "unless", "until", "when", "while", "yield",
];

const CHANGES: Changes = Changes {
    comparisons: &[
        ("<", &["<=", ">="]),
        ("<=", &["<", ">"]),
        (">", &[">=", "<="]),
        (">=", &[">", "<"]),
        ("==", &["!="]),
        ("!=", &["=="]),
    ],
    arithmetic: ARITHMETIC,
    connectives: &[("&&", &["||"]), ("||", &["&&"]), ("and", &["or"]), ("or", &["and"])],
    not: "!",
    constants: &[("true", "false"), ("false", "true")],
    null: "nil",
    keywords: KEYWORDS,
    operand_marks: &[],
    definers: &["def", "class", "module"],
    calls_without_brackets: true,
    structure,
    load_errors: &["SyntaxError"],
};

const LINES: Lines = Lines {
    conditions: &[],
    #[rustfmt::skip]
    fixed: &[
        "alias", "attr_accessor", "attr_reader", "attr_writer", "begin", "case", "class", "def", "do", "else", "elsif", "end",
        "ensure", "extend", "for", "if", "in", "include", "module", "private", "protected", "public", "require", "require_relative",
        "rescue", "return", "then", "undef", "unless", "until", "when", "while",
    ],
    openers: &["do", "case", "begin", "def", "end", "class", "module", "then", "while", "until", "for", "if", "unless"],
    nothing: "nil",
};

fn structure(tokens: &Tokens<'_>, changes: &Changes) -> Vec<Mutant> {
    let mut found = LINES.mutants(tokens, changes);
    for (index, token) in tokens.all().iter().enumerate() {
        let (class, other) = match (token.kind, tokens.text(index)) {
            (Kind::Operator, "..") => (Class::Boundary, "..."),
            (Kind::Operator, "...") => (Class::Boundary, ".."),
            // Either word begins what the same `end` closes, and may stand behind a statement.
            (Kind::Name, "if") => (Class::Condition, "unless"),
            (Kind::Name, "unless") => (Class::Condition, "if"),
            (Kind::Name, "while") => (Class::Condition, "until"),
            (Kind::Name, "until") => (Class::Condition, "while"),
            _ => continue,
        };
        found.push(Mutant { class, span: token.span(), replacement: other.to_owned() });
    }
    found
}

fn token(lexer: &mut Lexer<'_>) -> Result<(), LexError> {
    // In brackets, too: a block of statements may stand there.
    let read = lexer.space(true)?
        || comment(lexer)?
        || heredoc(lexer)?
        || string(lexer)?
        || percent::literal(lexer)?
        || character(lexer)?
        || symbol::symbol(lexer)?
        || regex(lexer)?
        || name(lexer)?
        || lexer.number(NUMBERS)?
        || lexer.bracket()?
        || lexer.operator(&OPERATORS)?;
    if read { Ok(()) } else { Err(lexer.unexpected()) }
}

fn comment(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    let starts_line = lexer.char_before().is_none_or(|char| char == '\n');
    if starts_line && is_word(lexer, "=begin") {
        if !lexer.eat_through("\n=end") {
            return Err(lexer.unexpected_end("the comment"));
        }
        lexer.eat_line();
        return lexer.emit(Kind::Comment).map(|_| true);
    }
    let is_data = starts_line && matches!(lexer.rest().lines().next(), Some("__END__"));
    if is_data && lexer.innermost().is_none() {
        lexer.eat_while(|_| true);
        return lexer.emit(Kind::Comment).map(|_| true);
    }
    lexer.line_comment("#")
}

fn is_word(lexer: &Lexer<'_>, word: &str) -> bool {
    let after = lexer.rest().strip_prefix(word);
    after.is_some_and(|after| after.chars().next().is_none_or(char::is_whitespace))
}

fn heredoc(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    if !lexer.is_next("<<") || !begins_operand(lexer, "<<") || matches!(lexer.last(), Some((_, "class"))) {
        return Ok(false);
    }
    let after = lexer.rest().chars().nth(2);
    let plain = after.is_some_and(|char| char.is_uppercase() || matches!(char, '"' | '\''));
    lexer.heredoc(if plain { &["<<"] } else { &[] }, &["<<~", "<<-"])
}

fn string(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    let Some(quote @ ('"' | '\'' | '`')) = lexer.peek() else { return Ok(false) };
    if quote == '`' && names_method(lexer) {
        return Ok(false);
    }
    lexer.bump();
    let holes = if quote == '\'' { Holes::None } else { Holes::Hash };
    lexer.literal(Literal { holes, lines: true, ..Literal::quoted(quote) })?;
    Ok(true)
}

/// Reads a string of one character, such as `?a`.
fn character(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    let mut after = lexer.rest().chars().skip(1);
    let (first, second) = (after.next(), after.next());
    let plain = first.is_some_and(|char| !char.is_whitespace() && char != '\\')
        && second.is_none_or(|char| !char.is_alphanumeric() && char != '_');
    let escaped = first == Some('\\') && second.is_some();
    let is_name = matches!(lexer.last(), Some((Kind::Name, name)) if !BEFORE_EXPRESSION.contains(&name));
    if !lexer.is_next("?") || is_name || !(plain || escaped) || !begins_operand(lexer, "?") {
        return Ok(false);
    }
    for _ in 0..if escaped { 3 } else { 2 } {
        lexer.bump();
    }
    lexer.emit(Kind::String).map(|_| true)
}

fn regex(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    if !lexer.is_next("/") || !begins_operand(lexer, "/") {
        return Ok(false);
    }
    lexer.bump();
    lexer.literal(Literal { kind: Kind::Regex, holes: Holes::Hash, lines: true, ..Literal::quoted('/') })?;
    Ok(true)
}

/// Reads a name, with `@`, `@@` or `$` before it and `?` or `!` behind it.
fn name(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    if lexer.is_next("$") {
        global(lexer);
        return lexer.emit(Kind::Name).map(|_| true);
    }
    lexer.eat_while(|char| char == '@');
    if !eat_name(lexer) {
        return if lexer.read().is_empty() { Ok(false) } else { lexer.emit(Kind::Operator).map(|_| true) };
    }
    lexer.emit(Kind::Name).map(|_| true)
}

/// Reads the name of a global variable, which may be a single mark.
fn global(lexer: &mut Lexer<'_>) {
    lexer.bump();
    let _ = lexer.eat("-");
    if lexer.peek().is_some_and(|char| char.is_alphanumeric() || char == '_') {
        lexer.eat_while(|char| char.is_alphanumeric() || char == '_');
    } else {
        lexer.bump();
    }
}

/// Reads a name with its mark at the end.
fn eat_name(lexer: &mut Lexer<'_>) -> bool {
    let before = lexer.read().len();
    if lexer.peek().is_some_and(|char| char.is_alphabetic() || char == '_' || !char.is_ascii()) {
        lexer.eat_while(|char| char.is_alphanumeric() || char == '_' || (!char.is_ascii() && !char.is_whitespace()));
    }
    let is_name = lexer.read().len() > before;
    let mut after = lexer.rest().chars().skip(1);
    let assigns = after.next() == Some('=') && !matches!(after.next(), Some('=' | '~' | '>'));
    if is_name && !assigns && matches!(lexer.peek(), Some('?' | '!')) {
        lexer.bump();
    }
    is_name
}

/// Whether a method is named or called here, whose name may be an operator.
fn names_method(lexer: &Lexer<'_>) -> bool {
    matches!(lexer.last(), Some((Kind::Name, "def") | (Kind::Operator, "." | "&.")))
}

/// Whether a literal may begin here with this mark, by what stands before it. Behind a name, as Ruby itself decides: if there is
/// a space before the mark and none behind it, it begins the first argument of a call.
fn begins_operand(lexer: &Lexer<'_>, mark: &str) -> bool {
    if names_method(lexer) {
        return false;
    }
    let Some((kind, text)) = lexer.last() else { return true };
    match kind {
        Kind::Newline | Kind::Operator | Kind::Open | Kind::Head | Kind::Middle => true,
        Kind::Name if BEFORE_EXPRESSION.contains(&text) => true,
        Kind::Name if VALUES.contains(&text) || text.starts_with(['@', '$']) => false,
        Kind::Name => {
            let behind = lexer.rest().strip_prefix(mark).and_then(|rest| rest.chars().next());
            let spaced = lexer.char_before().is_some_and(char::is_whitespace);
            spaced && behind.is_some_and(|char| !char.is_whitespace() && char != '=')
        }
        Kind::Close | Kind::Number | Kind::String | Kind::Symbol | Kind::Regex | Kind::Tail => false,
        Kind::Heredoc | Kind::Markup | Kind::Space | Kind::Comment => true,
    }
}
