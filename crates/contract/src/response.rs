//! The result block of a response: the one part of it that is evidence.

use proofmark_receipt::Json;
use proofmark_receipt::document::{self, DocumentError, Format};
use thiserror::Error;

/// The longest response, in bytes (8 MiB).
pub const MAX_RESPONSE_BYTES: usize = 8 << 20;

/// How many result blocks are counted at most.
const MAX_BLOCKS: usize = 100;

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
    #[error("byte {0} of the response is no UTF-8; save it as UTF-8")]
    NotUtf8(usize),
    /// There is no result block.
    #[error("there is no result block; end the response with one fenced block labelled `result`")]
    Missing,
    /// There are several.
    #[error("there are {} result blocks, at lines {}; leave all but one out", .0.len(), join(.0))]
    Ambiguous(Vec<u64>),
    /// One is cut off.
    #[error("the result block at line {0} does not end; close it")]
    Unclosed(u64),
    /// One can not be read.
    #[error("the result block at line {line} can not be read: {error}")]
    Unreadable {
        /// The line it begins on.
        line: u64,
        /// What is wrong; places are counted from the block's first line.
        error: DocumentError,
    },
    /// One is no object.
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
            Self::Unclosed(_) => "result_unclosed",
            Self::Unreadable { .. } => "result_unreadable",
            Self::NotAnObject { .. } => "result_not_an_object",
        }
    }

    /// Whether this is input that can not be judged at all, and not an agent's answer without evidence.
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Self::TooLarge(_) | Self::NotUtf8(_))
    }
}

/// Takes the result block out of a response: the one fenced block labelled `result`, or `<result>…</result>`, or the
/// whole response when it is a JSON object. Prose is never read.
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
    let blocks = blocks(text);
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
}

impl Block<'_> {
    fn payload(&self) -> Result<Payload, ResponseError> {
        let body = self.body.ok_or(ResponseError::Unclosed(self.line))?;
        let format = self.notation.unwrap_or(match body.trim_start().starts_with(['{', '[']) {
            true => Format::Json,
            false => Format::Yaml,
        });
        let json = document::parse(body.as_bytes(), format)
            .map_err(|error| ResponseError::Unreadable { line: self.line, error })?;
        object(json, self.form, self.line)
    }
}

/// All result blocks; what stands inside another fenced block is text.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut lines = Lines { text, at: 0, number: 0 };
    while let Some(line) = lines.next() {
        // Two are too many already; a line with thousands of them is not read to its end.
        if found.len() == MAX_BLOCKS {
            break;
        }
        let number = lines.number;
        if let Some(fence) = Fence::opening(line) {
            let body = lines.until_closed(&fence);
            if let Some(notation) = fence.result_notation() {
                found.push(Block { line: number, form: Form::Fence, notation, body });
            }
        } else if let Some(column) = line.find(OPEN_TAG) {
            let start = lines.at - line.len() + column + OPEN_TAG.len();
            let body = lines.until_tag(start);
            found.push(Block { line: number, form: Form::Tag, notation: None, body });
        }
    }
    found
}

/// Walks a text line by line; a line keeps its end.
struct Lines<'t> {
    text: &'t str,
    /// Where the next line begins.
    at: usize,
    /// The number of the line given last, from 1.
    number: u64,
}

impl<'t> Lines<'t> {
    fn next(&mut self) -> Option<&'t str> {
        let line = self.text.get(self.at..)?.split_inclusive('\n').next()?;
        self.at += line.len();
        self.number += 1;
        Some(line)
    }

    /// What stands before the line that closes `fence`; `None` when none does.
    fn until_closed(&mut self, fence: &Fence<'_>) -> Option<&'t str> {
        let start = self.at;
        while let Some(line) = self.next() {
            if fence.is_closed_by(line) {
                return self.text.get(start..self.at - line.len());
            }
        }
        None
    }

    /// What stands from `start` up to the closing tag; goes on right after it.
    fn until_tag(&mut self, start: usize) -> Option<&'t str> {
        let rest = self.text.get(start..)?;
        let Some(length) = rest.find(CLOSE_TAG) else {
            self.at = self.text.len();
            return None;
        };
        let body = rest.get(..length)?;
        self.at = start + length + CLOSE_TAG.len();
        self.number += body.matches('\n').count() as u64;
        // What follows the tag on its line is looked at as a line of its own, under the same number.
        self.number -= u64::from(self.text.get(self.at..).is_some_and(|rest| !rest.is_empty()));
        Some(body)
    }
}

/// The first line of a fenced block (CommonMark 0.31, section 4.5).
struct Fence<'t> {
    mark: char,
    length: usize,
    info: &'t str,
}

impl<'t> Fence<'t> {
    fn opening(line: &'t str) -> Option<Self> {
        let indent = line.bytes().take_while(|byte| *byte == b' ').count();
        let rest = line.get(indent..).filter(|_| indent <= 3)?;
        let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = rest.chars().take_while(|char| *char == mark).count();
        let info = rest.get(length..)?.trim();
        // A line such as ```` ```code``` ```` is inline code.
        (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Self { mark, length, info })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let closing = Fence::opening(line);
        closing.is_some_and(|fence| fence.mark == self.mark && fence.length >= self.length && fence.info.is_empty())
    }

    /// For a block labelled `result`: the notation the label names, if it names one.
    fn result_notation(&self) -> Option<Option<Format>> {
        let mut words = self.info.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("result"), None, None) => Some(None),
            (Some("result"), Some(word), None) | (Some(word), Some("result"), None) => match word {
                "json" => Some(Some(Format::Json)),
                "yaml" | "yml" => Some(Some(Format::Yaml)),
                _ => None,
            },
            _ => None,
        }
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
