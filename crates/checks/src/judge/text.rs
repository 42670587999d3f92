//! When standard output is the one expected.

use crate::suite::TextRule;
use crate::words::{tokens, trimmed};

/// Whether an output is the text expected, by one of the rules.
pub(super) fn equal(output: &[u8], expected: &str, rule: TextRule) -> bool {
    let expected = expected.as_bytes();
    match rule {
        TextRule::Exact => output == expected,
        TextRule::Trimmed => trimmed(output) == trimmed(expected),
        TextRule::Tokens => tokens(output).eq(tokens(expected)),
    }
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
