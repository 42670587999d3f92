//! What is recorded of a session.

use proofmark_receipt::{Json, Object, Sha256Digest, object};

/// The longest excerpt, in characters.
const MAX_EXCERPT: usize = 2_000;
/// The longest text that is kept in full, in bytes.
const MAX_FULL: usize = 512 << 10;
/// The longest arguments that a decision's entry keeps, in bytes.
pub const MAX_ARGUMENTS: usize = 16 << 10;

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

/// One entry of a session's record.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// `opened`, `server`, `tools`, `prompts`, `resourceTemplates`, `changed`, `policy`, `passed`, `decided`, `waiting`,
    /// `result`, `cancelled`, `refused`, `lost`, `closed`.
    pub kind: &'static str,
    pub members: Object,
}

impl Event {
    /// An entry of this kind.
    #[must_use]
    pub fn new(kind: &'static str, members: Object) -> Self {
        Self { kind, members }
    }

    /// A decision on an action, with what the facts of later decisions say of it, and these members.
    #[must_use]
    pub fn decided(action: Option<&Object>, decision: Option<&str>, allowed: bool, mut members: Object) -> Self {
        let member = |name: &str| action.and_then(|action| action.get(name)).cloned();
        let known = object! {
            "tool"?: member("tool"),
            "class"?: member("class"),
            // As text: a signed document has no fractions.
            "arguments"?: member("args").map(|args| args.to_text()).filter(|args| args.len() <= MAX_ARGUMENTS),
            "decision"?: decision.map(str::to_owned),
            "allowed": allowed,
        };
        for (name, value) in known.iter() {
            members.insert(name, value.clone());
        }
        Self::new("decided", members)
    }
}

impl Keep {
    /// What is kept of a text.
    #[must_use]
    pub fn of(self, text: &str) -> Object {
        let full = match self {
            Self::Full if text.len() <= MAX_FULL => Some(masked(text)),
            Self::Full | Self::Excerpt | Self::Digest => None,
        };
        // As the document will have it, which may be longer than the text.
        let full = full.filter(|full| Json::from(full.as_str()).to_text().len() <= MAX_FULL);
        let excerpt = (self != Self::Digest && full.is_none()).then(|| begin_masked(text, MAX_EXCERPT));
        object! { "excerpt"?: excerpt, "text"?: full }
    }
}

/// The digest and length of a text that was forwarded.
#[must_use]
pub fn digest(text: &str) -> Object {
    digest_of(Sha256Digest::of(text.as_bytes()), text.len())
}

/// The same of a text with this digest and length.
pub(crate) fn digest_of(digest: Sha256Digest, bytes: usize) -> Object {
    object! { "sha256": digest.to_string(), "bytes": bytes as u64 }
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
pub(crate) fn masked(text: &str) -> String {
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

/// Text members of an event, in order.
#[must_use]
pub fn strings(texts: impl IntoIterator<Item = String>) -> Vec<Json> {
    texts.into_iter().map(Json::from).collect()
}
