//! Held tests as their text has them, and how their expectations can be made wrong.

use std::fmt;
use std::ops::{Range, RangeInclusive};

/// How an expectation is made wrong, from the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alteration {
    /// The expected value becomes another of the same type and shape. A program that learns the expected value from the test
    /// answers with the wrong one.
    Value,
    /// The expected exception becomes one that is not related to it.
    Kind,
    /// The comparison is turned round, or one side of it becomes a value that equals no other.
    Inverted,
}

/// A piece of a text that is replaced. Neither the piece nor what replaces it has line ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that are replaced.
    pub span: Range<usize>,
    pub text: String,
}

/// An expectation, and how it is made wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    pub alteration: Alteration,
    /// The lines of the statement, counted from 1.
    pub lines: RangeInclusive<usize>,
    /// Sorted, and apart from each other.
    pub edits: Vec<Edit>,
}

/// The name of a test as its text says it: pieces, between which there may be anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title(Vec<String>);

impl Title {
    /// A title of which these pieces are known. One piece is the whole title.
    pub fn of_pieces(pieces: Vec<String>) -> Title {
        match pieces.as_slice() {
            [one] => Title(vec![spaced(one.trim())]),
            _ => Title(pieces.iter().map(|piece| spaced(piece)).collect()),
        }
    }

    /// The title, where all of it is known.
    pub fn literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Whether a name can be this title.
    pub fn matches(&self, name: &str) -> bool {
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else { return false };
        let middle = self.0.get(1..self.0.len().saturating_sub(1)).unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first.as_str()) else { return false };
        if self.0.len() == 1 {
            return rest.is_empty();
        }
        for piece in middle {
            match rest.split_once(piece.as_str()) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        rest.ends_with(last.as_str())
    }
}

impl fmt::Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("…"))
    }
}

/// As reports write names: each run of white space inside is one space.
pub(super) fn spaced(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for char in name.chars() {
        let is_blank = char.is_whitespace() || char.is_control();
        if !is_blank {
            text.push(char);
        } else if !text.ends_with(' ') {
            text.push(' ');
        }
    }
    text
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldTest {
    pub title: Title,
    /// The titles around it, or the names of its classes; from the outermost.
    pub around: Vec<String>,
    /// Whether it runs whenever its file does: it is in no condition and no loop.
    pub is_certain: bool,
    /// `None` where nothing in it can be altered.
    pub expectation: Option<Expectation>,
}

/// A text with tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFile {
    text: String,
    tests: Vec<HeldTest>,
    canary: CanaryText,
}

/// What is appended to a file for its canary, around each place of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanaryText {
    /// The name goes between each two of them.
    pub pieces: Vec<String>,
    /// What stands between the words of a name, as `_`.
    pub between: &'static str,
    /// A name to begin with where no test has a usable one.
    pub fallback: &'static str,
}

impl TestFile {
    /// A text with these tests; `None` if there are no tests.
    pub fn new(text: &str, tests: Vec<HeldTest>, canary: CanaryText) -> Option<TestFile> {
        (!tests.is_empty()).then(|| TestFile { text: text.to_owned(), tests, canary })
    }

    /// The tests, in the order of the text.
    pub fn tests(&self) -> &[HeldTest] {
        &self.tests
    }

    pub(super) fn canary(&self) -> &CanaryText {
        &self.canary
    }

    /// The text with the expectations of these tests made wrong, and a canary of this name at its end. What was there before
    /// keeps its line.
    pub fn write(&self, is_wrong: &dyn Fn(&HeldTest) -> bool, canary: &str) -> String {
        let altered = self.tests.iter().filter(|test| is_wrong(test)).filter_map(|test| test.expectation.as_ref());
        let mut edits: Vec<&Edit> = altered.flat_map(|expectation| &expectation.edits).collect();
        edits.sort_by_key(|edit| edit.span.start);
        let mut written = String::with_capacity(self.text.len() + 256);
        let mut copied = 0;
        for edit in edits {
            written.push_str(self.text.get(copied..edit.span.start).unwrap_or_default());
            written.push_str(&edit.text);
            copied = edit.span.end;
        }
        written.push_str(self.text.get(copied..).unwrap_or_default());
        if !written.ends_with('\n') {
            written.push('\n');
        }
        written.push_str(&self.canary.pieces.join(canary));
        written
    }
}
