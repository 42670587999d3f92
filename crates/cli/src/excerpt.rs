//! The line that an error is about.

use crate::paint::printable;

/// The most characters of a line that an error shows.
const MAX_EXCERPT: usize = 100;
/// How many of them are before the caret, where the line is longer.
const BEFORE_CARET: usize = 40;

/// A line with a caret below its column, from 1. Of a long line, the part around the column.
pub(crate) fn caret(line: &str, column: u64) -> String {
    let column = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
    let length = line.chars().count();
    let start = if length > MAX_EXCERPT { column.saturating_sub(BEFORE_CARET).min(length - MAX_EXCERPT) } else { 0 };
    let part =
        |from: usize, count: usize| -> String { printable(&line.chars().skip(from).take(count).collect::<String>()) };
    let column = column.min(length);
    let (left, right) = (if start > 0 { "…" } else { "" }, if length - start > MAX_EXCERPT { "…" } else { "" });
    let before = format!("{left}{}", part(start, column.saturating_sub(start)));
    // A tab stays a tab: the caret is then below its column, however wide the terminal makes tabs.
    let indent: String = before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    format!("    {left}{}{right}\n    {indent}^", part(start, MAX_EXCERPT))
}

/// As [`caret`], of the line of a text that holds this byte. Of a long line, no more than what is shown is read.
pub(crate) fn caret_at(text: &[u8], offset: usize) -> String {
    // Four bytes for each character that may be shown on either side, and one character more, which shows that the line goes on.
    const AROUND: usize = 4 * (MAX_EXCERPT + 1);
    let offset = offset.min(text.len());
    let before = text.get(offset.saturating_sub(AROUND)..offset).unwrap_or_default();
    let before = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let after = text.get(offset..text.len().min(offset.saturating_add(AROUND))).unwrap_or_default();
    let after = after.split(|byte| *byte == b'\n').next().unwrap_or_default();
    // A character that is cut at the beginning is left out.
    let begin = before.iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
    let before = String::from_utf8_lossy(before.get(begin..).unwrap_or_default());
    let column = before.chars().count() as u64 + 1;
    caret(&format!("{before}{}", String::from_utf8_lossy(after).trim_end_matches('\r')), column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caret_is_below_its_column_whatever_the_line_holds() {
        assert_eq!(caret("ab cd", 4), "    ab cd\n       ^");
        assert_eq!(caret("\tx", 2), "    \tx\n    \t^");
        assert_eq!(caret("é\u{1b}x", 3), "    é\\u{1b}x\n           ^");
        assert_eq!(caret("ab", 9), "    ab\n      ^");
        let long = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let shown = caret(&long, 501);
        let (line, below) = shown.split_once('\n').unwrap();
        assert_eq!(line.chars().nth(below.chars().count() - 1), Some('X'));
        assert!(line.chars().count() < 110 && line.contains("…a") && line.ends_with('…'), "{shown}");
        assert!(caret(&long, 1).contains("    aaa") && !caret(&long, 1_001).ends_with('…'));
        assert_eq!(caret("", u64::MAX), "    \n    ^");
    }

    #[test]
    fn of_a_long_line_only_a_slice_is_read() {
        let text = format!("one\n{}éX{}\nthree", "é".repeat(500), "b".repeat(500));
        let offset = text.find('X').unwrap();
        let shown = caret_at(text.as_bytes(), offset);
        assert_eq!(shown, caret(text.lines().nth(1).unwrap(), 502));
        assert_eq!(caret_at(b"ab\ncd\nef", 4), caret("cd", 2));
        assert_eq!(caret_at(b"ab", 9), caret("ab", 3));
    }
}
