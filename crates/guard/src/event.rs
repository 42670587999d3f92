//! What is recorded of a session.

use proofmark_receipt::{Json, Object, Sha256Digest, object};

/// The longest excerpt, in characters.
const MAX_EXCERPT: usize = 2_000;
/// The longest text that is kept in full, in bytes.
const MAX_FULL: usize = 512 << 10;
/// The longest arguments that a decision's entry keeps, in bytes.
pub(crate) const MAX_ARGUMENTS: usize = 16 << 10;

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
    /// `opened`, `decided`, `result`, `cancelled`, `refused`, `noise`, `tools`, `closed`.
    pub kind: &'static str,
    pub members: Object,
}

impl Event {
    pub(crate) fn new(kind: &'static str, members: Object) -> Self {
        Self { kind, members }
    }
}

impl Keep {
    /// What is kept of a text.
    pub(crate) fn of(self, text: &str) -> Object {
        let text = masked(text);
        let cut = |limit: usize| text.chars().take(limit).collect::<String>();
        let (excerpt, full) = match self {
            Self::Digest => (None, None),
            // As the document will have it, which may be longer than the text.
            Self::Full if Json::from(text.as_str()).to_text().len() <= MAX_FULL => (None, Some(text.clone())),
            Self::Excerpt | Self::Full => (Some(cut(MAX_EXCERPT)), None),
        };
        object! { "excerpt"?: excerpt, "text"?: full }
    }
}

/// The digest and length of a text that was forwarded.
pub(crate) fn digest(text: &str) -> Object {
    object! { "sha256": Sha256Digest::of(text.as_bytes()).to_string(), "bytes": text.len() as u64 }
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
fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    'text: while !rest.is_empty() {
        let found = SECRETS.iter().filter_map(|(begin, least)| Some((rest.find(begin)?, *begin, *least))).min();
        let Some((at, begin, least)) = found else { break };
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let after = from.get(begin.len()..).unwrap_or_default();
        let length =
            after.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')).count();
        out.push_str(begin);
        rest = match length >= least {
            true => {
                out.push_str("[masked]");
                after.get(length..).unwrap_or_default()
            }
            false => after,
        };
        if rest.is_empty() {
            break 'text;
        }
    }
    out.push_str(rest);
    match (out.find("-----BEGIN"), out.contains("PRIVATE KEY-----")) {
        (Some(at), true) => format!("{}[masked]", out.get(..at).unwrap_or_default()),
        _ => out,
    }
}

/// Text members of an event, in order.
pub(crate) fn strings(texts: impl IntoIterator<Item = String>) -> Vec<Json> {
    texts.into_iter().map(Json::from).collect()
}
