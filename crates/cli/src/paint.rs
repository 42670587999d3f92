//! Colour, on a terminal only, and text that no terminal or log acts on.

use std::env;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use clap::ValueEnum;
use proofmark_receipt::Verdict;
use proofmark_receipt::document::is_unseen;

/// When text has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorName {
    /// Where it is written to a terminal, and the environment does not say otherwise.
    #[default]
    Auto,
    Always,
    Never,
}

/// What `--color` says. It is here and not passed on, because errors are printed before and after every command.
static CHOSEN: OnceLock<ColorName> = OnceLock::new();

/// Has all text follow this choice.
pub(crate) fn choose(color: ColorName) {
    // There is one command line, so nothing chooses twice.
    let _ = CHOSEN.set(color);
}

/// Colours text, where colour is on.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// For standard output.
    pub(crate) fn for_stdout() -> Paint {
        Paint::of(io::stdout().is_terminal())
    }

    /// As [`Paint::for_stdout`], for standard error.
    pub(crate) fn for_stderr() -> Paint {
        Paint::of(io::stderr().is_terminal())
    }

    fn of(is_terminal: bool) -> Paint {
        let on = match CHOSEN.get().copied().unwrap_or_default() {
            ColorName::Always => true,
            ColorName::Never => false,
            // <https://no-color.org> and <https://bixense.com/clicolors>: an empty value asks for nothing, and neither does `0`.
            ColorName::Auto if is_set("NO_COLOR") => false,
            ColorName::Auto => is_terminal || ["CLICOLOR_FORCE", "FORCE_COLOR"].into_iter().any(is_set),
        };
        Paint { on }
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

    pub(crate) fn warning(self, text: &str) -> String {
        self.wrap(text, "1;33")
    }

    pub(crate) fn added(self, text: &str) -> String {
        self.wrap(text, "32")
    }

    pub(crate) fn removed(self, text: &str) -> String {
        self.wrap(text, "31")
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap(text, "2")
    }

    fn wrap(self, text: &str, code: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The text on one line, safe for a terminal, for the log of a CI system, and as text of XML and YAML.
///
/// Escaped are control characters, those that change the direction of writing (Unicode UAX 9) or are invisible, those that
/// XML cannot hold, and what GitHub Actions (`::command::` at the beginning of a line, `##[command]` anywhere) and Azure
/// Pipelines (`##vso[command]`) would run as a command: a submission chooses what it returns.
pub(crate) fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let begins_command = text.trim_start().starts_with("::");
    let mut begun = false;
    for (at, c) in text.char_indices() {
        let first = !begun && !c.is_whitespace();
        begun |= first;
        let command = (first && begins_command) || (c == '#' && is_log_command(text.get(at..).unwrap_or_default()));
        if !is_unseen(c) && !command {
            safe.push(c);
        } else if c.is_control() {
            safe.extend(c.escape_default());
        } else {
            safe.extend(c.escape_unicode());
        }
    }
    safe
}

/// Each line of the text as [`printable`] shows it.
pub(crate) fn printable_lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(printable)
}

/// A document of JSON in which what [`printable`] escapes is escaped, too, in the way of JSON: it says the same as before.
pub(crate) fn printable_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for (at, c) in json.char_indices() {
        // Such characters are in strings only, and none of them follows the backslash of an escape.
        let command = c == '#' && is_log_command(json.get(at..).unwrap_or_default());
        if command || (!c.is_ascii_control() && is_unseen(c)) || c == '\u{7f}' {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| safe.push_str(&format!("\\u{unit:04x}")));
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Whether a variable asks for something: to be empty or `0` is not to.
fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

fn is_log_command(text: &str) -> bool {
    ["##[", "##vso["].iter().any(|command| text.starts_with(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_terminals_and_logs_act_on_is_escaped() {
        for (text, safe) in [
            ("plain, with ümlauts and 日本\t", "plain, with ümlauts and 日本\t"),
            ("\x1b[31mred\x07", "\\u{1b}[31mred\\u{7}"),
            ("two\nlines\r", "two\\nlines\\r"),
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
            ("a\u{2028}b\u{feff}\u{fffe}\u{85}", "a\\u{2028}b\\u{feff}\\u{fffe}\\u{85}"),
            ("  ::error::no", "  \\u{3a}:error::no"),
            ("a::b", "a::b"),
            ("x ##[error]no ##vso[task.complete]", "x \\u{23}#[error]no \\u{23}#vso[task.complete]"),
            ("## heading", "## heading"),
        ] {
            assert_eq!(printable(text), safe);
        }
    }
}
