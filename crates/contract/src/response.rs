//! The result block of a response: the one part of it that is evidence.

mod lines;

use proofmark_receipt::Json;
use proofmark_receipt::document::{self, DocumentError, Format};
use thiserror::Error;

use self::lines::{Fence, Lines, List, Paragraph, indent};

/// The longest response, in bytes (8 MiB).
pub const MAX_RESPONSE_BYTES: usize = 8 << 20;

/// How many result blocks are counted at most.
const MAX_BLOCKS: usize = 10;

const OPEN_TAG: &str = "<result>";
const CLOSE_TAG: &str = "</result>";

/// The payload of a response.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    /// What it says: an object.
    pub json: Json,
    /// How it was written.
    pub form: Form,
    /// The line it begins on, from 1.
    pub line: u64,
}

/// How a result block is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A fenced block labelled `result`.
    Fence,
    /// `<result>…</result>`.
    Tag,
    /// The whole response.
    Whole,
}

/// Why a response has no payload.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResponseError {
    /// More bytes than are read.
    #[error("the response has {0} bytes, more than the {MAX_RESPONSE_BYTES} that are read; make it shorter")]
    TooLarge(usize),
    /// Not text.
    #[error("byte {0} of the response is not UTF-8; save it as UTF-8")]
    NotUtf8(usize),
    /// There is no result block.
    #[error(
        "there is no result block; end the response with one fenced block labelled `result`, on lines of its own and outside lists, quotes and other blocks"
    )]
    Missing,
    /// There are several.
    #[error("there are {} result blocks, at lines {}; leave all but one out", .0.len(), join(.0))]
    Ambiguous(Vec<u64>),
    /// It depends on the reader where a block begins or ends.
    #[error("line {0} leaves open where a block begins or ends; begin blocks at the margin, on lines of their own")]
    Unclear(u64),
    /// One is cut off.
    #[error("the result block at line {0} does not end; close it")]
    Unclosed(u64),
    /// One cannot be read.
    #[error("the result block at line {line} cannot be read: {error}")]
    Unreadable {
        /// The line it begins on.
        line: u64,
        /// What is wrong; places are counted from the block's first line.
        error: DocumentError,
    },
    /// One is not an object.
    #[error("the result block at line {line} is {found}; write an object")]
    NotAnObject {
        /// The line it begins on.
        line: u64,
        /// What it is.
        found: &'static str,
    },
}

impl ResponseError {
    /// The name of the error, for programs; stable.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "response_too_large",
            Self::NotUtf8(_) => "response_not_utf8",
            Self::Missing => "result_missing",
            Self::Ambiguous(_) => "result_ambiguous",
            Self::Unclear(_) => "result_unclear",
            Self::Unclosed(_) => "result_unclosed",
            Self::Unreadable { .. } => "result_unreadable",
            Self::NotAnObject { .. } => "result_not_an_object",
        }
    }

    /// Whether this is input that cannot be judged at all, and not an agent's answer without evidence.
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Self::TooLarge(_) | Self::NotUtf8(_))
    }
}

/// Takes the result block out of a response: the one fenced block labelled `result`, or `<result>…</result>`, or the
/// whole response when it is a JSON object. A block stands on lines of its own, outside every other fenced block, list,
/// quote and inline code. Prose is never read.
///
/// # Errors
/// [`ResponseError`] when there is none, several, or none that can be read.
pub fn extract(response: &[u8]) -> Result<Payload, ResponseError> {
    if response.len() > MAX_RESPONSE_BYTES {
        return Err(ResponseError::TooLarge(response.len()));
    }
    let text = std::str::from_utf8(response).map_err(|error| ResponseError::NotUtf8(error.valid_up_to()))?;
    if let Some(payload) = whole(text) {
        return payload;
    }
    let blocks = Scan::new(text).blocks()?;
    let lines: Vec<_> = blocks.iter().map(|block| block.line).collect();
    match blocks.as_slice() {
        [] => Err(ResponseError::Missing),
        [block] => block.payload(),
        _ => Err(ResponseError::Ambiguous(lines)),
    }
}

