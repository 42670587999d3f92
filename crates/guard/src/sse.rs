//! Server-sent events (HTML, section 9.2), by which a server sends messages over HTTP.
//!
//! A stream is read wherever its parts end, and events are written anew: fields that nobody knows do not pass, and the data is
//! what was judged.

use crate::message::MAX_MESSAGE_BYTES;

/// The longest field but `data`, and the longest comment, in bytes.
const MAX_FIELD: usize = 4_096;
/// What may stand at the beginning of a stream.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Reads a stream, part by part.
#[derive(Debug, Default)]
pub struct SseReader {
    /// The line that has begun.
    line: Vec<u8>,
    /// Whether a line was read.
    begun: bool,
    /// Whether the last byte was a carriage return: a line feed after it ends no line.
    after_return: bool,
    event: SseEvent,
}

/// What a stream consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SseItem {
    /// Nothing but a sign of life.
    Comment(String),
    Event(SseEvent),
}

/// One event. Without data it only says from where, or after how many milliseconds, the stream can be resumed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    pub id: Option<String>,
    /// Its type; `message` if there is none.
    pub name: Option<String>,
    pub retry: Option<String>,
    pub data: Option<Vec<u8>>,
}

/// Why the rest of a stream is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("read an event: it is longer than {MAX_MESSAGE_BYTES} bytes")]
    TooLong,
    #[error("read an event: a field of it is longer than {MAX_FIELD} bytes")]
    FieldTooLong,
}

impl SseReader {
    /// Takes in the next part; what is complete with it.
    ///
    /// # Errors
    /// [`SseError`] if the server sends what is too long. Nothing can be read after it.
    pub fn push(&mut self, part: &[u8]) -> Result<Vec<SseItem>, SseError> {
        let mut items = Vec::new();
        let mut rest = part;
        // A line end of two characters may come in two parts.
        if let ([b'\n', after @ ..], true) = (rest, self.after_return) {
            rest = after;
        }
        if !part.is_empty() {
            self.after_return = false;
        }
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            let (line, from) = rest.split_at(at);
            self.take(line)?;
            rest = match from {
                [b'\r', b'\n', after @ ..] | [b'\n', after @ ..] => after,
                [_, after @ ..] => {
                    self.after_return = after.is_empty();
                    after
                }
                [] => from,
            };
            items.extend(self.line_ended()?);
        }
        self.take(rest)?;
        Ok(items)
    }

    /// How many bytes are held until an event is complete.
    #[must_use]
    pub fn held(&self) -> usize {
        self.line.len() + self.event.data.as_ref().map_or(0, Vec::len)
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.held().saturating_add(bytes.len()) > MAX_MESSAGE_BYTES + MAX_FIELD {
            return Err(SseError::TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn line_ended(&mut self) -> Result<Option<SseItem>, SseError> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(BOM) {
            // A program that writes UTF-8 may begin with this mark, which the standard skips once.
            line.drain(..BOM.len());
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return Ok((event != SseEvent::default()).then_some(SseItem::Event(event)));
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = match line.get(colon + 1..).unwrap_or_default() {
            [b' ', value @ ..] | value => value,
        };
        // Only the data is judged as a message; the other fields are passed on, so they are short.
        let field = || {
            if value.len() > MAX_FIELD {
                Err(SseError::FieldTooLong)
            } else {
                Ok(String::from_utf8_lossy(value).into_owned())
            }
        };
        match line.get(..colon).unwrap_or_default() {
            b"" => return Ok(Some(SseItem::Comment(field()?))),
            b"data" => match &mut self.event.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                data @ None => *data = Some(value.to_vec()),
            },
            // The three that the standard ignores are ignored: an id with NUL, a time that is not a number, other fields.
            b"id" if !value.contains(&0) => self.event.id = Some(field()?),
            b"event" => self.event.name = Some(field()?),
            b"retry" if value.iter().all(u8::is_ascii_digit) => self.event.retry = Some(field()?),
            _ => {}
        }
        Ok(None)
    }
}

impl SseItem {
    /// It as bytes of a stream. `data` takes the place of an event's own, which is never written.
    #[must_use]
    pub fn written(&self, data: Option<&str>) -> String {
        let mut text = String::new();
        let mut field = |name: &str, value: &str| {
            // Each line of a value is a field of its own.
            for line in value.split(['\r', '\n']) {
                text.extend([name, ": ", line, "\n"]);
            }
        };
        match self {
            Self::Comment(comment) => field("", comment),
            Self::Event(event) => {
                let fields = [("id", &event.id), ("event", &event.name), ("retry", &event.retry)];
                fields.iter().for_each(|(name, value)| value.iter().for_each(|value| field(name, value)));
                data.iter().for_each(|data| field("data", data));
            }
        }
        text.push('\n');
        text
    }
}

impl SseEvent {
    /// An event that says nothing but its data.
    #[must_use]
    pub fn message() -> Self {
        Self { name: Some("message".to_owned()), ..Self::default() }
    }

    /// Whether its data is a message of the protocol.
    #[must_use]
    pub fn is_message(&self) -> bool {
        self.name.as_deref().is_none_or(|name| matches!(name, "" | "message"))
    }
}
