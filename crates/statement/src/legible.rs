//! Values as people read them. Two different values never have the same text, whatever an agent puts into them.
//!
//! A text is written as it is where nothing else would look like it, and as a JSON string otherwise. In a text that is
//! written as it is, what nobody would see is marked: `↵` before a line end, `⇥` before a tab, and `⟨U+202E⟩`. A text that
//! has such a mark of its own is written as a JSON string. So each value can be read back from its text; that is the reason why
//! no two have the same one, and what the tests try.

use std::borrow::Cow;
use std::fmt::Write;

use proofmark_receipt::Json;
use proofmark_receipt::document::is_unseen;

/// Marks of ours. A text that has one is written as a JSON string.
const MARKS: [char; 4] = ['↵', '⇥', '⟨', '⟩'];

/// A value, with a line for each member of an object and each item of a list.
#[must_use]
pub fn legible(value: &Json) -> String {
    match value {
        Json::String(text) => legible_text(text).into_owned(),
        other => {
            let mut out = String::new();
            write(other, 0, &mut out);
            out
        }
    }
}

/// A name that an agent chose: without quotes only where it is one word, since a value may follow on the same line.
#[must_use]
pub fn legible_name(name: &str) -> Cow<'_, str> {
    if name.contains(char::is_whitespace) { Cow::Owned(quoted(name)) } else { legible_text(name) }
}

/// A text of an agent.
#[must_use]
pub fn legible_text(text: &str) -> Cow<'_, str> {
    if !is_bare(text) {
        return Cow::Owned(quoted(text));
    }
    if !text.chars().any(is_strange) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("↵\n"),
            '\t' => out.push_str("⇥\t"),
            c if is_strange(c) => {
                let _ = write!(out, "⟨U+{:04X}⟩", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether a text says what it is without quotes: no blank is at its ends, where nobody sees it, and it is not the text of another value.
fn is_bare(text: &str) -> bool {
    let is_seen = !text.is_empty() && !text.starts_with(' ') && !text.ends_with(' ');
    // Logs of CI systems run such lines as commands, so who prints them has to escape them.
    let is_command = text.contains("##") || text.lines().any(|line| line.trim_start().starts_with("::"));
    is_seen && !text.contains(MARKS) && !is_command && Json::parse(text.as_bytes()).is_err()
}

/// Whether a character looks like nothing, or like another one: also a space that is not the usual one, and a tab.
fn is_strange(c: char) -> bool {
    is_unseen(c) || (c.is_whitespace() && c != ' ')
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    string(text, &mut out);
    out
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_strange(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn write(json: &Json, depth: usize, out: &mut String) {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    match json {
        Json::String(text) => string(text, out),
        Json::Array(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                line(out, depth + 1);
                write(item, depth + 1, out);
            }
            line(out, depth);
            out.push(']');
        }
        Json::Object(object) if !object.is_empty() => {
            out.push('{');
            for (index, (name, value)) in object.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                line(out, depth + 1);
                string(name, out);
                out.push_str(": ");
                write(value, depth + 1, out);
            }
            line(out, depth);
            out.push('}');
        }
        other => out.push_str(&other.to_text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> String {
        legible(&Json::parse(json.as_bytes()).unwrap())
    }

    #[test]
    fn plain_texts_are_written_as_they_are() {
        for text in ["order O-20931", "naïve", "a  b", "it's \"so\"", "back\\slash", "{", "-", "2026-11-23"] {
            assert_eq!(legible_text(text), text);
        }
    }

    #[test]
    fn what_looks_like_another_value_is_quoted_and_what_nobody_sees_is_marked() {
        for (value, text) in [
            ("\"\"", "\"\""),
            ("\"1240\"", "\"1240\""),
            ("1240", "1240"),
            ("\"null\"", "\"null\""),
            ("\"{}\"", "\"{}\""),
            ("\"\\\"a\\\"\"", "\"\\\"a\\\"\""),
            ("\" a\"", "\" a\""),
            ("\"a \"", "\"a \""),
            ("\"a\\nb\\tc\"", "a↵\nb⇥\tc"),
            ("\"a\\n\"", "a↵\n"),
            ("\"1\\n\"", "\"1\\n\""),
            ("\"a↵\\nb\"", "\"a↵\\nb\""),
            ("\"a\u{202e}b\"", "a⟨U+202E⟩b"),
            ("\"a⟨U+202E⟩b\"", "\"a⟨U+202E⟩b\""),
            ("\"a\u{2800}b\u{fff5}c\"", "a⟨U+2800⟩b⟨U+FFF5⟩c"),
            ("[\"a\u{1d173}\"]", "[\n  \"a\\ud834\\udd73\"\n]"),
            ("{\"a\":[1,{}],\"b\":[]}", "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"),
        ] {
            assert_eq!(of(value), text);
        }
    }
}
