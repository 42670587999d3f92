//! The result block of a response: the only part of it that is evidence.

mod html;
mod lines;

use proofmark_receipt::Json;
use proofmark_receipt::document::{self, DocumentError, Format};
use thiserror::Error;

use self::html::{Html, HtmlEnd};
use self::lines::{Fence, Lines, List, Paragraph, indent};

/// The longest response, in bytes (8 MiB).
pub const MAX_RESPONSE_BYTES: usize = 8 << 20;

/// The most result blocks that are counted.
const MAX_BLOCKS: usize = 10;

const OPEN_TAG: &str = "<result>";
const CLOSE_TAG: &str = "</result>";

/// The content of a response's result block.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    pub json: Json,
    /// How it was written.
    pub form: BlockForm,
    /// The line it begins on, from 1.
    pub line: u64,
}

/// How a result block is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockForm {
    /// A fenced block labelled `result`.
    Fence,
    /// `<result>…</result>`.
    Tag,
    /// The whole response is a JSON object.
    Whole,
}

/// Why a response has no payload.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResponseError {
    #[error("the response has {0} bytes, more than the limit of {MAX_RESPONSE_BYTES}")]
    TooLarge(usize),
    #[error("byte {0} of the response is not UTF-8")]
    NotUtf8(usize),
    #[error("the response has no result block")]
    Missing,
    #[error("the response has no result block: the block at line {line} is labelled `{label}`, not `result`")]
    OtherLabel { line: u64, label: &'static str },
    #[error("the response has {} result blocks, at lines {}", .0.len(), join(.0))]
    Ambiguous(Vec<u64>),
    /// Readers of Markdown could disagree about where a block begins or ends.
    #[error("line {0} leaves open where a block begins or ends")]
    Unclear(u64),
    #[error("the result block at line {0} does not end")]
    Unclosed(u64),
    #[error("the result block at line {line} cannot be read: {error}")]
    Unreadable {
        line: u64,
        /// Its lines are counted from the block's first line.
        error: DocumentError,
    },
    #[error("the result block at line {line} is {found}, not an object")]
    NotAnObject { line: u64, found: &'static str },
}

impl ResponseError {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "response_too_large",
            Self::NotUtf8(_) => "response_not_utf8",
            Self::Missing | Self::OtherLabel { .. } => "result_missing",
            Self::Ambiguous(_) => "result_ambiguous",
            Self::Unclear(_) => "result_unclear",
            Self::Unclosed(_) => "result_unclosed",
            Self::Unreadable { .. } => "result_unreadable",
            Self::NotAnObject { .. } => "result_not_an_object",
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::TooLarge(_) => "make it shorter",
            Self::NotUtf8(_) => "save it as UTF-8",
            Self::Missing => {
                "end the response with one fenced block labelled `result`, on lines of its own and outside lists, \
                 quotes and other blocks"
            }
            Self::OtherLabel { .. } => "label the block `result`",
            Self::Ambiguous(_) => "leave all but one out",
            Self::Unclear(_) => "begin blocks at the margin, on lines of their own",
            Self::Unclosed(_) => "close it",
            Self::Unreadable { error, .. } => return error.help(),
            Self::NotAnObject { .. } => "write an object",
        };
        Some(help.to_owned())
    }

    /// Whether the input cannot be judged at all, as opposed to a response without evidence.
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Self::TooLarge(_) | Self::NotUtf8(_))
    }
}

/// Extracts the result block of a response: the one fenced block labelled `result`, or `<result>…</result>`, or the whole
/// response when it is a JSON object. A block stands on lines of its own, outside every other fenced block, list, quote,
/// HTML and inline code. Prose is never read.
///
/// # Errors
/// [`ResponseError`] when there is no block, more than one, or one that cannot be read.
pub fn extract(response: &[u8]) -> Result<Payload, ResponseError> {
    if response.len() > MAX_RESPONSE_BYTES {
        return Err(ResponseError::TooLarge(response.len()));
    }
    let text = std::str::from_utf8(response).map_err(|error| ResponseError::NotUtf8(error.valid_up_to()))?;
    // First, since the texts inside a JSON document are not Markdown, whatever they look like.
    if let Some(payload) = whole(text) {
        return payload;
    }
    let (blocks, other) = Scan::new(text).blocks()?;
    let lines: Vec<_> = blocks.iter().map(|block| block.line).collect();
    match blocks.as_slice() {
        [] => Err(other.map_or(ResponseError::Missing, |(line, label)| ResponseError::OtherLabel { line, label })),
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
    // Not an error yet: Markdown may begin with a bracket too.
    let json = document::parse(trimmed.as_bytes(), Format::Json).ok()?;
    Some(object(json, BlockForm::Whole, 1))
}

fn object(json: Json, form: BlockForm, line: u64) -> Result<Payload, ResponseError> {
    match json {
        Json::Object(_) => Ok(Payload { json, form, line }),
        other => Err(ResponseError::NotAnObject { line, found: other.type_name() }),
    }
}

/// A result block, not yet parsed.
#[derive(Debug)]
struct Block<'t> {
    line: u64,
    form: BlockForm,
    notation: Option<Format>,
    /// `None` when the block does not end.
    body: Option<&'t str>,
    /// Whether its last line holds nothing else.
    alone: bool,
}

