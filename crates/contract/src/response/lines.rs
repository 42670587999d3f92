//! The lines of a response, and the parts of Markdown that decide where a block stands (CommonMark 0.31).
//!
//! This is not a whole Markdown parser, so it has a third answer. Where a reader of Markdown could see a list, a quote or
//! inline code and this code is not sure, a block does not count.

use proofmark_receipt::document::Format;

use super::html::leaves_open;

/// Walks a text line by line; a line keeps its end.
pub(super) struct Lines<'t> {
    text: &'t str,
    at: usize,
    /// The number of the line returned last, from 1.
    number: u64,
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, at: 0, number: 0 }
    }

    /// The number of the line returned last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn next(&mut self) -> Option<&'t str> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let line = rest.get(..end_of_line(rest))?;
        self.at += line.len();
        self.number += 1;
        Some(line)
    }

    /// The text before the line that closes `fence`; `None` when no line does.
    pub(super) fn until_closed(&mut self, fence: &Fence<'_>) -> Option<&'t str> {
        let start = self.at;
        while let Some(line) = self.next() {
            if fence.is_closed_by(line) {
                return self.text.get(start..self.at - line.len());
            }
        }
        None
    }

    /// The text before `close`, from `back` bytes before the next line. It continues right after `close`, so the rest of
    /// that line is the next line, under the same number. `None` when `close` does not occur.
    pub(super) fn until(&mut self, back: usize, close: &str) -> Option<&'t str> {
        let start = self.at - back;
        let rest = self.text.get(start..)?;
        let Some(length) = rest.find(close) else {
            // A block that does not end extends to the end of the text, so nothing after it can be a block.
            self.at = self.text.len();
            return None;
        };
        let body = rest.get(..length)?;
        self.at = start + length + close.len();
        let ends = body.replace("\r\n", "\n").matches(LINE_ENDS).count() as u64;
        // The rest of the line is returned next and adds one, so one is taken off here.
        self.number = (self.number + ends).saturating_sub(1);
        Some(body)
    }

    /// Whether the rest of the line is only spaces and tabs.
    pub(super) fn is_at_line_end(&self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default().trim_start_matches([' ', '\t']);
        rest.is_empty() || rest.starts_with(LINE_ENDS)
    }
}

/// The characters that end a line; `\r\n` is one end.
const LINE_ENDS: [char; 2] = ['\n', '\r'];

/// The bytes of the first line of `text`, its end included.
fn end_of_line(text: &str) -> usize {
    let end = text.bytes().position(|byte| matches!(byte, b'\n' | b'\r'));
    end.map_or(text.len(), |end| end + if text.get(end..).is_some_and(|end| end.starts_with("\r\n")) { 2 } else { 1 })
}

/// The number of spaces a line begins with.
pub(super) fn indent(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

/// The first line of a fenced block (CommonMark 0.31, section 4.5).
pub(super) struct Fence<'t> {
    mark: char,
    length: usize,
    info: &'t str,
}

impl<'t> Fence<'t> {
    pub(super) fn opening(line: &'t str) -> Option<Self> {
        let indent = line.bytes().take_while(|byte| *byte == b' ').count();
        // Four spaces make indented code (section 4.4).
        let rest = line.get(indent..).filter(|_| indent <= 3)?;
        let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = rest.chars().take_while(|char| *char == mark).count();
        let info = rest.get(length..)?.trim_matches([' ', '\t', '\n', '\r']);
        // A line such as ```` ```code``` ```` is inline code.
        (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Self { mark, length, info })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        // A closing fence follows the rules of an opening one, but has no info string.
        let closing = Fence::opening(line);
        closing.is_some_and(|fence| fence.mark == self.mark && fence.length >= self.length && fence.info.is_empty())
    }

