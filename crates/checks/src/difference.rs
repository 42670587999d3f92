//! How an answer differs from the expected one, in lines for people.
//!
//! The text begins with the place of the first difference. Lines of the expected side begin with `- `, those of the answer
//! with `+ `, and equal ones with two blanks. Whatever counts as equal is written the same on both sides. The submission
//! chooses the answer, so every search here is limited, and what was not compared is not shown.

use crate::compare::{Rules, Tolerance};
use crate::render::Notation;
use crate::suite::TextRule;
use crate::value::Value;

mod align;
mod page;
mod show;
mod text;
mod trail;
mod walk;

pub use page::MAX_DIFFERENCE_CHARS;
pub(crate) use page::shortened;

/// The longest value or line that is shown as one line, in characters.
const MAX_LINE_CHARS: usize = 60;

/// How two values are compared and written.
#[derive(Clone, Copy)]
pub(crate) struct Comparison {
    pub(crate) rules: Rules,
    pub(crate) tolerance: Option<Tolerance>,
    pub(crate) notation: &'static Notation,
}

/// Where two texts or values differ first, and how.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// At most [`MAX_DIFFERENCE_CHARS`] characters; `None` for a pair that says it itself.
    pub(crate) text: Option<String>,
    /// The byte of the first difference in the expected value as it is written out in full.
    pub(crate) expected_at: usize,
    /// The same of the answer.
    pub(crate) answer_at: usize,
}

/// How an answer differs from an expected value; `None` where they are equal.
pub(crate) fn of_values(expected: &Value, answer: &Value, by: Comparison) -> Option<Difference> {
    let found = walk::differ(expected, answer, by)?;
    let trail = trail::of(&found, expected, answer, by.notation);
    let text = match (expected, answer) {
        (Value::Text(expected), Value::Text(answer)) if [expected, answer].iter().any(|text| text.contains('\n')) => {
            text::of(expected.as_bytes(), answer.as_bytes(), TextRule::Exact).text
        }
        _ if trail.is_plain => None,
        _ => Some(show::page(&found, &trail, by)),
    };
    Some(Difference { text, expected_at: trail.expected_at, answer_at: trail.answer_at })
}

