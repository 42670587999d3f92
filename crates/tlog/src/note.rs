use proofmark_receipt::shown;
use thiserror::Error;

use crate::code::Code;
use crate::key::{KeyId, PrivateKey, is_key_name};
use crate::text::{base64, to_base64};
use crate::{KeyType, Vkey};

/// How many bytes a note has at most.
pub const MAX_NOTE_BYTES: usize = 256 << 10;
/// How many signature lines a note has at most. C2SP asks for at least 16.
pub const MAX_NOTE_LINES: usize = 64;

/// What every signature line begins with: U+2014 and a space.
const DASH: &str = "\u{2014} ";

/// The bytes are not a signed note.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoteError {
    #[error("the note has {0} bytes: at most {MAX_NOTE_BYTES} are read")]
    TooLong(usize),
    #[error("the note has more than {MAX_NOTE_LINES} signature lines")]
    TooManyLines,
    #[error("the note is not UTF-8")]
    NotUtf8,
    #[error("the note has a control character other than line feeds")]
    ControlCharacter,
    #[error("the note has no empty line between its text and its signatures")]
    NoSignatures,
    #[error("the note does not end with a line feed")]
    Unfinished,
    #[error("`{0}` is not a signature line: it is `\u{2014} <key name> <base64>`")]
    Line(String),
}

/// A line of a known key that does not verify.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the signature line of `{0}` does not verify")]
pub struct SignatureMismatch(pub String);

/// A signed note: a text and signature lines, nothing of it verified (C2SP signed-note).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    text: &'a str,
    lines: Vec<NoteLine<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoteLine<'a> {
    /// The whole line, without its line feed.
    pub(crate) line: &'a str,
    name: &'a str,
    id: KeyId,
    /// At least one byte.
    pub(crate) signature: Vec<u8>,
}

impl NoteError {
    /// Its code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::TooLong(_) | Self::TooManyLines => Code::TooLarge,
            _ => Code::MalformedNote,
        }
    }
}

impl<'a> Note<'a> {
    /// Reads a note.
    ///
    /// # Errors
    /// [`NoteError`] when it does not have the form of one.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, NoteError> {
        if bytes.len() > MAX_NOTE_BYTES {
            return Err(NoteError::TooLong(bytes.len()));
        }
        let note = std::str::from_utf8(bytes).map_err(|_| NoteError::NotUtf8)?;
        if note.bytes().any(|byte| byte < b' ' && byte != b'\n') {
            return Err(NoteError::ControlCharacter);
        }
        let (before, signatures) = note.rsplit_once("\n\n").ok_or(NoteError::NoSignatures)?;
        // The text ends with the first of the two line feeds.
        let text = note.get(..=before.len()).unwrap_or_default();
        if signatures.is_empty() {
            return Err(NoteError::NoSignatures);
        }
        let signatures = signatures.strip_suffix('\n').ok_or(NoteError::Unfinished)?;
        let mut lines = Vec::new();
        for line in signatures.split('\n') {
            if lines.len() == MAX_NOTE_LINES {
                return Err(NoteError::TooManyLines);
            }
            lines.push(NoteLine::parse(line).ok_or_else(|| NoteError::Line(shown(line)))?);
        }
        Ok(Self { text, lines })
    }

    /// What is signed, with its last line feed. It must not be interpreted before a known key is found to have signed it.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Whether this key of type `01` has signed the text. Lines with the same name and another key id belong to other keys.
    ///
    /// # Errors
    /// [`SignatureMismatch`] when a line of the key does not verify, which spoils the whole note.
    pub fn is_signed_by(&self, key: &Vkey) -> Result<bool, SignatureMismatch> {
        let mut is_signed = false;
        if key.key_type() != KeyType::Note {
            return Ok(false);
        }
        for line in self.lines_of(key) {
            if !key.verifies(self.text.as_bytes(), &line.signature) {
                return Err(SignatureMismatch(key.name().to_owned()));
            }
            is_signed = true;
        }
        Ok(is_signed)
    }

    /// The note with the signature lines of these keys alone, one of each: the last. Nothing is verified.
    #[must_use]
    pub fn with_lines_of<'k>(&self, keys: impl IntoIterator<Item = &'k Vkey>) -> String {
        let mut note = format!("{}\n", self.text);
        for line in keys.into_iter().filter_map(|key| self.lines_of(key).last()) {
            note.push_str(line.line);
            note.push('\n');
        }
        note
    }

    /// The note with these signature lines too, each ended by a line feed. One takes the place of a line by the same key; of several by one key
    /// the last counts. Nothing is verified.
    ///
    /// # Errors
    /// [`NoteError`] when one is not a signature line, or the note would have too many.
    pub fn with_lines(&self, lines: &str) -> Result<String, NoteError> {
        let parse = |line| NoteLine::parse(line).ok_or_else(|| NoteError::Line(shown(line)));
        let new: Vec<NoteLine<'_>> = lines.split_terminator('\n').map(parse).collect::<Result<_, _>>()?;
        let all: Vec<_> = self.lines.iter().chain(&new).collect();
        let is_replaced = |place: usize, line: &NoteLine<'_>| {
            all.iter().skip(place + 1).any(|later| later.id == line.id && later.name == line.name)
        };
        let kept = all.iter().enumerate().filter(|(place, line)| !is_replaced(*place, line));
        let kept: Vec<_> = kept.map(|(_, line)| line.line).collect();
        if kept.len() > MAX_NOTE_LINES {
            return Err(NoteError::TooManyLines);
        }
        Ok(format!("{}\n{}\n", self.text, kept.join("\n")))
    }

    /// The lines with the name and the id of a key, verified or not.
    pub(crate) fn lines_of(&self, key: &Vkey) -> impl Iterator<Item = &NoteLine<'a>> {
        self.lines.iter().filter(move |line| line.id == key.id() && line.name == key.name())
    }
}

impl<'a> NoteLine<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (name, signature) = line.strip_prefix(DASH)?.split_once(' ')?;
        let bytes = base64(signature)?;
        let (id, signature) = bytes.split_first_chunk()?;
        let is_line = is_key_name(name) && !signature.is_empty();
        is_line.then(|| Self { line, name, id: *id, signature: signature.to_vec() })
    }
}

/// A signature line of this key, with its line feed.
pub(crate) fn signature_line(key: &PrivateKey, signature: &[u8]) -> String {
    let vkey = key.vkey();
    let signature = to_base64(&[&vkey.id(), signature].concat());
    format!("{DASH}{} {signature}\n", vkey.name())
}
