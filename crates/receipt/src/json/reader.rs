use super::number::{self, Number, NumberError};
use super::{DEPTH_CEILING, Json, JsonError, JsonErrorKind as Kind, Limits, Object};
use crate::shown;

/// The first capacity of the list of members: few documents have more open at once, and allocations of this size are
/// cheap.
const FIRST_CAPACITY: usize = 16;

/// Objects up to this size compare each new name with those before it; of larger ones the names are sorted at the end.
const FEW_MEMBERS: usize = 16;

/// Reads one document, and says whether there is white space beside its tokens; `starts` gets the byte where each value
/// starts. All of it is checked for UTF-8 first, so that everything after works on characters.
pub(super) fn read(bytes: &[u8], limits: Limits, starts: Option<&mut Vec<usize>>) -> Result<(Json, bool), JsonError> {
    let locate = |Refusal(kind, offset)| JsonError::locate(bytes, kind, offset);
    if bytes.len() > limits.max_bytes {
        return Err(locate(Refusal(Kind::TooLarge(limits.max_bytes), limits.max_bytes)));
    }
    // RFC 8259, section 8.1, lets a reader ignore the mark or refuse it, so not every reader would accept the document.
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return Err(locate(Refusal(Kind::ByteOrderMark, 0)));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| locate(Refusal(Kind::InvalidUtf8, error.valid_up_to())))?;
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
        // The reader recurses: a deeper document could overflow the stack, which ends the process.
        max_depth: limits.max_depth.min(DEPTH_CEILING),
        nodes: 0,
        max_nodes: limits.max_nodes,
        key_offsets: Vec::with_capacity(FIRST_CAPACITY),
        pending: Vec::with_capacity(FIRST_CAPACITY),
        starts,
        spaced: false,
    };
    let json = reader.document().map_err(locate)?;
    Ok((json, reader.spaced))
}

