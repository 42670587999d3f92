//! Text from outside on a page: escaped, and with what nobody would see shown by its number.

use std::fmt::{self, Write};

use askama::filters::HtmlSafe;
use proofmark_receipt::document::is_unseen;

/// Text from outside. In a template `{{ text }}` is HTML: markup is escaped, and a character that nobody sees, or that turns
/// the direction of writing, is shown by its number, as `⟨U+202E⟩`. Line ends and tabs stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown(String);

impl Shown {
    /// At most so many characters of the text, on one line.
    pub(crate) fn line(text: &str, max: usize) -> Self {
        let mut line = String::new();
        let mut characters = text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c });
        line.extend(characters.by_ref().take(max));
        if characters.next().is_some() {
            line.push('…');
        }
        Self(line)
    }

    /// The same for messages of ours, in which what stands between two backticks is code.
    pub(crate) fn with_code(text: &str) -> Coded {
        Coded(text.into())
    }

    /// For an attribute or a title, which cannot hold markup: the same without it, on one line.
    pub(crate) fn plain(&self) -> String {
        let mut plain = String::with_capacity(self.0.len());
        for c in self.0.chars() {
            match c {
                '\n' | '\t' => plain.push(' '),
                c if is_strange(c) => plain.push_str(&number(c)),
                c => plain.push(c),
            }
        }
        plain
    }

    /// The text itself, for what is not shown: an address, or a comparison.
    pub(crate) fn raw(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for Shown {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

// `Display` escapes, so a template must not escape again.
impl HtmlSafe for Shown {}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&#34;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(c)?,
                c if is_strange(c) => write!(f, "<span class=\"unseen\">{}</span>", number(c))?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A message with code between backticks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Coded(Shown);

impl HtmlSafe for Coded {}

impl fmt::Display for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<&str> = self.0.0.split('`').collect();
        // Without its pair a backtick is a backtick.
        let last = parts.len().saturating_sub(1);
        for (index, part) in parts.into_iter().enumerate() {
            let text = Shown::from(part);
            if index % 2 == 0 {
                write!(f, "{text}")?;
            } else if index < last {
                write!(f, "<code>{text}</code>")?;
            } else {
                write!(f, "`{text}")?;
            }
        }
        Ok(())
    }
}

/// Whether a character looks like nothing, or like another: also a space that is not the usual one.
fn is_strange(c: char) -> bool {
    is_unseen(c) || (c.is_whitespace() && c != ' ')
}

fn number(c: char) -> String {
    format!("⟨U+{:04X}⟩", u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_and_what_nobody_sees_is_shown() {
        let hostile = Shown::from("<b>\"'&\u{202e}x\r\n\u{a0}");
        let seen = |number: &str| format!("<span class=\"unseen\">⟨{number}⟩</span>");
        let html = format!("&lt;b&gt;&#34;&#39;&amp;{}x{}\n{}", seen("U+202E"), seen("U+000D"), seen("U+00A0"));
        assert_eq!(hostile.to_string(), html);
        assert_eq!(hostile.plain(), "<b>\"'&⟨U+202E⟩x⟨U+000D⟩ ⟨U+00A0⟩");
        assert_eq!(Shown::with_code("as `<a>`, `b").to_string(), "as <code>&lt;a&gt;</code>, `b");
        assert_eq!(Shown::line("a\nbc", 3).raw(), "a b…");
        assert_eq!(Shown::line("a\nb", 3).raw(), "a b");
    }
}
