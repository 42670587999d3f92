//! Literals such as `%w[a b]` and `%(text)`.

use super::begins_operand;
use crate::lexer::{Holes, LexError, Lexer, Literal};
use crate::token::Kind;

/// Letters behind the mark, and which of them have expressions inside.
const LETTERS: [(char, Holes); 9] = [
    ('q', Holes::None),
    ('Q', Holes::Hash),
    ('w', Holes::None),
    ('W', Holes::Hash),
    ('i', Holes::None),
    ('I', Holes::Hash),
    ('r', Holes::Hash),
    ('s', Holes::None),
    ('x', Holes::Hash),
];

pub(super) fn literal(lexer: &mut Lexer<'_>) -> Result<bool, LexError> {
    let mut rest = lexer.rest().chars();
    if rest.next() != Some('%') || !begins_operand(lexer, "%") {
        return Ok(false);
    }
    let first = rest.next();
    let letter = LETTERS.into_iter().find(|(letter, _)| Some(*letter) == first);
    let Some(open) = (if letter.is_some() { rest.next() } else { first }) else { return Ok(false) };
    if !open.is_ascii_punctuation() || open == '=' {
        return Ok(false);
    }
    for _ in 0..if letter.is_some() { 3 } else { 2 } {
        lexer.bump();
    }
    let close = closing(open);
    let (letter, holes) = letter.unwrap_or(('Q', Holes::Hash));
    let kind = match letter {
        'r' => Kind::Regex,
        's' => Kind::Symbol,
        _ => Kind::String,
    };
    let nested = (close != open).then_some(open);
    lexer.literal(Literal { kind, nested, holes, lines: true, ..Literal::quoted(close) })?;
    Ok(true)
}

fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        other => other,
    }
}
