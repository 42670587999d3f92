//! When standard output is the one expected.

use crate::suite::TextRule;

/// Whether an output is the text expected, by one of the rules. White space is that of ASCII.
pub(super) fn equal(output: &[u8], expected: &str, rule: TextRule) -> bool {
    let expected = expected.as_bytes();
    match rule {
        TextRule::Exact => output == expected,
        TextRule::Trimmed => trimmed(output) == trimmed(expected),
        TextRule::Tokens => tokens(output).eq(tokens(expected)),
    }
}

fn is_space(byte: &u8) -> bool {
    // Not `u8::is_ascii_whitespace`, which leaves out the vertical tab.
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn trimmed(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_space(byte)).map_or(0, |last| last + 1);
    text.get(..end).unwrap_or(text)
}

fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(is_space).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_forgives_what_it_says_and_no_more() {
        let table = [
            ("a\n", "a\n", [true, true, true]),
            ("a\n", "a", [false, true, true]),
            ("a \t\r\n\n", "a\n", [false, true, true]),
            ("", " \n", [false, true, true]),
            (" a", "a", [false, false, true]),
            ("a \nb", "a\nb", [false, false, true]),
            ("a  b", "a b", [false, false, true]),
            ("ab", "a b", [false, false, false]),
            ("a\u{a0}", "a", [false, false, false]),
            ("a", "", [false, false, false]),
        ];
        for (output, expected, verdicts) in table {
            for (rule, right) in [TextRule::Exact, TextRule::Trimmed, TextRule::Tokens].into_iter().zip(verdicts) {
                assert_eq!(equal(output.as_bytes(), expected, rule), right, "{output:?} {expected:?} {rule:?}");
                assert_eq!(equal(expected.as_bytes(), output, rule), right, "{expected:?} {output:?} {rule:?}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_no_match() {
        for rule in [TextRule::Exact, TextRule::Trimmed, TextRule::Tokens] {
            assert!(!equal(b"a\xff", "a", rule));
            assert!(!equal(b"a\xff", "a\u{fffd}", rule));
        }
    }
}
