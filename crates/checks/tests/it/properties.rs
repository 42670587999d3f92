//! Properties of comparing, reading and showing, over values and bytes nobody chose.

use proofmark_checks::{Format, Integer, Integers, Language, Request, Rules, Tolerance, Value, equal};
use proptest::prelude::*;

fn all_rules() -> Vec<Rules> {
    Language::ALL.into_iter().flat_map(|language| [language.rules(), language.rules().as_json()]).collect()
}

const REQUEST: &str = r#"{"task": {"task_id": "t"}, "specification": [1, true], "output": {"content": "x"}, "verification":
    {"kind": "test_suite", "language": "python", "entrypoint": "f", "limits": {"memory_mb": 64}, "tests":
    [{"name": "a", "input": "[[3, 1, 2]]", "expected_output": {"k": [1.5, null]}, "timeout_ms": 5000}]}}"#;

const REQUEST_YAML: &str = "task: {task_id: t}\nspecification: &s [1, true, *s0]\noutput:\n  content: |\n    x = 1\n    y\n\
    verification:\n  kind: test_suite\n  language: python\n  tests:\n    - {name: a, input: 'f(1)', expected_output: \"2\"}\n";

fn integer() -> impl Strategy<Value = Integer> {
    let digits = prop_oneof!["-?[0-3]", Just("9007199254740992".to_owned()), Just("9007199254740993".to_owned())];
    digits.prop_map(|digits| Integer::new(&digits).unwrap())
}

fn float() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![0.0, -0.0, 1.0, 2.0, 0.5, -1.0, 9_007_199_254_740_992.0, f64::NAN, f64::INFINITY])
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(Value::Undefined),
        any::<bool>().prop_map(Value::Bool),
        integer().prop_map(Value::Int),
        float().prop_map(Value::Float),
        (float(), prop::sample::select(vec![0.0, 1.0])).prop_map(|(re, im)| Value::Complex(re, im)),
        integer().prop_map(Value::BigInt),
        "[ab]{0,2}".prop_map(Value::Text),
        Just(Value::Wide(vec![0xed, 0xa0, 0x80])),
        prop::collection::vec(b'a'..=b'b', 0..2).prop_map(Value::Bytes),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 24, 4, |inner| {
        let items = prop::collection::vec(inner.clone(), 0..4);
        let pairs = prop::collection::vec((inner.clone(), inner), 0..3);
        prop_oneof![
            items.clone().prop_map(Value::List),
            items.clone().prop_map(Value::Tuple),
            items.prop_map(Value::Set),
            pairs.clone().prop_map(Value::Dict),
            pairs.prop_map(Value::Map),
        ]
    })
}

fn tolerance() -> impl Strategy<Value = Tolerance> {
    prop_oneof![(0.0..2.0).prop_map(Tolerance::Absolute), (1e-12..1.0).prop_map(Tolerance::Relative)]
}

/// The same value with its sets and dicts in another order.
fn turned(value: &Value) -> Value {
    let pairs =
        |pairs: &[(Value, Value)]| pairs.iter().rev().map(|(key, member)| (turned(key), turned(member))).collect();
    match value {
        Value::List(items) => Value::List(items.iter().map(turned).collect()),
        Value::Tuple(items) => Value::Tuple(items.iter().map(turned).collect()),
        Value::Set(items) => Value::Set(items.iter().rev().map(turned).collect()),
        Value::Dict(entries) => Value::Dict(pairs(entries)),
        Value::Map(entries) => Value::Map(pairs(entries)),
        other => other.clone(),
    }
}

/// Equality as the reference says it, by search instead of by sorting.
fn naive(left: &Value, right: &Value, rules: Rules) -> bool {
    let alike = rules.json;
    match (left, right) {
        (Value::Null | Value::Undefined, Value::Null | Value::Undefined) if alike => true,
        (Value::Null, Value::Null) | (Value::Undefined, Value::Undefined) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::BigInt(left), Value::BigInt(right)) => left == right,
        (Value::Text(left), Value::Text(right)) => left == right,
        (Value::Wide(left), Value::Wide(right)) | (Value::Bytes(left), Value::Bytes(right)) => left == right,
        (Value::List(left), Value::List(right)) | (Value::Tuple(left), Value::Tuple(right)) => {
            in_order(left, right, rules)
        }
        (Value::List(left), Value::Tuple(right)) | (Value::Tuple(left), Value::List(right)) => {
            alike && in_order(left, right, rules)
        }
        (Value::Set(left), Value::Set(right)) => matched(left, right, |left, right| naive(left, right, rules)),
        (Value::Dict(left), Value::Dict(right)) | (Value::Map(left), Value::Map(right)) => {
            matched(left, right, |left, right| naive(&left.0, &right.0, rules) && naive(&left.1, &right.1, rules))
        }
        _ => match (number(left, rules), number(right, rules)) {
            (Some(left), Some(right)) => same_number(&left, &right),
            _ => false,
        },
    }
}

