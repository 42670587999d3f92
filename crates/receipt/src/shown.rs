/// Text from outside, safe to put into a message: control characters escaped, cut after 64 characters.
pub fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 64;
    let mut escaped = String::new();
    for char in text.chars().take(MAX_CHARS) {
        match char.is_control() {
            true => escaped.extend(char.escape_default()),
            false => escaped.push(char),
        }
    }
    if text.chars().nth(MAX_CHARS).is_some() {
        escaped.push('…');
    }
    escaped
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
