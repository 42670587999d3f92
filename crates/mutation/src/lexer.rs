//! What the lexers of all languages share: a place in the text, the tokens so far, and what is open.

use std::collections::VecDeque;
use std::fmt;

use thiserror::Error;

use crate::limits::{MAX_DEPTH, MAX_SOURCE_BYTES, MAX_TOKENS};
use crate::token::{Kind, Token};

mod heredoc;
mod literal;
mod parts;

pub(crate) use heredoc::Heredoc;
pub(crate) use literal::{Holes, Literal};
pub(crate) use parts::Numbers;

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
}

impl Place {
    pub(crate) fn of(text: &str, byte: usize) -> Place {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Place { line, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a text cannot be split into tokens.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LexError {
    /// It is longer than a program may be.
    #[error("split the program into tokens: it has {0} bytes, and may have {MAX_SOURCE_BYTES}")]
    TooLong(usize),
    /// It has more tokens than a program may have.
    #[error("split the program into tokens: it has more than {MAX_TOKENS}")]
    TooManyTokens,
    /// More is open at once than may be.
    #[error("split the program into tokens: more than {MAX_DEPTH} brackets are open at {0}")]
    TooDeep(Place),
    /// A literal, a comment or a bracket has no end.
    #[error("split the program into tokens: {what} that begins at {place} has no end")]
    Unterminated {
        /// Such as `the string`.
        what: &'static str,
        place: Place,
    },
    /// What stands there begins no token.
    #[error("split the program into tokens: unexpected `{}` at {place}", .char.escape_debug())]
    Unexpected { char: char, place: Place },
}

/// Reads what begins at the lexer's place, at least one byte of it.
pub(crate) type ReadToken = fn(&mut Lexer<'_>) -> Result<(), LexError>;

/// Splits a text into tokens.
pub(crate) fn tokens(read_token: ReadToken, text: &str) -> Result<Vec<Token>, LexError> {
    if text.len() > MAX_SOURCE_BYTES {
        return Err(LexError::TooLong(text.len()));
    }
    let mut lexer = Lexer {
        text,
        at: 0,
        start: 0,
        line: 1,
        tokens: Vec::new(),
        open: Vec::new(),
        heredocs: VecDeque::new(),
        last: None,
    };
    if lexer.eat("\u{feff}") {
        lexer.emit(Kind::Space)?;
    }
    while !lexer.is_at_end() {
        read_token(&mut lexer)?;
    }
    match lexer.open.last() {
        Some(opening) => Err(lexer.unterminated(opening.what(), opening.start)),
        None => Ok(lexer.tokens),
    }
}

/// Reads a text from its start.
pub(crate) struct Lexer<'a> {
    text: &'a str,
    /// The byte that is read next.
    at: usize,
    /// Where the token that is being read starts, and its line.
    start: usize,
    line: usize,
    tokens: Vec<Token>,
    open: Vec<Opening>,
    /// Those whose lines follow the next line end.
    heredocs: VecDeque<Heredoc>,
    /// The last token that means something, line ends included.
    last: Option<usize>,
}

/// What is open.
#[derive(Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) scope: Scope,
    /// The index of its token.
    token: usize,
    start: usize,
}

/// What the tokens within something open are.
#[derive(Clone, Copy)]
pub(crate) enum Scope {
    /// Within a bracket, until this one.
    Bracket(char),
    /// Within an expression of a literal, which goes on behind it.
    Literal(Literal),
    /// Within a tag of JSX.
    Tag,
    /// Between the tags of an element of JSX.
    Element,
}

impl Opening {
    fn what(&self) -> &'static str {
        match self.scope {
            Scope::Bracket(_) => "the bracket",
            Scope::Literal(_) => "the expression in the literal",
            Scope::Tag => "the tag",
            Scope::Element => "the element",
        }
    }
}

impl<'a> Lexer<'a> {
    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The text of the token that is being read.
    pub(crate) fn read(&self) -> &'a str {
        self.text.get(self.start..self.at).unwrap_or_default()
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The character after the next one.
    pub(crate) fn peek_second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    /// The character before the token that is being read.
    pub(crate) fn char_before(&self) -> Option<char> {
        self.text.get(..self.start)?.chars().next_back()
    }