struct Refusal(Kind, usize);

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    max_depth: usize,
    nodes: usize,
    max_nodes: usize,
    /// Where the names of the objects being read start, the innermost object's last.
    key_offsets: Vec<usize>,
    /// The members of the objects being read, the innermost object's last: an object's own list is made at its end,
    /// in its final size.
    pending: Vec<(String, Json)>,
    starts: Option<&'a mut Vec<usize>>,
    spaced: bool,
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Json, Refusal> {
        self.skip_space();
        let value = self.value()?;
        self.skip_space();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(Refusal(Kind::TrailingData, self.at)),
        }
    }

    fn value(&mut self) -> Result<Json, Refusal> {
        if let Some(starts) = &mut self.starts {
            starts.push(self.at);
        }
        if self.nodes == self.max_nodes {
            return Err(Refusal(Kind::TooManyValues(self.max_nodes), self.at));
        }
        self.nodes += 1;
        match self.peek() {
            Some(b'"') => self.string().map(Json::String),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.literal(),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Json, Refusal>) -> Result<Json, Refusal> {
        if self.depth == self.max_depth {
            return Err(Refusal(Kind::TooDeep(self.max_depth), self.at));
        }
        self.depth += 1;
        self.at += 1;
        self.skip_space();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Json, Refusal> {
        let mut items = Vec::new();
        if self.eat(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value()?);
            if !self.comma_or(b']', "`,` or `]`")? {
                return Ok(Json::Array(items));
            }
        }
    }

    fn object(&mut self) -> Result<Json, Refusal> {
        if self.eat(b'}') {
            return Ok(Json::Object(Object::new()));
        }
        let first = self.pending.len();
        let first_offset = self.key_offsets.len();
        loop {
            self.member(first)?;
            if !self.comma_or(b'}', "`,` or `}`")? {
                break;
            }
        }
        let members: Vec<_> = self.pending.drain(first..).collect();
        // Sorting keeps an object of any size from taking quadratic time. Smaller ones were compared in `member`.
        if members.len() > FEW_MEMBERS {
            self.refuse_duplicates(&members, first_offset)?;
        }
        self.key_offsets.truncate(first_offset);
        Ok(Json::Object(Object::from_unique(members)))
    }

    fn member(&mut self, first: usize) -> Result<(), Refusal> {
        let offset = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a key in double quotes"));
        }
        let name = self.string()?;
        // Names are compared unescaped: `"a"` and `"\u0061"` are one name.
        let before = self.pending.get(first..).unwrap_or_default();
        if before.len() < FEW_MEMBERS && before.iter().any(|(other, _)| *other == name) {
            return Err(Refusal(Kind::DuplicateKey(name), offset));
        }
        self.key_offsets.push(offset);
        self.skip_space();
        if !self.eat(b':') {
            return Err(self.unexpected("`:`"));
        }
        self.skip_space();
        let value = self.value()?;
        self.pending.push((name, value));
        Ok(())
    }

    fn refuse_duplicates(&self, members: &[(String, Json)], first_offset: usize) -> Result<(), Refusal> {
        let offsets = self.key_offsets.iter().skip(first_offset);
        let mut names: Vec<(&str, usize)> =
            members.iter().zip(offsets).map(|((name, _), offset)| (name.as_str(), *offset)).collect();
        names.sort_unstable();
        let repeated = names
            .windows(2)
            .filter_map(|pair| match pair {
                [(first, _), (second, offset)] if first == second => Some((*offset, *second)),
                _ => None,
            })
            // The first duplicate in the text, not in the order of the names.
            .min();
        match repeated {
            Some((offset, name)) => Err(Refusal(Kind::DuplicateKey(name.to_owned()), offset)),
            None => Ok(()),
        }
    }

    /// Whether another item follows.
    fn comma_or(&mut self, close: u8, expected: &'static str) -> Result<bool, Refusal> {
        self.skip_space();
        if self.eat(close) {
            return Ok(false);
        }
        let comma = self.at;
        if !self.eat(b',') {
            return Err(self.unexpected(expected));
        }
        self.skip_space();
        match self.peek() {
            Some(byte) if byte == close => Err(Refusal(Kind::TrailingComma, comma)),
            _ => Ok(true),
        }
    }

    fn number(&mut self) -> Result<Json, Refusal> {
        let start = self.at;
        match number::scan(self.rest()) {
            Ok(length) => self.at += length,
            Err(NumberError::LeadingZero(within)) => {
                return Err(Refusal(Kind::LeadingZero, start + within));
            }
            // A document that was cut off is told apart from an invalid one: the help then asks whether it is complete.
            Err(NumberError::DigitMissing(within)) if start + within == self.text.len() => {
                return Err(Refusal(Kind::UnexpectedEnd, self.text.len()));
            }
            Err(NumberError::DigitMissing(within)) => {
                return Err(Refusal(Kind::InvalidNumber, start + within));
            }
        }
        Ok(Json::Number(Number::from_token(self.slice(start))))
    }

    fn literal(&mut self) -> Result<Json, Refusal> {
        let start = self.at;
        // The whole word, so that `nullable` is an invalid literal and not `null` with more text after it.
        let length = self.rest().iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        self.at += length;
        match self.slice(start) {
            "null" => Ok(Json::Null),
            "true" => Ok(Json::Bool(true)),
            "false" => Ok(Json::Bool(false)),
            cut if self.at == self.text.len() && ["null", "true", "false"].iter().any(|word| word.starts_with(cut)) => {
                Err(Refusal(Kind::UnexpectedEnd, self.at))
            }
            word => Err(Refusal(Kind::InvalidLiteral(shown(word)), start)),
        }
    }

    fn string(&mut self) -> Result<String, Refusal> {
        self.at += 1;
        let start = self.at;
        self.skip_plain();
        // Most strings have no escape: they are copied once, in their final size.
        if self.peek() == Some(b'"') {
            let plain = self.slice(start).to_owned();
            self.at += 1;
            return Ok(plain);
        }
        let mut text = self.slice(start).to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(byte) => return Err(Refusal(Kind::ControlCharacter(byte), self.at)),
                None => return Err(Refusal(Kind::UnexpectedEnd, self.at)),
            }
            let plain = self.at;
            self.skip_plain();
            text.push_str(self.slice(plain));
        }
    }

    fn skip_plain(&mut self) {
        self.at += plain_length(self.rest());
    }

    fn escape(&mut self) -> Result<char, Refusal> {
        let start = self.at;
        let Some(letter) = self.rest().get(1) else {
            return Err(Refusal(Kind::UnexpectedEnd, self.text.len()));
        };
        self.at += 2;
        match letter {
            b'"' => Ok('"'),
            b'\\' => Ok('\\'),
            b'/' => Ok('/'),
            b'b' => Ok('\u{8}'),
            b'f' => Ok('\u{c}'),
            b'n' => Ok('\n'),
            b'r' => Ok('\r'),
            b't' => Ok('\t'),
            b'u' => self.unicode_escape(start),
            _ => Err(Refusal(Kind::InvalidEscape, start)),
        }
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, Refusal> {
        let lone = || Refusal(Kind::LoneSurrogate, start);
        let unit = self.four_hex(start)?;
        // Not the first half of a pair. `from_u32` refuses a second half without a first one.
        if !(0xD800..0xDC00).contains(&unit) {
            return char::from_u32(unit).ok_or_else(lone);
        }
        if !self.rest().starts_with(b"\\u") {
            return Err(lone());
        }
        let second = self.at;
        self.at += 2;
        let low = self.four_hex(second)?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(lone());
        }
        char::from_u32(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)).ok_or_else(lone)
    }

    fn four_hex(&mut self, escape: usize) -> Result<u32, Refusal> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(byte) = self.peek() else {
                return Err(Refusal(Kind::UnexpectedEnd, self.at));
            };
            let digit = char::from(byte).to_digit(16);
            unit = unit * 16 + digit.ok_or(Refusal(Kind::InvalidEscape, escape))?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn unexpected(&self, expected: &'static str) -> Refusal {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => Refusal(Kind::UnexpectedCharacter { found, expected }, self.at),
            None => Refusal(Kind::UnexpectedEnd, self.at),
        }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
            self.spaced = true;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// From `start` to here; both lie beside ASCII characters, so the slice always exists.
    fn slice(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }
}

