//! Symbols, such as `:name`, `:"some text"` and `:<=>`.

use super::{eat_name, global};
use crate::lexer::{Holes, LexError, Lexer, Literal};
use crate::token::Kind;

/// Operators that are names of methods, longer ones first.
const METHODS: [&str; 28] = [
    "[]=", "<=>", "===", "[]", "**", "==", "=~", "!=", "!~", "<=", ">=", "<<", ">>", "+@", "-@", "<", ">", "+", "-",
    "*", "/", "%", "&", "|", "^", "~", "!", "`",
];

pub(super) fn symbol(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    // Behind a value, as in `a:1` and `x ? "y":"z"`, the colon is an operator.
    let follows_value = lexer
        .char_before()
        .is_some_and(|char| char.is_alphanumeric() || matches!(char, '_' | '"' | '\'' | ')' | ']' | '}'));
    if !lexer.is_next(":") || lexer.is_next("::") || follows_value {
        return Ok(false);
    }
    match lexer.peek_second() {
        Some(quote @ ('"' | '\'')) => {
            lexer.bump();
            lexer.bump();
            let holes = if quote == '"' { Holes::Hash } else { Holes::None };
            lexer.literal(Literal { kind: Kind::Symbol, holes, lines: true, ..Literal::quoted(quote) })?;
            Ok(true)
        }
        Some(char) if char.is_alphabetic() || matches!(char, '_' | '@') || !char.is_ascii() => {
            lexer.bump();
            lexer.eat_while(|char| char == '@');
            eat_name(lexer);
            let mut after = lexer.rest().chars();
            let setter = after.next() == Some('=') && !matches!(after.next(), Some('=' | '~' | '>'));
            if setter && !lexer.read().ends_with(['?', '!']) {
                lexer.bump();
            }
            lexer.emit(Kind::Symbol).map(|_| true)
        }
        Some('$') => {
            lexer.bump();
            global(lexer);
            lexer.emit(Kind::Symbol).map(|_| true)
        }
        Some(_) => operator(lexer),
        None => Ok(false),
    }
}

fn operator(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    let rest = lexer.rest().get(1..).unwrap_or_default();
    let Some(method) = METHODS.iter().find(|method| rest.starts_with(**method)) else { return Ok(false) };
    lexer.bump();
    let _ = lexer.eat(method);
    lexer.emit(Kind::Symbol).map(|_| true)
}
