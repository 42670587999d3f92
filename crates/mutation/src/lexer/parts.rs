//! Tokens that several languages write alike.

use super::{LexError, Lexer, Scope};
use crate::token::Kind;

/// How a language writes numbers.
#[derive(Clone, Copy)]
pub(crate) struct Numbers {
    /// Whether digits are needed on both sides of a point, as in Ruby, where `1..2` is a range.
    pub(crate) digits_around_point: bool,
    /// Letters that may follow the digits.
    pub(crate) suffixes: &'static [char],
}

impl Lexer<'_> {
    /// Reads blanks, line ends, and backslashes that continue a line. `ends` says whether a line end outside of brackets
    /// ends a statement here.
    pub(crate) fn space(&mut self, ends: bool) -> Result<bool, LexError> {
        if self.eat("\\\n") || self.eat("\\\r\n") {
            return self.emit(Kind::Space).map(|_| true);
        }
        let Some(char) = self.peek().filter(|char| char.is_whitespace() || *char == '\u{feff}') else {
            return Ok(false);
        };
        if char != '\n' {
            self.eat_while(|char| char != '\n' && (char.is_whitespace() || char == '\u{feff}'));
            return self.emit(Kind::Space).map(|_| true);
        }
        self.bump();
        let follows = self.last().is_some_and(|(kind, _)| kind != Kind::Newline);
        self.emit(if ends && follows { Kind::Newline } else { Kind::Space })?;
        self.heredoc_lines()?;
        Ok(true)
    }

    /// Reads a comment that ends with its line.
    pub(crate) fn line_comment(&mut self, start: &str) -> Result<bool, LexError> {
        if !self.is_next(start) {
            return Ok(false);
        }
        self.eat_line();
        self.emit(Kind::Comment).map(|_| true)
    }

    /// Reads a name of characters that are neither blank nor ASCII punctuation, and of these marks.
    pub(crate) fn name(&mut self, marks: &[char]) -> Result<bool, LexError> {
        let part = |char: char| is_name_part(char) || marks.contains(&char);
        if !self.peek().is_some_and(|char| part(char) && !char.is_ascii_digit()) {
            return Ok(false);
        }
        self.eat_while(part);
        self.emit(Kind::Name).map(|_| true)
    }

    /// Reads a number.
    pub(crate) fn number(&mut self, numbers: Numbers) -> Result<bool, LexError> {
        let digit = |char: Option<char>| char.is_some_and(|char| char.is_ascii_digit());
        let point_first = !numbers.digits_around_point && self.peek() == Some('.') && digit(self.peek_second());
        if !digit(self.peek()) && !point_first {
            return Ok(false);
        }
        let based = self.peek() == Some('0') && self.peek_second().is_some_and(|char| "xXoObB".contains(char));
        if based {
            self.eat_while(|char| char.is_ascii_alphanumeric() || char == '_');
        } else {
            self.digits();
            let point = self.peek() == Some('.') && (!numbers.digits_around_point || digit(self.peek_second()));
            if point {
                self.bump();
                self.digits();
            }
            self.exponent();
        }
        self.eat_while(|char| numbers.suffixes.contains(&char));
        self.emit(Kind::Number).map(|_| true)
    }

    fn digits(&mut self) {
        self.eat_while(|char| char.is_ascii_digit() || char == '_');
    }

    fn exponent(&mut self) {
        let mut after = self.rest().chars().skip_while(|char| matches!(char, 'e' | 'E'));
        let signed = after.next().map(|first| if matches!(first, '+' | '-') { after.next() } else { Some(first) });
        let is_exponent =
            matches!(self.peek(), Some('e' | 'E')) && signed.flatten().is_some_and(|char| char.is_ascii_digit());
        if is_exponent {
            self.bump();
            self.eat_while(|char| matches!(char, '+' | '-'));
            self.digits();
        }
    }

    /// Reads a bracket. One that closes nothing that is open is an error.
    pub(crate) fn bracket(&mut self) -> Result<bool, LexError> {
        let close = match self.peek() {
            Some('(') => ')',
            Some('[') => ']',
            Some('{') => '}',
            Some(')' | ']' | '}') => return self.close().map(|()| true),
            _ => return Ok(false),
        };
        self.bump();
        let token = self.emit(Kind::Open)?;
        self.enter(token, Scope::Bracket(close))?;
        Ok(true)
    }

    fn close(&mut self) -> Result<(), LexError> {
        match self.scope() {
            Some(Scope::Bracket(close)) if self.peek() == Some(close) => {
                self.bump();
                let token = self.emit(Kind::Close)?;
                self.leave(token);
                Ok(())
            }
            Some(Scope::Literal(literal)) if self.peek() == literal.hole_end() => self.resume(literal),
            _ => Err(self.unexpected()),
        }
    }

    /// Reads the first of these operators that follows, so longer ones come first.
    pub(crate) fn operator(&mut self, operators: &[&str]) -> Result<bool, LexError> {
        if !operators.iter().any(|operator| self.eat(operator)) {
            return Ok(false);
        }
        self.emit(Kind::Operator).map(|_| true)
    }
}

pub(crate) fn is_name_part(char: char) -> bool {
    char == '_' || char.is_ascii_alphanumeric() || (!char.is_ascii() && !char.is_whitespace() && char != '\u{feff}')
}
