//! String and bytes literals: `'…'`, `"…"`, three of either, raw with `r`, bytes with `b`.

use std::sync::Arc;

use super::{Lexer, Token};
use crate::error::{Fault, Located};

impl Lexer<'_> {
    /// The literal that starts here, if one does.
    pub(super) fn string_literal(&mut self) -> Result<Option<Token>, Located> {
        let Some(prefix) = Prefix::read(self.rest()) else {
            return Ok(None);
        };
        let start = self.at;
        self.at += prefix.length;
        let mut content = Content { bytes: Vec::new(), prefix };
        loop {
            let rest = self.rest();
            if rest.starts_with(prefix.quote) {
                self.at += prefix.quote.len();
                return Ok(Some(content.finish()));
            }
            match rest.chars().next() {
                None => return Err(self.literal_fault(start, "the string does not end")),
                Some('\n' | '\r') if prefix.quote.len() == 1 => {
                    return Err(self.literal_fault(start, "the string does not end on its line"));
                }
                Some('\\') if !prefix.raw => self.escape(&mut content)?,
                Some(character) => {
                    content.push(character);
                    self.at += character.len_utf8();
                }
            }
        }
    }

    fn escape(&mut self, content: &mut Content) -> Result<(), Located> {
        let start = self.at;
        self.at += 1;
        let Some(letter) = self.rest().chars().next() else {
            return Err(self.literal_fault(start, "the string does not end"));
        };
        let simple = match letter {
            'a' => Some('\u{7}'),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            '\\' | '?' | '"' | '\'' | '`' => Some(letter),
            _ => None,
        };
        if let Some(character) = simple {
            content.push(character);
            self.at += 1;
            return Ok(());
        }
        let (skip, digits, radix) = match letter {
            'x' | 'X' => (1, 2, 16),
            'u' if !content.prefix.bytes => (1, 4, 16),
            'U' if !content.prefix.bytes => (1, 8, 16),
            '0'..='3' => (0, 3, 8),
            _ => return Err(self.unknown_escape(start, letter)),
        };
        self.at += skip;
        let written = self.take(digits);
        // `from_str_radix` accepts a sign.
        let plain = written.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u32::from_str_radix(written, radix).ok().filter(|_| plain);
        let pushed = number.is_some_and(|number| content.push_code(number));
        // `take` gives nothing at the end of the text or inside a character, so the length is checked too.
        if !pushed || self.at - start != 1 + skip + digits {
            return Err(self.unknown_escape(start, letter));
        }
        Ok(())
    }

    fn unknown_escape(&mut self, start: usize, letter: char) -> Located {
        self.at = start + 1 + letter.len_utf8();
        Fault::UnknownEscape.at(self.span_from(start))
    }
}

#[derive(Clone, Copy)]
struct Prefix {
    raw: bool,
    bytes: bool,
    quote: &'static str,
    length: usize,
}

impl Prefix {
    fn read(rest: &str) -> Option<Self> {
        let letters = rest.bytes().take(3).position(|byte| matches!(byte, b'\'' | b'"'))?;
        let (prefix, quoted) = rest.split_at_checked(letters)?;
        let (raw, bytes) = match prefix.to_ascii_lowercase().as_str() {
            "" => (false, false),
            "r" => (true, false),
            "b" => (false, true),
            "br" | "rb" => (true, true),
            _ => return None,
        };
        // Three quotes before one: otherwise `'''` would be an empty text and the start of another.
        let quote = ["'''", "\"\"\"", "'", "\""].into_iter().find(|quote| quoted.starts_with(quote))?;
        let length = letters + quote.len();
        Some(Self { raw, bytes, quote, length })
    }
}

struct Content {
    bytes: Vec<u8>,
    prefix: Prefix,
}

impl Content {
    fn push(&mut self, character: char) {
        let mut buffer = [0; 4];
        self.bytes.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
    }

    /// A numeric escape is a byte among bytes, a code point in text.
    fn push_code(&mut self, number: u32) -> bool {
        if self.prefix.bytes {
            return u8::try_from(number).map(|byte| self.bytes.push(byte)).is_ok();
        }
        char::from_u32(number).map(|character| self.push(character)).is_some()
    }

    fn finish(self) -> Token {
        // Escapes of a text are code points, so only bytes can be invalid UTF-8.
        match String::from_utf8(self.bytes) {
            Ok(text) if !self.prefix.bytes => Token::String(Arc::from(text)),
            Ok(text) => Token::Bytes(Arc::from(text.into_bytes())),
            Err(error) => Token::Bytes(Arc::from(error.into_bytes())),
        }
    }
}