impl Block<'_> {
    fn payload(&self) -> Result<Payload, ResponseError> {
        let body = self.body.ok_or(ResponseError::Unclosed(self.line))?;
        if !self.alone {
            return Err(ResponseError::Unclear(self.line));
        }
        let format = self.notation.unwrap_or(if body.trim_start().starts_with(['{', '[']) {
            Format::Json
        } else {
            Format::Yaml
        });
        let json = document::parse(body.as_bytes(), format)
            .map_err(|error| ResponseError::Unreadable { line: self.line, error })?;
        object(json, self.form, self.line)
    }
}

/// Finds result blocks line by line, with the list and the paragraph that a line stands in.
struct Scan<'t> {
    lines: Lines<'t>,
    list: List,
    paragraph: Paragraph,
    /// The last block labelled with a notation alone, which is not a result.
    other: Option<OtherLabel>,
    /// Whether readers of Markdown could take the next line for HTML.
    in_doubt: bool,
}

/// The line of a block, and its label.
type OtherLabel = (u64, &'static str);

impl<'t> Scan<'t> {
    fn new(text: &'t str) -> Self {
        let (list, paragraph) = (List::default(), Paragraph::default());
        Self { lines: Lines::of(text), list, paragraph, other: None, in_doubt: false }
    }

    /// All result blocks. What looks like one inside another fenced block, a list, a quote or inline code is text.
    fn blocks(mut self) -> Result<(Vec<Block<'t>>, Option<OtherLabel>), ResponseError> {
        let mut found = Vec::new();
        // Two are too many already, so a response with thousands of them is not read to its end.
        while found.len() < MAX_BLOCKS {
            let Some(line) = self.lines.next() else { break };
            let number = self.lines.number();
            // A fence interrupts a paragraph and open inline code, a tag does not (CommonMark, sections 3.1 and 4.6).
            if let Some(fence) = Fence::opening(line) {
                found.extend(self.fenced(line, &fence, number)?);
            } else if line.starts_with(OPEN_TAG) && self.paragraph.is_plain() {
                found.push(self.tagged(line, number));
            } else if let Some(html) = Html::of(line) {
                self.html(line, html, number)?;
            } else {
                self.text(line);
            }
        }
        Ok((found, self.other))
    }

    /// Reads a line that begins HTML.
    fn html(&mut self, line: &str, html: Html, number: u64) -> Result<(), ResponseError> {
        let held = self.list.holds(indent(line));
        match (html, held) {
            // It ends with the list at the latest, so it hides nothing.
            (_, Some(true)) => self.text(line),
            (Html::Block(_), None) => return Err(ResponseError::Unclear(number)),
            (Html::Block(end), Some(false)) => self.pass_over(line, &end),
            (Html::Tag, Some(false)) if self.paragraph.is_empty() => self.pass_over(line, &HtmlEnd::Empty),
            // It continues a paragraph, or begins a block behind a heading: until the next empty line a fence may be text.
            (Html::Tag, Some(false) | None) => {
                self.text(line);
                self.in_doubt = true;
            }
        }
        Ok(())
    }

    /// Reads a line that begins neither a fence nor HTML.
    fn text(&mut self, line: &str) {
        self.in_doubt &= !line.trim().is_empty();
        self.list.read(line, self.paragraph.is_empty());
        self.paragraph.read(line, self.list.is_open());
    }

    /// Passes over an HTML block, in which fences and tags are text.
    fn pass_over(&mut self, first: &str, end: &HtmlEnd) {
        let mut line = first;
        while !end.is_in(line) {
            let Some(next) = self.lines.next() else { break };
            line = next;
        }
        self.list.close();
        self.paragraph = Paragraph::default();
    }

    /// Reads the block that `fence` opens, and returns it if it is a result. A fence inside a list ends with the list, at
    /// the latest at the next fence at the margin. So it hides nothing, and is passed over.
    fn fenced(&mut self, line: &str, fence: &Fence<'t>, number: u64) -> Result<Option<Block<'t>>, ResponseError> {
        match self.list.holds(indent(line)) {
            Some(true) => return Ok(None),
            _ if self.in_doubt => return Err(ResponseError::Unclear(number)),
            Some(false) => {}
            None => return Err(ResponseError::Unclear(number)),
        }
        self.list.close();
        self.paragraph = Paragraph::default();
        let body = self.lines.until_closed(fence);
        let result = fence.result_notation();
        if let Some(label) = fence.notation_label() {
            self.other = Some((number, label));
        }
        Ok(result.map(|notation| Block { line: number, form: BlockForm::Fence, notation, body, alone: true }))
    }

    /// Reads the block that the tag at the start of `line` opens.
    fn tagged(&mut self, line: &str, number: u64) -> Block<'t> {
        // From right after the opening tag, since the payload may begin on the same line.
        let body = self.lines.until(line.len() - OPEN_TAG.len(), CLOSE_TAG);
        let alone = self.lines.is_at_line_end();
        // The end of this line belongs to the block; otherwise it would be read as an empty line after it.
        if alone {
            self.lines.next();
        }
        self.list.close();
        self.paragraph = Paragraph::default();
        Block { line: number, form: BlockForm::Tag, notation: None, body, alone }
    }
}

fn join(lines: &[u64]) -> String {
    const MAX_SHOWN: usize = 5;
    let shown: Vec<_> = lines.iter().take(MAX_SHOWN).map(u64::to_string).collect();
    if lines.len() > MAX_SHOWN { format!("{}, …", shown.join(", ")) } else { shown.join(", ") }
}
