//! Bash, as far as its tokens do not depend on what commands mean: words are split at punctuation.

use super::{ARITHMETIC, Grammar};
use crate::lexer::{Holes, LexError, Lexer, Literal, Numbers, Scope};
use crate::mutants::{Changes, Class, Mutant, Table};
use crate::token::{Kind, Token};
use crate::tokens::Tokens;

pub(super) static GRAMMAR: Grammar = Grammar { token, changes: CHANGES, tests: None };

const NUMBERS: Numbers = Numbers { digits_around_point: true, suffixes: &[] };

#[rustfmt::skip]
const OPERATORS: [&str; 28] = [
    "<<<", "<<-", ";;&", "&>>", "&&", "||", ";;", ";&", "|&", "==", "!=", "=~", "<=", ">=", "<<", ">>", "<&", ">&", "&>",
    "++", "--", "+=", "-=", "*=", "/=", "%=", "**", "!",
];

const CHANGES: Changes = Changes {
    comparisons: &[
        ("lt", &["le", "ge"]),
        ("le", &["lt", "gt"]),
        ("gt", &["ge", "le"]),
        ("ge", &["gt", "lt"]),
        ("eq", &["ne"]),
        ("ne", &["eq"]),
        ("==", &["!="]),
        ("!=", &["=="]),
    ],
    arithmetic: &[],
    connectives: &[("&&", &["||"]), ("||", &["&&"])],
    not: "! ",
    constants: &[("true", "false"), ("false", "true")],
    null: "",
    keywords: &[],
    // The words that compare stand behind a `-`.
    operand_marks: &["-"],
    definers: &[],
    calls_without_brackets: false,
    structure,
    load_errors: &["syntax error"],
};

/// Negated conditions, and arithmetic between `((` and `))`.
fn structure(tokens: &Tokens<'_>, _: &Changes) -> Vec<Mutant> {
    let mut found = Vec::new();
    for (index, token) in tokens.all().iter().enumerate() {
        let text = tokens.text(index);
        if matches!(text, "if" | "elif" | "while" | "until") && token.kind == Kind::Name {
            let replacement = format!("{text} !");
            found.push(Mutant { class: Class::Condition, span: token.span(), replacement });
        }
        if text != "(" || index.checked_sub(1).is_none_or(|before| tokens.text(before) != "(") {
            continue;
        }
        for inside in tokens.inside(index).into_iter().flatten() {
            let row = ARITHMETIC.iter().chain(COMPARISONS).find(|(from, _)| *from == tokens.text(inside));
            let others = row.map_or(&[][..], |(_, others)| others);
            let span = tokens.get(inside).map_or(0..0, Token::span);
            found.extend(others.iter().map(|other| Mutant {
                class: Class::Arithmetic,
                span: span.clone(),
                replacement: (*other).to_owned(),
            }));
        }
    }
    found
}

const COMPARISONS: Table = &[("<", &["<="]), ("<=", &["<"]), (">", &[">="]), (">=", &[">"])];

fn token(lexer: &mut Lexer<'_>) -> Result<(), LexError> {
    let read = lexer.space(true)?
        || (may_begin_word(lexer) && lexer.line_comment("#")?)
        || string(lexer)?
        || variable(lexer)?
        || (!lexer.is_next("<<<") && !is_arithmetic(lexer) && lexer.heredoc(&["<<", "<< "], &["<<-", "<<- "])?)
        || lexer.name(&[])?
        || lexer.number(NUMBERS)?
        || (!is_stray_close(lexer) && lexer.bracket()?)
        || lexer.operator(&OPERATORS)?
        || mark(lexer)?;
    if read { Ok(()) } else { Err(lexer.unexpected()) }
}

fn may_begin_word(lexer: &Lexer<'_>) -> bool {
    lexer.char_before().is_none_or(|char| char.is_whitespace() || ";&|()".contains(char))
}

fn string(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    let escaped = lexer.is_next("$'");
    if escaped || lexer.is_next("$\"") {
        lexer.bump();
    }
    let Some(quote @ ('"' | '\'' | '`')) = lexer.peek() else { return Ok(false) };
    lexer.bump();
    lexer.literal(Literal {
        lines: true,
        escapes: quote != '\'' || escaped,
        holes: if quote == '"' { Holes::Shell } else { Holes::None },
        ..Literal::quoted(quote)
    })?;
    Ok(true)
}

/// Reads `$name`, or a parameter of one mark, such as `$#`.
fn variable(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    let Some(second) = lexer.peek_second().filter(|_| lexer.is_next("$")) else { return Ok(false) };
    if second.is_ascii_alphabetic() || second == '_' {
        lexer.bump();
        return lexer.name(&[]);
    }
    if !second.is_ascii_digit() && !"#?@*$!-".contains(second) {
        return Ok(false);
    }
    lexer.bump();
    lexer.bump();
    lexer.emit(Kind::Name).map(|_| true)
}

/// Whether this is within `((…))`, where `<<` shifts.
fn is_arithmetic(lexer: &Lexer<'_>) -> bool {
    let before = lexer.innermost().and_then(|open| open.checked_sub(1)).and_then(|before| lexer.token(before));
    matches!(lexer.scope(), Some(Scope::Bracket(')'))) && before.is_some_and(|(_, text)| text.ends_with('('))
}

/// Whether a closing bracket follows that closes nothing, as behind a pattern of `case`.
fn is_stray_close(lexer: &Lexer<'_>) -> bool {
    let Some(close @ (')' | ']' | '}')) = lexer.peek() else { return false };
    match lexer.scope() {
        Some(Scope::Bracket(wanted)) => close != wanted,
        Some(Scope::Literal(_)) => close != ')',
        Some(Scope::Tag | Scope::Element) | None => true,
    }
}

/// Reads one mark, or a character behind a backslash.
fn mark(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    let Some(char) = lexer.peek().filter(char::is_ascii_punctuation) else { return Ok(false) };
    lexer.bump();
    if char == '\\' {
        lexer.bump();
    }
    lexer.emit(Kind::Operator).map(|_| true)
}
