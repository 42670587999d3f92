//! JSX: tags, and text between them, with expressions in braces.

use crate::lexer::{LexError, Lexer, Scope};
use crate::token::Kind;

/// Whether a tag would begin here, if an expression does.
pub(super) fn begins(lexer: &Lexer<'_>) -> bool {
    lexer.is_next("<") && lexer.peek_second().is_some_and(|char| char.is_alphabetic() || "_$>".contains(char))
}

/// Reads the first part of a tag.
pub(super) fn in_tag_at_start(lexer: &mut Lexer<'_>) -> Result<(), LexError> {
    lexer.bump();
    tag(lexer, None)
}

/// Goes on with a tag behind an expression in braces.
pub(super) fn in_tag(lexer: &mut Lexer<'_>) -> Result<(), LexError> {
    let first = lexer.innermost();
    if lexer.is_next("{") { lexer.bracket().map(|_| ()) } else { tag(lexer, first) }
}

/// Reads up to the end of the tag or the next brace. `first` is the token with which the tag began, if that is not read now.
fn tag(lexer: &mut Lexer<'_>, first: Option<usize>) -> Result<(), LexError> {
    let mut last = '<';
    loop {
        match lexer.peek() {
            None => return Err(lexer.unexpected_end("the tag")),
            Some('{') => {
                let token = lexer.emit(Kind::Markup)?;
                return if first.is_none() { lexer.enter(token, Scope::Tag) } else { Ok(()) };
            }
            Some(quote @ ('"' | '\'')) => {
                lexer.bump();
                lexer.eat_while(|char| char != quote);
            }
            // `=>` stands in no tag outside of braces.
            Some('>') => break,
            Some(_) => {}
        }
        last = lexer.bump().unwrap_or(last);
    }
    lexer.bump();
    let token = lexer.emit(Kind::Markup)?;
    if first.is_some() {
        lexer.leave(token);
    }
    if last == '/' { Ok(()) } else { lexer.enter(first.unwrap_or(token), Scope::Element) }
}

/// Reads what stands between tags: text, an expression in braces, a tag, or the closing tag.
pub(super) fn in_element(lexer: &mut Lexer<'_>) -> Result<(), LexError> {
    if lexer.is_next("{") {
        return lexer.bracket().map(|_| ());
    }
    if lexer.eat("</") {
        if !lexer.eat_through(">") {
            return Err(lexer.unexpected_end("the closing tag"));
        }
        let token = lexer.emit(Kind::Markup)?;
        lexer.leave(token);
        return Ok(());
    }
    if lexer.is_next("<") {
        return in_tag_at_start(lexer);
    }
    lexer.eat_while(|char| !matches!(char, '<' | '{'));
    lexer.emit(Kind::Markup).map(|_| ())
}