/// The response, if all of it is JSON.
fn whole(text: &str) -> Option<Result<Payload, ResponseError>> {
    let trimmed = text.trim();
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    let json = document::parse(trimmed.as_bytes(), Format::Json).ok()?;
    Some(object(json, Form::Whole, 1))
}

fn object(json: Json, form: Form, line: u64) -> Result<Payload, ResponseError> {
    match json {
        Json::Object(_) => Ok(Payload { json, form, line }),
        other => Err(ResponseError::NotAnObject { line, found: other.type_name() }),
    }
}

/// A result block as found.
#[derive(Debug)]
struct Block<'t> {
    line: u64,
    form: Form,
    notation: Option<Format>,
    /// `None` when the block does not end.
    body: Option<&'t str>,
    /// Whether nothing else stands on its last line.
    alone: bool,
}

impl Block<'_> {
    fn payload(&self) -> Result<Payload, ResponseError> {
        let body = self.body.ok_or(ResponseError::Unclosed(self.line))?;
        if !self.alone {
            return Err(ResponseError::Unclear(self.line));
        }
        let format = self.notation.unwrap_or(match body.trim_start().starts_with(['{', '[']) {
            true => Format::Json,
            false => Format::Yaml,
        });
        let json = document::parse(body.as_bytes(), format)
            .map_err(|error| ResponseError::Unreadable { line: self.line, error })?;
        object(json, self.form, self.line)
    }
}

/// Looks for result blocks, line by line, and keeps in mind what a line stands in.
struct Scan<'t> {
    lines: Lines<'t>,
    list: List,
    paragraph: Paragraph,
}

impl<'t> Scan<'t> {
    fn new(text: &'t str) -> Self {
        Self { lines: Lines::of(text), list: List::default(), paragraph: Paragraph::default() }
    }

    /// All result blocks; what stands inside another fenced block, a list, a quote or inline code is text.
    fn blocks(mut self) -> Result<Vec<Block<'t>>, ResponseError> {
        let mut found = Vec::new();
        // Two are too many already; a line with thousands of them is not read to its end.
        while found.len() < MAX_BLOCKS {
            let Some(line) = self.lines.next() else { break };
            let number = self.lines.number();
            if let Some(fence) = Fence::opening(line) {
                found.extend(self.fenced(line, &fence, number)?);
            } else if line.starts_with(OPEN_TAG) && self.paragraph.is_plain() {
                found.push(self.tagged(line, number));
            } else {
                self.list.read(line, self.paragraph.is_empty());
                self.paragraph.read(line, self.list.is_open());
            }
        }
        Ok(found)
    }

    /// Reads the block that `fence` opens, and returns it if it is a result. A fence of a list ends with the list, at the
    /// latest at the next fence at the margin, so it hides nothing and is passed over.
    fn fenced(&mut self, line: &str, fence: &Fence<'t>, number: u64) -> Result<Option<Block<'t>>, ResponseError> {
        match self.list.holds(indent(line)) {
            Some(true) => return Ok(None),
            Some(false) => {}
            None => return Err(ResponseError::Unclear(number)),
        }
        self.list.close();
        self.paragraph = Paragraph::default();
        let body = self.lines.until_closed(fence);
        let result = fence.result_notation();
        Ok(result.map(|notation| Block { line: number, form: Form::Fence, notation, body, alone: true }))
    }

    /// Reads the block that the tag at the beginning of `line` opens.
    fn tagged(&mut self, line: &str, number: u64) -> Block<'t> {
        let body = self.lines.until(line.len() - OPEN_TAG.len(), CLOSE_TAG);
        let alone = self.lines.is_at_line_end();
        if alone {
            self.lines.next();
        }
        self.list.close();
        self.paragraph = Paragraph::default();
        Block { line: number, form: Form::Tag, notation: None, body, alone }
    }
}

fn join(lines: &[u64]) -> String {
    const MAX_SHOWN: usize = 5;
    let shown: Vec<_> = lines.iter().take(MAX_SHOWN).map(u64::to_string).collect();
    match lines.len() > MAX_SHOWN {
        true => format!("{}, …", shown.join(", ")),
        false => shown.join(", "),
    }
}
