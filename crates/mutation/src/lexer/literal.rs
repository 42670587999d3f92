//! Literals in quotes, which may have expressions inside.

use super::{LexError, Lexer, Scope};
use crate::token::Kind;

/// How a literal goes on and ends.
#[derive(Clone, Copy)]
pub(crate) struct Literal {
    /// What it becomes if it has no expression.
    pub(crate) kind: Kind,
    pub(crate) close: char,
    /// How many of `close` end it: 1 or 3.
    pub(crate) count: usize,
    /// The bracket that has to be closed inside, as in `%q(a (b) c)`.
    pub(crate) nested: Option<char>,
    /// Whether a backslash takes the next character with it.
    pub(crate) escapes: bool,
    pub(crate) holes: Holes,
    /// Whether it may have several lines.
    pub(crate) lines: bool,
    /// How many of `nested` are open.
    pub(crate) depth: usize,
    /// How many format specifications of Python are open, each within an expression of the one before.
    pub(crate) specs: usize,
}

/// How expressions stand in a literal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holes {
    None,
    /// `{x}`, with `{{` for the brace itself and `{x:format}`.
    Python,
    /// `${x}`
    Dollar,
    /// `#{x}`
    Hash,
    /// `$(x)`
    Shell,
}

impl Literal {
    /// A string that ends with this quote on its line, and takes backslashes.
    pub(crate) fn quoted(close: char) -> Literal {
        Literal {
            kind: Kind::String,
            close,
            count: 1,
            nested: None,
            escapes: true,
            holes: Holes::None,
            lines: false,
            depth: 0,
            specs: 0,
        }
    }

    /// What ends an expression inside.
    pub(super) fn hole_end(&self) -> Option<char> {
        match self.holes {
            Holes::None => None,
            Holes::Python | Holes::Dollar | Holes::Hash => Some('}'),
            Holes::Shell => Some(')'),
        }
    }

    fn hole_start(&self) -> Option<&'static str> {
        match self.holes {
            Holes::None => None,
            Holes::Python => Some("{"),
            Holes::Dollar => Some("${"),
            Holes::Hash => Some("#{"),
            Holes::Shell => Some("$("),
        }
    }
}

impl Lexer<'_> {
    /// Reads a literal behind its opening mark, up to its first expression or its end.
    pub(crate) fn literal(&mut self, literal: Literal) -> Result<(), LexError> {
        self.go_on(literal, None)
    }

    /// Goes on with a literal where one of its expressions ends.
    pub(crate) fn resume(&mut self, literal: Literal) -> Result<(), LexError> {
        let head = self.open.pop().map(|opening| opening.token);
        self.bump();
        self.go_on(literal, head)
    }

    /// Goes on with a literal of Python where the expression ends and its format specification begins.
    pub(crate) fn resume_with_spec(&mut self, literal: Literal) -> Result<(), LexError> {
        self.resume(Literal { specs: literal.specs + 1, ..literal })
    }

    fn go_on(&mut self, mut literal: Literal, head: Option<usize>) -> Result<(), LexError> {
        loop {
            let Some(next) = self.peek() else { return Err(self.unterminated("the literal", self.start)) };
            if literal.escapes && next == '\\' {
                self.escape(literal);
            } else if self.is_end(literal) {
                return self.end(literal, head);
            } else if literal.hole_start().is_some_and(|start| self.is_next(start)) && !self.is_brace(literal) {
                return self.hole(literal, head);
            } else if next == '\n' && !literal.lines {
                return Err(self.unterminated("the literal", self.start));
            } else if literal.holes == Holes::Python && matches!(next, '{' | '}') {
                self.brace(&mut literal)?;
            } else {
                literal.depth += usize::from(literal.nested == Some(next));
                // The end was looked for before, so this one closes a bracket inside.
                literal.depth -= usize::from(literal.depth > 0 && next == literal.close);
                self.bump();
            }
        }
    }

    /// Whether two braces stand for one, outside of a format specification.
    fn is_brace(&self, literal: Literal) -> bool {
        literal.holes == Holes::Python && literal.specs == 0 && self.is_next("{{")
    }

    fn brace(&mut self, literal: &mut Literal) -> Result<(), LexError> {
        if literal.specs > 0 && self.eat("}") {
            literal.specs -= 1;
            return Ok(());
        }
        if self.eat("{{") || self.eat("}}") { Ok(()) } else { Err(self.unexpected()) }
    }

    fn escape(&mut self, literal: Literal) {
        self.bump();
        let python = literal.holes == Holes::Python;
        if python && matches!(self.peek(), Some('{' | '}')) {
            return;
        }
        if python && self.is_next("N{") {
            let _ = self.eat_through("}");
            return;
        }
        if !self.eat("\r\n") {
            self.bump();
        }
    }

    fn is_end(&self, literal: Literal) -> bool {
        // A closing bracket that a bracket inside has opened ends nothing.
        literal.depth == 0
            && self.rest().chars().take(literal.count).filter(|char| *char == literal.close).count() == literal.count
    }

    fn end(&mut self, literal: Literal, head: Option<usize>) -> Result<(), LexError> {
        self.at += literal.count * literal.close.len_utf8();
        if literal.kind == Kind::Regex {
            self.eat_while(|char| char.is_ascii_alphabetic());
        }
        match head {
            Some(head) => {
                let tail = self.emit(Kind::Tail)?;
                self.pair(head, tail);
            }
            None => {
                self.emit(literal.kind)?;
            }
        }
        Ok(())
    }

    fn hole(&mut self, literal: Literal, head: Option<usize>) -> Result<(), LexError> {
        self.at += literal.hole_start().map_or(0, str::len);
        let token = self.emit(if head.is_some() { Kind::Middle } else { Kind::Head })?;
        self.enter(head.unwrap_or(token), Scope::Literal(literal))
    }
}
