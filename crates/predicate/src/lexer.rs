//! Source text to tokens.

use std::sync::Arc;

mod literal;

use crate::decimal::Decimal;
use crate::error::{Fault, Located, Span, shown};

/// Words of CEL that cannot name a fact.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

// The first one that the text begins with is taken, so longer ones come first. No expression has `=`: it is a token so
// that the parser can say that `==` is meant.
const OPERATORS: [&str; 25] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", "(", ")", "[", "]", "{", "}",
    ".", ",", "=",
];

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// A name, or one of the words `true`, `false`, `null` and `in`.
    Word(Arc<str>),
    /// A name between backticks.
    Quoted(Arc<str>),
    /// The magnitude of an integer; a minus sign before it is another token.
    Int(u64),
    UInt(u64),
    Decimal(Decimal),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    Operator(&'static str),
    End,
}

impl Token {
    /// The token as an error message shows it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Word(name) | Self::Quoted(name) => format!("`{}`", shown(name)),
            Self::Int(_) | Self::UInt(_) | Self::Decimal(_) => "a number".to_owned(),
            Self::String(_) => "a string".to_owned(),
            Self::Bytes(_) => "bytes".to_owned(),
            Self::Operator(text) => format!("`{text}`"),
            Self::End => "the end of the predicate".to_owned(),
        }
    }
}

pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Splits the source into tokens, the last of which is [`Token::End`].
pub(crate) fn tokens(source: &str) -> Result<Vec<(Token, Span)>, Located> {
    let mut lexer = Lexer { source, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_space();
        let start = lexer.at;
        let token = lexer.token()?;
        let end = token == Token::End;
        tokens.push((token, lexer.span_from(start)));
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn token(&mut self) -> Result<Token, Located> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok(Token::End);
        };
        // Before words, since `r'…'` and `b'…'` begin with a letter.
        if let Some(literal) = self.string_literal()? {
            return Ok(literal);
        }
        if first == '_' || first.is_ascii_alphabetic() {
            return Ok(Token::Word(Arc::from(self.take_while(is_word))));
        }
        let second_is_digit = rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        if first.is_ascii_digit() || (first == '.' && second_is_digit) {
            return self.number();
        }
        if first == '`' {
            return self.quoted_name();
        }
        match OPERATORS.iter().find(|text| rest.starts_with(**text)) {
            Some(text) => {
                self.at += text.len();
                Ok(Token::Operator(text))
            }
            None => {
                let span = Span { start: self.at, end: self.at + first.len_utf8() };
                let fault = Fault::Syntax {
                    expected: "an expression".to_owned(),
                    found: format!("`{}`", first.escape_default()),
                };
                Err(fault.at(span))
            }
        }
    }

    fn skip_space(&mut self) {
        loop {
            // The white space of CEL. Other Unicode space, which looks the same, is an error.
            self.take_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}'));
            if !self.rest().starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn number(&mut self) -> Result<Token, Located> {
        let start = self.at;
        if let Some(digits) = self.rest().strip_prefix("0x").or(self.rest().strip_prefix("0X")) {
            self.at += 2;
            let length = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
            let digits = self.take(length);
            let value = u64::from_str_radix(digits, 16);
            return self.finish_integer(start, value.ok());
        }
        let whole = self.take_while(|c| c.is_ascii_digit());
        let fraction = self.take_fraction();
        let exponent = self.take_exponent();
        if !fraction && !exponent {
            return self.finish_integer(start, whole.parse().ok());
        }
        let span = self.span_from(start);
        let text = self.source.get(start..self.at).unwrap_or_default();
        self.no_word_follows(start)?;
        text.parse()
            .map(Token::Decimal)
            .map_err(|error| Fault::Literal(format!("invalid number `{}`: {error}", shown(text))).at(span))
    }

    fn finish_integer(&mut self, start: usize, value: Option<u64>) -> Result<Token, Located> {
        let unsigned = self.rest().starts_with(['u', 'U']);
        self.at += usize::from(unsigned);
        self.no_word_follows(start)?;
        match value {
            Some(value) if unsigned => Ok(Token::UInt(value)),
            Some(value) => Ok(Token::Int(value)),
            None => Err(self.literal_fault(start, "the integer does not fit 64 bits")),
        }
    }

    /// `1.` is not a number: the dot starts a field or a method.
    fn take_fraction(&mut self) -> bool {
        let digits = self.rest().strip_prefix('.');
        let present = digits.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if present {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        present
    }

    fn take_exponent(&mut self) -> bool {
        let Some(rest) = self.rest().strip_prefix(['e', 'E']) else {
            return false;
        };
        let sign = usize::from(rest.starts_with(['+', '-']));
        let digits = rest.get(sign..).unwrap_or_default();
        let present = digits.starts_with(|c: char| c.is_ascii_digit());
        if present {
            self.at += 1 + sign;
            self.take_while(|c| c.is_ascii_digit());
        }
        present
    }

    /// Refuses `12abc`, which is probably a typing error and not a number followed by a name.
    fn no_word_follows(&self, start: usize) -> Result<(), Located> {
        if self.rest().starts_with(is_word) {
            return Err(self.literal_fault(start, "a letter follows the number"));
        }
        Ok(())
    }

    fn quoted_name(&mut self) -> Result<Token, Located> {
        let start = self.at;
        self.at += 1;
        let name = self.take_while(|c| c != '`' && c != '\n');
        if name.is_empty() || !self.rest().starts_with('`') {
            return Err(self.literal_fault(start, "the name between backticks does not end"));
        }
        self.at += 1;
        Ok(Token::Quoted(Arc::from(name)))
    }

    fn literal_fault(&self, start: usize, message: &str) -> Located {
        Fault::Literal(message.to_owned()).at(self.span_from(start))
    }

    fn span_from(&self, start: usize) -> Span {
        Span { start, end: self.at }
    }

    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        self.take(rest.find(|c| !accept(c)).unwrap_or(rest.len()))
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let taken = self.rest().get(..bytes).unwrap_or_default();
        self.at += taken.len();
        taken
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}
