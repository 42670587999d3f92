//! The titles of tests.

use std::ops::Range;

use proofmark_checks::Title as Pieces;

use super::words;
use crate::token::Kind;
use crate::tokens::Tokens;

/// Reads titles among these tokens.
pub(super) struct Title<'a>(pub(super) &'a Tokens<'a>);

impl Title<'_> {
    /// The title that an argument is, as far as it is known. Of a table, `%` and `$` stand for values.
    pub(super) fn read(&self, range: &Range<usize>, is_table: bool) -> Option<Pieces> {
        let words = words(self.0, range);
        let first = *words.first()?;
        let pieces = match (self.0.get(first)?.kind, words.len()) {
            (Kind::String, 1) => vec![cooked(self.0.text(first))?],
            (Kind::Head, _) => self.template(range)?,
            _ => return None,
        };
        let pieces = if is_table { pieces.iter().flat_map(|piece| filled(piece)).collect() } else { pieces };
        // A title of which nothing is known would be each test's.
        let is_known = pieces.iter().any(|piece| piece.chars().any(char::is_alphanumeric));
        is_known.then(|| Pieces::of_pieces(pieces))
    }

    /// The texts of a template around its expressions.
    fn template(&self, range: &Range<usize>) -> Option<Vec<String>> {
        let mut pieces = Vec::new();
        let mut depth = 0_usize;
        for index in range.clone() {
            let text = self.0.text(index);
            match self.0.get(index)?.kind {
                Kind::Head if depth == 0 => {
                    pieces.push(cooked_text(text.strip_prefix('`')?.strip_suffix("${")?)?);
                    depth = 1;
                }
                Kind::Middle if depth == 1 => pieces.push(cooked_text(text.strip_prefix('}')?.strip_suffix("${")?)?),
                Kind::Tail if depth == 1 => {
                    pieces.push(cooked_text(text.strip_prefix('}')?.strip_suffix('`')?)?);
                    depth = 0;
                }
                Kind::Head => depth += 1,
                Kind::Tail => depth = depth.saturating_sub(1),
                _ if depth == 0 && !text.trim().is_empty() => return None,
                _ => {}
            }
        }
        (pieces.len() > 1).then_some(pieces)
    }
}

/// The value of a string literal.
fn cooked(literal: &str) -> Option<String> {
    let quote = literal.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
    cooked_text(literal.strip_prefix(quote)?.strip_suffix(quote)?)
}

/// The value of the text between quotes; none where it has escapes by number.
fn cooked_text(text: &str) -> Option<String> {
    let mut cooked = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next()? {
                'n' | 't' | 'r' | 'v' | 'f' | 'b' => cooked.push(' '),
                '0'..='9' | 'x' | 'u' | '\n' | '\r' => return None,
                other => cooked.push(other),
            },
            char => cooked.push(char),
        }
    }
    Some(cooked)
}

/// The pieces of a table's title around what stands for its values: `%s`, `$name`, `$name.part` and `$#`.
fn filled(title: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut chars = title.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '%' if chars.peek().is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '#' | '%' | '$')) => {
                chars.next();
                pieces.push(String::new());
            }
            '$' => {
                let is_name = |char: &char| char.is_alphanumeric() || matches!(char, '_' | '.' | '#');
                while chars.next_if(is_name).is_some() {}
                pieces.push(String::new());
            }
            char => pieces.last_mut().into_iter().for_each(|piece| piece.push(char)),
        }
    }
    pieces
}
