//! Colour, on a terminal only.

use std::io::IsTerminal;

use proofmark_receipt::Verdict;

/// Colours text, where colour is on.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// On when standard output is a terminal and `NO_COLOR` is not set (<https://no-color.org>).
    pub(crate) fn for_stdout() -> Paint {
        // The convention says that an empty value is no request.
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Paint { on: !no_color && std::io::stdout().is_terminal() }
    }

    pub(crate) fn verdict(self, verdict: Verdict) -> String {
        match verdict {
            Verdict::Pass => self.good(verdict.as_str()),
            Verdict::Fail | Verdict::Partial | Verdict::Error => self.bad(verdict.as_str()),
        }
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.wrap(text, "1;32")
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap(text, "1;31")
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap(text, "2")
    }

    fn wrap(self, text: &str, code: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The text with control characters and those that change the direction of writing (Unicode UAX 9) escaped, so that what
/// a submission returned cannot drive or deceive the terminal that shows it.
pub(crate) fn printable(text: &str) -> String {
    let turns =
        |c: char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hidden = |c: char| c.is_control() && c != '\t';
    let visible = |c: char| if hidden(c) || turns(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(visible).collect()
}
