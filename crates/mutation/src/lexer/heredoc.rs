//! Texts that stand on the lines after the one that names their end.

use super::{LexError, Lexer};
use crate::token::Kind;

/// A heredoc whose lines are still to come.
pub(crate) struct Heredoc {
    /// The line that ends it.
    end: String,
    /// Whether that line may be indented.
    indented: bool,
}

impl Lexer<'_> {
    /// Reads the start of a heredoc: one of these marks, and a word, which may be quoted.
    pub(crate) fn heredoc(&mut self, plain: &[&str], indented: &[&str]) -> Result<bool, LexError> {
        let rest = self.rest();
        let marks = indented.iter().map(|mark| (*mark, true)).chain(plain.iter().map(|mark| (*mark, false)));
        let found =
            marks.into_iter().find_map(|(mark, indented)| Some((mark, indented, word(rest.strip_prefix(mark)?)?)));
        let Some((mark, indented, (length, end))) = found else { return Ok(false) };
        let heredoc = Heredoc { end: end.to_owned(), indented };
        self.at += mark.len() + length;
        self.heredocs.push_back(heredoc);
        self.emit(Kind::String).map(|_| true)
    }

    /// Reads the lines of the heredocs that the line before has started.
    pub(super) fn heredoc_lines(&mut self) -> Result<(), LexError> {
        while let Some(heredoc) = self.heredocs.pop_front() {
            loop {
                if self.is_at_end() {
                    return Err(self.unterminated("the heredoc", self.start));
                }
                let line = self.at;
                self.eat_line();
                let text = self.text.get(line..self.at).unwrap_or_default().trim_end_matches('\r');
                let is_end = if heredoc.indented { text.trim_start() == heredoc.end } else { text == heredoc.end };
                self.eat("\n");
                if is_end {
                    break;
                }
            }
            self.emit(Kind::Heredoc)?;
        }
        Ok(())
    }
}

/// The word at the start of a text, and how many bytes it has with its quotes.
fn word(text: &str) -> Option<(usize, &str)> {
    if let Some(quote) = text.chars().next().filter(|char| matches!(char, '"' | '\'' | '`')) {
        let inside = text.get(1..)?;
        let end = inside.find([quote, '\n'])?;
        let closed = inside.get(end..)?.starts_with(quote);
        return closed.then_some((end + 2, inside.get(..end)?));
    }
    let end = text.find(|char: char| !(char.is_alphanumeric() || char == '_')).unwrap_or(text.len());
    let is_word = text.starts_with(|char: char| char.is_alphabetic() || char == '_');
    is_word.then_some((end, text.get(..end)?))
}