    pub(crate) fn is_next(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    pub(crate) fn bump(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        Some(char)
    }

    pub(crate) fn eat(&mut self, text: &str) -> bool {
        let is_next = self.is_next(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    pub(crate) fn eat_while(&mut self, wanted: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|char| !wanted(char)).unwrap_or(rest.len());
    }

    /// Reads up to the end of the line, which is left.
    pub(crate) fn eat_line(&mut self) {
        self.eat_while(|char| char != '\n');
    }

    /// Reads up to and with a text; false where it does not follow.
    pub(crate) fn eat_through(&mut self, end: &str) -> bool {
        let found = self.rest().find(end);
        if let Some(found) = found {
            self.at += found + end.len();
        }
        found.is_some()
    }

    /// Ends the token that is being read, and returns its index.
    pub(crate) fn emit(&mut self, kind: Kind) -> Result<usize, LexError> {
        if self.tokens.len() >= MAX_TOKENS {
            return Err(LexError::TooManyTokens);
        }
        let index = self.tokens.len();
        self.tokens.push(Token { kind, start: self.start, end: self.at, line: self.line, partner: None });
        self.line += self.read().matches('\n').count();
        self.start = self.at;
        if !kind.is_blank() && kind != Kind::Heredoc {
            self.last = Some(index);
        }
        Ok(index)
    }

    /// Notes that what this token begins is open.
    pub(crate) fn enter(&mut self, token: usize, scope: Scope) -> Result<(), LexError> {
        let start = self.tokens.get(token).map_or(self.at, |token| token.start);
        if self.open.len() >= MAX_DEPTH {
            return Err(LexError::TooDeep(Place::of(self.text, start)));
        }
        self.open.push(Opening { scope, token, start });
        Ok(())
    }

    /// What is open innermost.
    pub(crate) fn scope(&self) -> Option<Scope> {
        self.open.last().map(|opening| opening.scope)
    }

    /// The token that opened what is open innermost.
    pub(crate) fn innermost(&self) -> Option<usize> {
        self.open.last().map(|opening| opening.token)
    }

    /// Closes what is open innermost, and pairs its token with this one.
    pub(crate) fn leave(&mut self, token: usize) {
        if let Some(opening) = self.open.pop() {
            self.pair(opening.token, token);
        }
    }

    fn pair(&mut self, first: usize, last: usize) {
        for (one, other) in [(first, last), (last, first)] {
            if let Some(token) = self.tokens.get_mut(one) {
                token.partner = Some(other);
            }
        }
    }

    /// The last token that means something; line ends do, blanks and comments do not.
    pub(crate) fn last(&self) -> Option<(Kind, &'a str)> {
        self.last.and_then(|index| self.token(index))
    }

    /// The last token that is neither blank nor a line end.
    pub(crate) fn last_word(&self) -> Option<usize> {
        let last = self.last?;
        match self.tokens.get(last)?.kind {
            // Line ends never follow each other.
            Kind::Newline => self.word_before(last),
            _ => Some(last),
        }
    }

    /// The last token before this one that is neither blank nor a line end.
    pub(crate) fn word_before(&self, index: usize) -> Option<usize> {
        let before = self.tokens.get(..index)?;
        before.iter().rposition(|token| !token.kind.is_blank() && !matches!(token.kind, Kind::Newline | Kind::Heredoc))
    }

    pub(crate) fn token(&self, index: usize) -> Option<(Kind, &'a str)> {
        let token = self.tokens.get(index)?;
        Some((token.kind, self.text.get(token.span())?))
    }

    pub(crate) fn partner(&self, index: usize) -> Option<usize> {
        self.tokens.get(index)?.partner
    }

    pub(crate) fn unterminated(&self, what: &'static str, start: usize) -> LexError {
        LexError::Unterminated { what, place: Place::of(self.text, start) }
    }

    /// An error of the token that is being read, which has no end.
    pub(crate) fn unexpected_end(&self, what: &'static str) -> LexError {
        self.unterminated(what, self.start)
    }

    /// An error at the next character.
    pub(crate) fn unexpected(&self) -> LexError {
        let char = self.peek().unwrap_or(char::REPLACEMENT_CHARACTER);
        LexError::Unexpected { char, place: Place::of(self.text, self.at) }
    }
}
