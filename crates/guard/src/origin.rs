//! What a server is reached by.

use proofmark_receipt::Json;
use proofmark_session::{TextDigest, masked};

/// The longest origin in facts, in bytes. The digest tells two apart that begin alike.
const MAX_SHOWN: usize = 512;

/// What a server is reached by: the words of its command, or its URL.
pub(crate) struct Origin {
    /// The words, with secrets of known kinds masked.
    pub(crate) words: Vec<String>,
    /// The words as one text, of at most [`MAX_SHOWN`] bytes.
    pub(crate) shown: String,
    /// The digest of the words as they are, as in `sha256:…`.
    pub(crate) sha256: String,
}

impl Origin {
    pub(crate) fn of(words: &[String]) -> Self {
        let exact = TextDigest::of(&words.join("\0"));
        let words: Vec<String> = words.iter().map(|word| masked(word)).collect();
        let mut shown = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        shown.truncate(shown.floor_char_boundary(MAX_SHOWN));
        Self { words, shown, sha256: exact.sha256 }
    }
}

/// A word as it is, or as JSON where it could be taken for several.
fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"');
    if is_plain { word.to_owned() } else { Json::from(word).to_text() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_commands_are_two_origins() {
        let of = |words: &[&str]| Origin::of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["npx", "a b"]).shown, r#"npx "a b""#);
        assert_eq!(of(&["https://ci.example.org/mcp"]).shown, "https://ci.example.org/mcp");
        let long = "x".repeat(2 * MAX_SHOWN);
        assert_ne!(of(&[&long]).sha256, of(&[&format!("{long}y")]).sha256);
        assert_ne!(of(&["a", "b"]).sha256, of(&["a b"]).sha256);
        let key = of(&["run", "--key=AKIAABCDEFGHIJKLMNOP"]);
        assert!(!key.shown.contains("ABCDEFGH") && key.sha256.len() > 64, "{}", key.shown);
    }
}
