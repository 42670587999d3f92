//! How much is recorded of a text.

use proofmark_receipt::{Json, Object, Sha256Digest};

use crate::members::{Member, members};

/// The longest excerpt, in characters.
const MAX_EXCERPT: usize = 2_000;
/// The longest text that is kept in full, in bytes.
const MAX_FULL: usize = 512 << 10;
/// The longest arguments that an event has, in bytes.
const MAX_ARGUMENTS: usize = 16 << 10;

/// How much is kept of what a server answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Its digest and length.
    Digest,
    /// Also how it begins.
    #[default]
    Excerpt,
    /// All of it, up to 512 KiB.
    Full,
}

members! {
    /// The digest and the length of a text that is not recorded itself.
    pub struct TextDigest {
        sha256: String,
        bytes: u64,
    }
}

impl TextDigest {
    /// Of a text that was forwarded.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self::with(Sha256Digest::of(text.as_bytes()), text.len())
    }

    /// Of a text with this digest and so many bytes.
    #[must_use]
    pub fn with(digest: Sha256Digest, bytes: usize) -> Self {
        Self { sha256: digest.to_string(), bytes: bytes as u64 }
    }
}

impl From<TextDigest> for Json {
    fn from(digest: TextDigest) -> Self {
        let mut object = Object::new();
        digest.write_to(&mut object);
        object.into()
    }
}

/// The arguments of a call as events have them: as text, since a signed document has no fractions. `None` where they are too
/// long.
#[must_use]
pub fn arguments(arguments: &Json) -> Option<String> {
    Some(arguments.to_text()).filter(|text| text.len() <= MAX_ARGUMENTS)
}

impl Keep {
    /// How a text begins and the whole text, as far as they are kept: at most one of them.
    #[must_use]
    pub fn of(self, text: &str) -> (Option<String>, Option<String>) {
        let full = match self {
            Self::Full if text.len() <= MAX_FULL => Some(masked(text)),
            Self::Full | Self::Excerpt | Self::Digest => None,
        };
        // As the document will have it, which may be longer than the text.
        let full = full.filter(|full| Json::from(full.as_str()).to_text().len() <= MAX_FULL);
        let excerpt = (self != Self::Digest && full.is_none()).then(|| begin_masked(text, MAX_EXCERPT));
        (excerpt, full)
    }
}

/// How secrets of known kinds begin, and how many characters at least follow.
const SECRETS: [(&str, usize); 9] = [
    ("AKIA", 16),
    ("ASIA", 16),
    ("ghp_", 30),
    ("github_pat_", 30),
    ("AIza", 30),
    ("xoxb-", 20),
    ("sk-", 20),
    ("glpat-", 18),
    ("Bearer ", 20),
];

/// The text with the secrets of known kinds replaced by `[masked]`.
#[must_use]
pub fn masked(text: &str) -> String {
    begin_masked(text, usize::MAX)
}

/// As [`masked`], of the text's first characters, at most `limit`. The time taken grows with the limit, not with the text.
fn begin_masked(text: &str, limit: usize) -> String {
    let mut out = String::new();
    let (mut rest, mut left) = (text, limit);
    while let Some(letter) = rest.chars().next().filter(|_| left > 0) {
        match secret(rest) {
            Some((begin, length)) => {
                out.extend(begin.chars().chain("[masked]".chars()).take(left));
                left = left.saturating_sub(begin.len() + "[masked]".len());
                rest = rest.get(length..).unwrap_or_default();
            }
            None => {
                out.push(letter);
                left -= 1;
                rest = rest.get(letter.len_utf8()..).unwrap_or_default();
            }
        }
    }
    match out.find("-----BEGIN") {
        Some(at) if text.contains("PRIVATE KEY-----") => format!("{}[masked]", out.get(..at).unwrap_or_default()),
        Some(_) | None => out,
    }
}

/// How the secret begins that the text begins with, and its length in bytes.
fn secret(text: &str) -> Option<(&'static str, usize)> {
    SECRETS.iter().find_map(|(begin, least)| {
        let after = text.strip_prefix(begin)?;
        let length =
            after.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')).count();
        (length >= *least).then_some((*begin, begin.len() + length))
    })
}
