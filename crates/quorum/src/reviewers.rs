use std::collections::{BTreeSet, HashMap};

use proofmark_receipt::document::is_unseen;
use proofmark_receipt::{SignerId, shown};
use thiserror::Error;

/// The longest reviewers file, in bytes (1 MiB).
pub const MAX_REVIEWERS_BYTES: usize = 1 << 20;
/// The most keys of a reviewers file.
pub const MAX_REVIEWERS: usize = 4_096;
/// The longest name of an operator, in bytes.
const MAX_OPERATOR_BYTES: usize = 256;
const WORD: &str = "reviewer";

/// Whose reviews count for a reader: the keys of each operator. An operator counts once, with however many keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewers {
    operators: HashMap<SignerId, String>,
}

/// Why a reviewers file is refused, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {kind}")]
pub struct ReviewersError {
    /// From 1.
    pub line: usize,
    pub kind: ReviewersErrorKind,
}

/// Why a reviewers file is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReviewersErrorKind {
    #[error("the file has {0} bytes, more than {MAX_REVIEWERS_BYTES}")]
    TooLarge(usize),
    #[error("the file has more than {MAX_REVIEWERS} keys")]
    TooMany,
    #[error("the file lists nobody")]
    Empty,
    #[error("invalid UTF-8")]
    Utf8,
    #[error("expected `reviewer OPERATOR KEY`, found `{0}`")]
    Line(String),
    #[error("`{0}` is not the name of an operator")]
    Operator(String),
    #[error("`{0}` is not an Ed25519 public key")]
    Key(String),
    #[error("the key is listed twice, first for `{0}`")]
    Twice(String),
}

impl ReviewersError {
    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self.kind {
            ReviewersErrorKind::TooLarge(_) | ReviewersErrorKind::TooMany => "list only the keys whose reviews count",
            ReviewersErrorKind::Empty | ReviewersErrorKind::Line(_) => {
                "write lines such as `reviewer acme MCowBQYDK2VwAyEA…`"
            }
            ReviewersErrorKind::Utf8 => "save the file as UTF-8",
            ReviewersErrorKind::Operator(_) => "write 1 to 256 bytes without spaces and invisible characters",
            ReviewersErrorKind::Key(_) => "write the key as `proofmark key show` prints it",
            ReviewersErrorKind::Twice(_) => "remove one of the two lines: a key is of one operator",
        }
    }
}

impl Reviewers {
    /// Reads lines `reviewer OPERATOR KEY`, with spaces or tabs between the words. Empty lines and lines that begin with `#` say
    /// nothing. A key has any of the forms that [`SignerId`] reads.
    ///
    /// # Errors
    /// [`ReviewersError`] names the line.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReviewersError> {
        let refused = |line, kind| ReviewersError { line, kind };
        if bytes.len() > MAX_REVIEWERS_BYTES {
            return Err(refused(1, ReviewersErrorKind::TooLarge(bytes.len())));
        }
        let mut operators: HashMap<SignerId, String> = HashMap::new();
        for (line, text) in bytes.split(|byte| *byte == b'\n').enumerate().map(|(place, text)| (place + 1, text)) {
            let text = std::str::from_utf8(text).map_err(|_| refused(line, ReviewersErrorKind::Utf8))?;
            let Some((operator, signer)) = read_line(text).map_err(|kind| refused(line, kind))? else { continue };
            if operators.len() == MAX_REVIEWERS {
                return Err(refused(line, ReviewersErrorKind::TooMany));
            }
            if let Some(first) = operators.insert(signer, operator.to_owned()) {
                return Err(refused(line, ReviewersErrorKind::Twice(shown(&first))));
            }
        }
        if operators.is_empty() { Err(refused(1, ReviewersErrorKind::Empty)) } else { Ok(Self { operators }) }
    }

    /// The operator of this key.
    #[must_use]
    pub fn operator(&self, signer: &SignerId) -> Option<&str> {
        self.operators.get(signer).map(String::as_str)
    }

    /// The keys of this operator, sorted.
    #[must_use]
    pub fn keys(&self, operator: &str) -> Vec<SignerId> {
        let of = self.operators.iter().filter(|(_, name)| *name == operator);
        let mut keys: Vec<SignerId> = of.map(|(key, _)| *key).collect();
        keys.sort();
        keys
    }

    /// All operators, each once, sorted by their names.
    #[must_use]
    pub fn operators(&self) -> BTreeSet<&str> {
        self.operators.values().map(String::as_str).collect()
    }
}

/// The operator and the key of a line; `None` where it says nothing.
fn read_line(text: &str) -> Result<Option<(&str, SignerId)>, ReviewersErrorKind> {
    let mut words = text.split([' ', '\t']).filter(|word| !word.is_empty());
    let (operator, key) = match (words.next(), words.next(), words.next(), words.next()) {
        (None, ..) => return Ok(None),
        (Some(first), ..) if first.starts_with('#') => return Ok(None),
        (Some(WORD), Some(operator), Some(key), None) => (operator, key),
        _ => return Err(ReviewersErrorKind::Line(shown(text))),
    };
    // Two names that look alike would count as two operators.
    let is_name = operator.len() <= MAX_OPERATOR_BYTES && !operator.chars().any(|c| is_unseen(c) || c.is_whitespace());
    if !is_name {
        return Err(ReviewersErrorKind::Operator(shown(operator)));
    }
    let signer = key.parse().map_err(|_| ReviewersErrorKind::Key(shown(key)))?;
    Ok(Some((operator, signer)))
}