/// How much memory a value takes once it is read, beside its text, in bytes: its own and what the allocator adds.
const NODE_BYTES: usize = 100;

/// About how much memory a text takes once it is read as JSON, in bytes, before it is read: each value but the first stands behind
/// one of `[`, `{` and `,`.
#[must_use]
pub fn read_size(text: &[u8]) -> usize {
    let (mut nodes, mut at) = (1_usize, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at += string_length(text.get(at..).unwrap_or_default()),
            b'[' | b'{' | b',' => {
                nodes += 1;
                at += 1;
            }
            _ => at += 1,
        }
    }
    text.len().saturating_add(nodes.saturating_mul(NODE_BYTES))
}

/// The length of the string that a text begins with, quotes included; of one that does not end, that of the text.
#[must_use]
pub fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    loop {
        at += plain_length(text.get(at..).unwrap_or_default());
        match text.get(at) {
            Some(b'"') => return at + 1,
            // What follows it belongs to the string, also where that is a quote.
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return text.len(),
        }
    }
}

/// How many bytes come before the first `"`, `\`, or control character: what a string has as it is. Bytes suffice: in UTF-8
/// these never are part of a longer character.
fn plain_length(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let found = not_plain(u64::from_le_bytes(*word));
        if found != 0 {
            return index * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count();
    words.len() * 8 + plain
}

/// Looks at eight bytes at once: the lowest bit that is set is the highest bit of the first byte that is not plain.
fn not_plain(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    // A byte below the limit borrows from its highest bit; so may those after it, which come too late to count.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    equal(b'"') | equal(b'\\') | below(word, 0x20)
}