/// How an output that is not the expected text differs from it.
pub(crate) fn of_texts(expected: &str, output: &[u8], rule: TextRule) -> Difference {
    text::of(expected.as_bytes(), output, rule)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compare::{Tolerance, equal};
    use crate::language::Language;
    use crate::value::Integer;

    fn by(language: Language) -> Comparison {
        Comparison { rules: language.rules(), tolerance: None, notation: language.notation() }
    }

    fn read(wire: &str) -> Value {
        Value::decode(wire.as_bytes()).unwrap()
    }

    /// The difference of two values in Python, as a text that ends with a line break.
    fn shown(expected: &str, answer: &str) -> String {
        let found = of_values(&read(expected), &read(answer), by(Language::Python)).unwrap();
        found.text.map_or_else(String::new, |text| text + "\n")
    }

    fn texts(expected: &str, output: &str, rule: TextRule) -> String {
        of_texts(expected, output.as_bytes(), rule).text.map_or_else(String::new, |text| text + "\n")
    }

    #[test]
    fn the_first_difference_of_values_is_shown_with_its_place() {
        assert_eq!(shown("[1,2,3]", "[1,2,4]"), "at [2]\n- [1, 2, 3]\n+ [1, 2, 4]\n");
        assert_eq!(shown("[1]", r#"{"t":[1]}"#), "tuple instead of list\n- [1]\n+ (1,)\n");
        assert_eq!(shown("\"\u{430}\"", "\"a\""), "U+0061 instead of U+0430\n- '\u{430}'\n+ 'a'\n");
        let expected = r#"{"d":[["a",1],["b",[2,3]]]}"#;
        assert_eq!(
            shown(expected, r#"{"d":[["b",[2,3]],["c",1]]}"#),
            "at .a: missing\n- {'a': 1, 'b': [2, 3]}\n+ {'b': [2, 3], 'c': 1}\n"
        );
        let numbers = |changed: &str| {
            format!(
                "[{}]",
                (0..9_000)
                    .map(|index| if index == 8_800 { changed.to_owned() } else { index.to_string() })
                    .collect::<Vec<_>>()
                    .join(",")
            )
        };
        assert_eq!(
            shown(&numbers("1"), &numbers("2")),
            "at [8800]\n  [\n    … 8798 equal lines\n    8798,\n    8799,\n-   1,\n+   2,\n    8801,\n    8802,\n    … 197 equal lines\n  ]\n"
        );
        let long = |middle: &str| format!("\"{}{middle}{}\"", "ab".repeat(2_000), "z".repeat(100));
        let (before, after) = ("ab".repeat(12), "z".repeat(55));
        assert_eq!(
            shown(&long("1"), &long("2")),
            format!("at character 4001\n- …{before}1{after}…\n+ …{before}2{after}…\n")
        );
        assert_eq!(
            shown(r#"{"s":[1,2]}"#, r#"{"s":[2,{"f":"1.0"},3]}"#),
            "a member is not expected\n- {1, 2}\n+ {1, 2, 3}\n"
        );
    }

    #[test]
    fn what_counts_as_equal_is_written_the_same_on_both_sides() {
        let record = |price: &str, quantity: &str| {
            format!(
                r#"{{"d":[["name","a name that takes most of a line of its own"],["price",{price}],["quantity",{quantity}]]}}"#
            )
        };
        assert_eq!(
            shown(&record("3", "10"), &record(r#"{"f":"3.5"}"#, r#"{"f":"10.0"}"#)),
            "at .price\n  {\n    'name': 'a name that takes most of a line of its own',\n-   'price': 3,\n+   'price': 3.5,\n    'quantity': 10,\n  }\n"
        );
        let near = Comparison { tolerance: Some(Tolerance::Absolute(0.5)), ..by(Language::Python) };
        let (expected, answer) = (read(r#"[{"f":"1.0"},2,"a"]"#), read(r#"[{"f":"1.4"},2,"b"]"#));
        let text = of_values(&expected, &answer, near).unwrap().text.unwrap();
        assert_eq!(text, "at [2]\n- [1.0, 2, 'a']\n+ [1.0, 2, 'b']");
    }

    #[test]
    fn a_short_pair_says_it_itself() {
        for (expected, answer) in [("1", "2"), ("1", "\"1\""), ("\"a\"", "\"b\""), ("null", "true")] {
            assert_eq!(shown(expected, answer), "");
        }
        assert_eq!(texts("5\n", "6\n", TextRule::Trimmed), "");
    }

    #[test]
    fn texts_are_compared_by_their_rule() {
        use TextRule::{Exact, Tokens, Trimmed};
        let table = [
            ("3 a\n1 d\n", "3 a\n1 e", Trimmed, "at character 3 of line 2\n  3 a\n- 1 d\n+ 1 e\n"),
            ("a\nb\n", "", Trimmed, "the output is empty\n- a\n- b\n+ (empty)\n"),
            ("", "x", Exact, "nothing was expected\n- (empty)\n+ x\n"),
            ("a\n", "a", Exact, "at line 2: missing\n  a\n- (line break at the end)\n"),
            ("a\nb", "a\n\nb", Trimmed, "at line 2: not expected\n  a\n+ (empty line)\n  b\n"),
            ("a\tb\nc", "a b \nc", Trimmed, "at character 2 of line 1\n- a\\tb\n+ a b·\n  c\n"),
            ("a\nb", "a\r\nb", Trimmed, "at character 2 of line 1\n- a\n+ a\\r\n  b\n"),
            ("a\\tb", "a\tb", Trimmed, "at character 2\n- a\\\\tb\n+ a\\tb\n"),
            ("1 2\n3 4\n", "1  2\n3 5\n", Tokens, "at character 3 of line 2\n  1 2\n- 3 4\n+ 3 5\n"),
            ("1 2\n3 4\n", "1\n2 3 5\n", Tokens, "at word 4\n  … 1 equal line\n  2\n  3\n- 4\n+ 5\n"),
        ];
        for (expected, output, rule, text) in table {
            assert_eq!(texts(expected, output, rule), text, "{expected:?} {output:?}");
        }
        let raw = of_texts("a", b"a\xff", Trimmed).text;
        assert_eq!(raw.as_deref(), Some("at character 2: U+FFFD instead of the end\n- a\n+ a\\xff"));
    }

    #[test]
    fn a_line_that_is_left_out_of_thousands_is_the_only_difference() {
        let rows = |left_out: usize| {
            (0..9_000).filter(|row| *row != left_out).map(|row| format!("row {row}\n")).collect::<String>()
        };
        assert_eq!(
            texts(&rows(9_999), &rows(100), TextRule::Trimmed),
            "at line 101: missing\n  … 98 equal lines\n  row 98\n  row 99\n- row 100\n  row 101\n  … 8898 equal lines\n"
        );
    }

    /// Answers made to cost much. That this test ends soon is what it asserts.
    #[test]
    fn no_answer_takes_long_to_compare() {
        let wires = [
            format!("[{}0]", "0,".repeat(40_000)),
            format!("[{}1]", "0,".repeat(40_001)),
            format!("[{}]", (0..30_000).rev().map(|item| item.to_string()).collect::<Vec<_>>().join(",")),
            format!("{}1{}", "[0,[1],".repeat(250), "]".repeat(250)),
            format!("{}2{}", "[[1],0,".repeat(250), "]".repeat(250)),
            format!(r#"{{"s":[{}]}}"#, (0..10_000).map(|item| item.to_string()).collect::<Vec<_>>().join(",")),
            format!(r#"{{"d":[{}]}}"#, (0..10_000).map(|item| format!("[{item},[]]")).collect::<Vec<_>>().join(",")),
            format!("\"{}\"", "x".repeat(1 << 17)),
            format!("[{}]", vec![format!("\"{}\"", "y".repeat(2_000)); 500].join(",")),
            "9".repeat(1 << 18),
        ];
        let values: Vec<_> = wires.iter().map(|wire| read(wire)).collect();
        for expected in &values {
            for answer in &values {
                if let Some(difference) = of_values(expected, answer, by(Language::Python)) {
                    assert!(difference.text.is_none_or(|text| text.chars().count() <= MAX_DIFFERENCE_CHARS));
                }
            }
        }
        let lines = [
            "\n".repeat(1 << 17),
            "a\n".repeat(1 << 16),
            "a".repeat(1 << 17),
            "a ".repeat(1 << 16),
            "\u{1}".repeat(1 << 17),
        ];
        for expected in &lines {
            for output in &lines {
                for rule in [TextRule::Exact, TextRule::Trimmed, TextRule::Tokens] {
                    let text = of_texts(expected, output.as_bytes(), rule).text;
                    assert!(text.is_none_or(|text| text.chars().count() <= MAX_DIFFERENCE_CHARS));
                }
            }
        }
    }

    /// A leaf inside of containers, with other members around it; and the path to it.
    fn nested(levels: &[(u8, usize, usize)], leaf: Value, filler: &Value) -> (Value, String) {
        let mut value = leaf;
        let mut path = String::new();
        for (kind, before, after) in levels {
            let key = |index: usize| Value::Text(format!("key {index}"));
            let around = |value: Value| {
                let fillers = |count: usize| vec![filler.clone(); count];
                [fillers(*before), vec![value], fillers(*after)].concat()
            };
            value = match kind % 3 {
                0 => Value::List(around(value)),
                1 => Value::Tuple(around(value)),
                _ => Value::Dict(
                    around(value).into_iter().enumerate().map(|(index, value)| (key(index), value)).collect(),
                ),
            };
            path = match kind % 3 {
                0 | 1 => format!("[{before}]{path}"),
                _ => format!("['key {before}']{path}"),
            };
        }
        (value, path)
    }

    fn lines_of(text: &str, sign: char) -> Vec<&str> {
        text.lines().filter(|line| line.starts_with(sign)).collect()
    }

    fn leaf() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            (0..3i32).prop_map(|number| Value::Int(Integer::new(&number.to_string()).unwrap())),
            prop::sample::select(vec![0.0, 1.0, 2.5, f64::NAN]).prop_map(Value::Float),
            "[ab]{0,2}".prop_map(Value::Text),
            "\\PC{0,80}".prop_map(Value::Text),
            Just(Value::Wide(vec![0xed, 0xa0, 0x80])),
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        leaf().prop_recursive(4, 40, 6, |inner| {
            let items = prop::collection::vec(inner.clone(), 0..6);
            let pairs = prop::collection::vec((inner.clone(), inner), 0..4);
            prop_oneof![
                items.clone().prop_map(Value::List),
                items.clone().prop_map(Value::Tuple),
                items.prop_map(Value::Set),
                pairs.clone().prop_map(Value::Dict),
                pairs.prop_map(Value::Map),
            ]
        })
    }

    proptest! {
        #[test]
        fn only_unequal_values_differ_and_no_text_is_too_long(expected in value(), answer in value(), near in any::<bool>()) {
            for language in [Language::Python, Language::JavaScript] {
                for rules in [language.rules(), language.rules().as_json()] {
                    let by = Comparison { rules, tolerance: near.then_some(Tolerance::Absolute(0.5)), notation: language.notation() };
                    for (one, other) in [(&expected, &answer), (&expected, &expected)] {
                        let difference = of_values(one, other, by);
                        prop_assert_eq!(difference.is_none(), equal(other, one, rules, by.tolerance));
                        if let Some(text) = difference.and_then(|difference| difference.text) {
                            prop_assert!(text.chars().count() <= MAX_DIFFERENCE_CHARS);
                            prop_assert!(!(lines_of(&text, '-').is_empty() && lines_of(&text, '+').is_empty()), "{}", text);
                        }
                    }
                }
            }
        }

        #[test]
        fn one_changed_leaf_is_the_only_difference_wherever_it_is(
            levels in prop::collection::vec((any::<u8>(), 0..30usize, 0..30usize), 1..12),
            wide in any::<bool>(),
        ) {
            let [expected, answer] = ["111222", "333444"].map(|digits| Value::Int(Integer::new(digits).unwrap()));
            let filler = |number: f64| if wide {
                Value::List(vec![Value::Text("a filler that takes most of a line".to_owned()), Value::Float(number)])
            } else {
                Value::Float(number)
            };
            let one = Value::Int(Integer::new("1").unwrap());
            let other = if wide { filler(1.0) } else { one };
            let (expected, path) = nested(&levels, expected, &other);
            let (answer, _) = nested(&levels, answer, &filler(1.0));
            let difference = of_values(&expected, &answer, by(Language::Python)).unwrap();
            let text = difference.text.unwrap();
            prop_assert!(text.chars().count() <= MAX_DIFFERENCE_CHARS);
            let heading = text.lines().next().unwrap_or_default();
            let place = heading.trim_start_matches("at ").trim_start_matches('…');
            prop_assert!(path.ends_with(place) && place.len() >= path.len().min(160), "{} {}", path, heading);
            let [minus, plus] = ['-', '+'].map(|sign| lines_of(&text, sign));
            prop_assert!(minus.len() == 1 && minus[0].contains("111222") && !minus[0].contains("333444"), "{}", text);
            prop_assert!(plus.len() == 1 && plus[0].contains("333444"), "{}", text);
            let written = [(&expected, difference.expected_at, "111222"), (&answer, difference.answer_at, "333444")];
            for (value, at, leaf) in written {
                prop_assert!(crate::render::render(value, by(Language::Python).notation)[at..].starts_with(leaf));
            }
        }

        #[test]
        fn one_changed_character_is_shown_wherever_it_is(
            before in "[a-d \n]{0,3000}",
            after in "[a-d \n]{0,3000}",
            rule in prop::sample::select(vec![TextRule::Exact, TextRule::Trimmed, TextRule::Tokens]),
        ) {
            let [expected, output] = ['X', 'Y'].map(|char| format!("{before}{char}{after}"));
            let difference = of_texts(&expected, output.as_bytes(), rule);
            let text = difference.text.unwrap_or_else(|| format!("- {expected}\n+ {output}"));
            prop_assert!(text.chars().count() <= MAX_DIFFERENCE_CHARS);
            let [minus, plus] = ['-', '+'].map(|sign| lines_of(&text, sign));
            prop_assert!(minus.iter().any(|line| line.contains('X')), "{}", text);
            prop_assert!(plus.iter().any(|line| line.contains('Y')), "{}", text);
            prop_assert!(difference.expected_at <= before.len() && difference.answer_at <= before.len());
            if rule != TextRule::Tokens {
                prop_assert_eq!([difference.expected_at, difference.answer_at], [before.len(); 2]);
                prop_assert!(minus.len() == 1 && plus.len() == 1, "{}", text);
            }
        }

        #[test]
        fn no_bytes_make_a_difference_too_long_or_panic(
            expected in "\\PC{0,300}",
            output in prop::collection::vec(any::<u8>(), 0..600),
            rule in prop::sample::select(vec![TextRule::Exact, TextRule::Trimmed, TextRule::Tokens]),
        ) {
            if let Some(text) = of_texts(&expected, &output, rule).text {
                prop_assert!(text.chars().count() <= MAX_DIFFERENCE_CHARS);
                prop_assert!(text.chars().all(|char| char == '\n' || !char.is_control()), "{:?}", text);
            }
        }
    }
}