fn in_order(left: &[Value], right: &[Value], rules: Rules) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| naive(left, right, rules))
}

fn matched<T>(left: &[T], right: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    let mut rest: Vec<&T> = right.iter().collect();
    left.iter().all(|item| rest.iter().position(|other| same(item, other)).map(|at| rest.remove(at)).is_some())
        && rest.is_empty()
}

enum Number {
    Exact(i128),
    Double(f64, f64),
}

fn number(value: &Value, rules: Rules) -> Option<Number> {
    let exact = |re: f64, im: f64| {
        if re.is_finite() && re.fract() == 0.0 && im == 0.0 {
            Number::Exact(re as i128)
        } else {
            Number::Double(re, im)
        }
    };
    let doubles = rules.integers == Integers::Doubles;
    Some(match value {
        Value::Bool(truth) if rules.booleans_are_numbers => Number::Exact(i128::from(*truth)),
        Value::Int(integer) if doubles => exact(integer.to_f64(), 0.0),
        Value::Int(integer) => Number::Exact(integer.to_i128()?),
        Value::Float(number) => exact(*number, 0.0),
        Value::Complex(re, im) => exact(*re, *im),
        _ => return None,
    })
}

fn same_number(left: &Number, right: &Number) -> bool {
    let same = |left: f64, right: f64| left == right || (left.is_nan() && right.is_nan());
    match (left, right) {
        (Number::Exact(left), Number::Exact(right)) => left == right,
        (Number::Double(left_re, left_im), Number::Double(right_re, right_im)) => {
            same(*left_re, *right_re) && same(*left_im, *right_im)
        }
        (Number::Exact(_), Number::Double(..)) | (Number::Double(..), Number::Exact(_)) => false,
    }
}

fn reads_or_refuses(bytes: &[u8]) {
    for format in [Format::Json, Format::Yaml] {
        for submission in [None, Some("x")] {
            if let Err(error) = Request::read(bytes, format, submission) {
                assert!(!error.code().is_empty() && !error.message().is_empty());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equality_agrees_with_the_search(left in value(), right in value()) {
        for rules in all_rules() {
            prop_assert_eq!(equal(&left, &right, rules, None), naive(&left, &right, rules), "{:?}", rules);
        }
    }

    #[test]
    fn leaves_agree_with_the_search(left in leaf(), right in leaf()) {
        for rules in all_rules() {
            prop_assert_eq!(equal(&left, &right, rules, None), naive(&left, &right, rules), "{:?}", rules);
        }
    }

    #[test]
    fn equality_is_reflexive_and_knows_no_order_of_sets_and_dicts(value in value(), tolerance in prop::option::of(tolerance())) {
        for rules in all_rules() {
            prop_assert!(equal(&value, &value, rules, None));
            prop_assert!(equal(&value, &value, rules, tolerance));
            prop_assert!(equal(&value, &turned(&value), rules, None));
            prop_assert!(naive(&value, &turned(&value), rules));
        }
    }

    #[test]
    fn equality_is_symmetric_and_tolerance_only_forgives(left in value(), right in value(), tolerance in tolerance()) {
        for rules in all_rules() {
            prop_assert_eq!(equal(&left, &right, rules, None), equal(&right, &left, rules, None));
            let near = equal(&left, &right, rules, Some(tolerance));
            prop_assert_eq!(equal(&left, &right, rules, None), equal(&right, &left, rules, None));
            prop_assert!(near || !equal(&left, &right, rules, None));
        }
    }

    #[test]
    fn decoding_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Value::decode(&bytes);
    }

    #[test]
    fn what_is_decoded_equals_itself(wire in r#"(\{"[ftsdmbwnucx]":\[?|\[|\]|\}|,|"[0-9a-f.]*"|[0-9]+|null){0,12}"#) {
        if let Ok(value) = Value::decode(wire.as_bytes()) {
            for rules in all_rules() {
                prop_assert!(equal(&value, &value, rules, None));
            }
        }
    }

    #[test]
    fn reading_never_panics_on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        reads_or_refuses(&bytes);
    }

    #[test]
    fn reading_never_panics_on_text_like_yaml(text in "([a-c&*!|>'\"{}\\[\\],:#?~%@ \n\t-]|: |- |<<|\n  |yes|0x|1e9|---\n){0,60}") {
        reads_or_refuses(text.as_bytes());
    }

    #[test]
    fn reading_never_panics_on_a_request_gone_wrong(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..4u8, any::<u8>()), 1..6),
        yaml in any::<bool>(),
    ) {
        let mut bytes = if yaml { REQUEST_YAML } else { REQUEST }.as_bytes().to_vec();
        for (at, how, byte) in changes {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"{}[]\",:&*-\n "[usize::from(byte) % 12]),
            }
        }
        reads_or_refuses(&bytes);
    }
}
