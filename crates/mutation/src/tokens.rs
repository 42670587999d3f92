//! The tokens of a text, and what stands next to what.

use std::ops::Range;

use proofmark_checks::Language;

use crate::lexer::Place;
use crate::token::{Kind, Token};

/// A text as tokens, which cover it without gaps.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    language: Language,
    text: &'a str,
    tokens: Vec<Token>,
}

/// A line of Python's grammar, which may have several lines of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicalLine {
    /// Its tokens, from the first that is not blank up to its line end, which is left out.
    pub tokens: Range<usize>,
    /// The width of its indentation, where a tab ends at the next multiple of 8.
    pub indent: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(language: Language, text: &'a str, tokens: Vec<Token>) -> Tokens<'a> {
        Tokens { language, text, tokens }
    }

    /// The language as which the text was read.
    pub fn language(&self) -> Language {
        self.language
    }

    /// The whole text.
    pub fn source(&self) -> &'a str {
        self.text
    }

    /// All tokens, in the order of the text.
    pub fn all(&self) -> &[Token] {
        &self.tokens
    }

    /// The token of this index.
    pub fn get(&self, index: usize) -> Option<&Token> {
        self.tokens.get(index)
    }

    /// The text of the token of this index; empty where there is none.
    pub fn text(&self, index: usize) -> &'a str {
        self.get(index).and_then(|token| self.text.get(token.span())).unwrap_or_default()
    }

    /// The text of several tokens, with what stands between them.
    pub fn text_of(&self, range: Range<usize>) -> &'a str {
        let first = self.get(range.start);
        let last = range.end.checked_sub(1).and_then(|last| self.get(last));
        let span = first.zip(last).map(|(first, last)| first.start..last.end);
        span.and_then(|span| self.text.get(span)).unwrap_or_default()
    }

    /// The first token at or after this index that is not blank. Line ends are not blank.
    pub fn at_or_after(&self, index: usize) -> Option<usize> {
        let rest = self.tokens.get(index..)?;
        rest.iter().position(|token| !token.kind.is_blank()).map(|skipped| index + skipped)
    }

    /// The first token after this one that is not blank.
    pub fn after(&self, index: usize) -> Option<usize> {
        self.at_or_after(index + 1)
    }

    /// The last token before this one that is not blank.
    pub fn before(&self, index: usize) -> Option<usize> {
        self.tokens.get(..index)?.iter().rposition(|token| !token.kind.is_blank())
    }

    /// What stands between a bracket and its partner, whichever of the two is named.
    pub fn inside(&self, bracket: usize) -> Option<Range<usize>> {
        let partner = self.get(bracket)?.partner?;
        Some(bracket.min(partner) + 1..bracket.max(partner))
    }

    /// Where a byte of the text is.
    pub fn place(&self, byte: usize) -> Place {
        Place::of(self.text, byte)
    }

    /// The logical lines, as Python has them; of other languages, the lines that [`Kind::Newline`] ends.
    pub fn logical_lines(&self) -> Vec<LogicalLine> {
        let mut lines = Vec::new();
        let mut next = 0;
        while let Some(start) = self.at_or_after(next) {
            let rest = self.tokens.get(start..).unwrap_or_default();
            let length = rest.iter().position(|token| token.kind == Kind::Newline).unwrap_or(rest.len());
            if length > 0 {
                lines.push(LogicalLine { tokens: start..start + length, indent: self.indent(start) });
            }
            next = start + length + 1;
        }
        lines
    }

    fn indent(&self, index: usize) -> usize {
        let before = self.get(index).and_then(|token| self.text.get(..token.start)).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        line.chars().fold(0, |width, char| match char {
            '\t' => (width / 8 + 1) * 8,
            // As CPython counts it.
            '\x0c' => 0,
            _ => width + 1,
        })
    }
}
