/// Text from outside, safe to put into a message: control characters escaped, cut after 64 characters.
pub fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 64;
    let mut escaped = String::new();
    for char in text.chars().take(MAX_CHARS) {
        if char.is_control() { escaped.extend(char.escape_default()) } else { escaped.push(char) }
    }
    if text.chars().nth(MAX_CHARS).is_some() {
        escaped.push('…');
    }
    escaped
}

/// Whether a reader would not see the character, or would see the text around it in another order: control characters,
/// those that turn the direction of writing (Unicode UAX 9), those that are ignored when text is drawn or are drawn as nothing, and
/// those that no text may have. Line ends count, tabs do not.
#[must_use]
pub fn is_unseen(c: char) -> bool {
    let code = u32::from(c);
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let ignored = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}');
    let breaks_lines = matches!(c, '\u{2028}' | '\u{2029}');
    // Noncharacters, which XML and YAML refuse.
    let none = code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code);
    (c.is_control() && c != '\t') || turns || ignored || breaks_lines || none
}

/// A number of things: `1 approval`, `2 approvals`.
pub fn counted(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_cut() {
        assert_eq!(shown("naïve"), "naïve");
        assert_eq!(shown("a\u{1b}[31m\n"), "a\\u{1b}[31m\\n");
        assert_eq!(shown(&"x".repeat(64)), "x".repeat(64));
        assert_eq!(shown(&"x".repeat(65)), format!("{}…", "x".repeat(64)));
    }
}