    /// The label of a block that has the name of a notation only.
    pub(super) fn notation_label(&self) -> Option<&'static str> {
        ["json", "yaml", "yml"].into_iter().find(|label| *label == self.info)
    }

    /// For a block labelled `result`: the notation that the label names, if any.
    pub(super) fn result_notation(&self) -> Option<Option<Format>> {
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

/// The list item that lines belong to (CommonMark 0.31, section 5.2), as far as this is certain.
#[derive(Default)]
pub(super) enum List {
    #[default]
    Never,
    /// Lines with at least this many spaces belong to the item.
    Item(usize),
    /// There has been a list, and it may still be open.
    Unsure,
}

impl List {
    /// Whether a fence with this indentation belongs to a list; `None` when this is not certain.
    pub(super) fn holds(&self, indent: usize) -> Option<bool> {
        match (self, indent) {
            // At the margin, a fence ends every list and quote.
            (_, 0) | (Self::Never, _) => Some(false),
            (Self::Item(content), indent) if indent >= *content => Some(true),
            (Self::Item(_) | Self::Unsure, _) => None,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !matches!(self, Self::Never)
    }

    /// Ends the list, after a block at the margin.
    pub(super) fn close(&mut self) {
        *self = Self::Never;
    }

    /// Reads a line outside fenced blocks; `fresh` says that it begins a paragraph.
    pub(super) fn read(&mut self, line: &str, fresh: bool) {
        // Lists inside the item need no look: a fence in them is inside this item too.
        let inside = matches!(self, Self::Item(content) if indent(line) >= *content);
        if inside || line.trim().is_empty() {
            return;
        }
        *self = match (Marker::of(line), &self) {
            (Some(marker), _) => match marker.content {
                // A number other than 1 begins no list inside a paragraph; after an item it may.
                Some(content) if fresh || marker.interrupts || matches!(self, Self::Item(_)) => Self::Item(content),
                Some(_) | None => Self::Unsure,
            },
            (None, Self::Never) => Self::Never,
            // After an empty line, text at the margin belongs to no list.
            (None, Self::Item(_) | Self::Unsure) if fresh && indent(line) == 0 && !line.starts_with('\t') => {
                Self::Never
            }
            (None, Self::Item(_) | Self::Unsure) => Self::Unsure,
        };
    }
}

/// What a list item begins with.
struct Marker {
    /// The column of its content; `None` when it has none, or tabs make it uncertain.
    content: Option<usize>,
    /// Whether it begins a list even inside a paragraph.
    interrupts: bool,
}

impl Marker {
    fn of(line: &str) -> Option<Self> {
        let start = line.len() - line.trim_start().len();
        let text = line.trim();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let length = match text.as_bytes().get(digits) {
            Some(b'-' | b'+' | b'*') if digits == 0 => 1,
            // CommonMark allows nine digits, because some browsers overflow with more.
            Some(b'.' | b')') if (1..=9).contains(&digits) => digits + 1,
            _ => return None,
        };
        let after = text.get(length..)?;
        if !(after.is_empty() || after.starts_with([' ', '\t'])) {
            return None;
        }
        let spaces = indent(after);
        let rule = text.bytes().all(|byte| matches!(byte, b'-' | b'*' | b' ' | b'\t'));
        // Five spaces or more are one space and indented code, the width of a tab depends on its column, and `* * *` is
        // a thematic break (sections 5.2, 2.2 and 4.1).
        let certain =
            (1..=4).contains(&spaces) && !after.starts_with('\t') && start == indent(line) && start <= 3 && !rule;
        let content = (certain && !after.trim().is_empty() && !after.contains('\t')).then_some(start + length + spaces);
        Some(Self { content, interrupts: digits == 0 || text.starts_with("1.") || text.starts_with("1)") })
    }
}

/// The lines directly before a line, back to an empty one.
#[derive(Default)]
pub(super) enum Paragraph {
    #[default]
    Empty,
    /// Lines of text at the margin, without backticks.
    Plain,
    /// Lines that may belong to a list or a quote, or leave inline code open.
    Doubtful,
}

impl Paragraph {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Whether the next line is certain to stand outside inline code, lists and quotes.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Empty | Self::Plain)
    }

    /// Reads a line of text.
    pub(super) fn read(&mut self, line: &str, in_list: bool) {
        let text = line.trim();
        *self = match (&self, text.is_empty()) {
            (_, true) => Self::Empty,
            // In doubt until an empty line: any later line may still continue the quote, the list or the inline code.
            (Self::Doubtful, false) => Self::Doubtful,
            (Self::Empty | Self::Plain, false)
                if in_list || text.starts_with('>') || text.contains('`') || leaves_open(text) =>
            {
                Self::Doubtful
            }
            (Self::Empty | Self::Plain, false) => Self::Plain,
        };
    }
}
