//! When an answer is the one that was expected.

use crate::value::{Integers, Value};

mod key;

pub(crate) use key::{canonical_entries, canonical_key};

/// By whose rules two values are compared. NaN equals NaN by all of them, 0 equals -0, and dicts and sets have no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether booleans are the numbers 0 and 1.
    pub booleans_are_numbers: bool,
    /// What integers are.
    pub integers: Integers,
    /// As JSON documents: a tuple counts as an array, a symbol as a string, `undefined` as null.
    pub json: bool,
}

impl Rules {
    /// The rules for values of the same language that stand for JSON.
    pub fn as_json(self) -> Rules {
        Rules { booleans_are_numbers: false, json: true, ..self }
    }
}

/// How far a number may be from the one expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// This much from an expected float or complex number. An expected integer is exact.
    Absolute(f64),
    /// This part of the expected number, an integer too, or [`NEAR_ZERO`], as `pytest.approx` has it.
    Relative(f64),
}

/// How far a number may be from the one expected under any relative tolerance, which alone would allow nothing near 0.
pub const NEAR_ZERO: f64 = 1e-12;

/// Whether two values are equal.
///
/// A `tolerance` lets an answer differ from an expected number, wherever it stands but as a dict key and in sets, where
/// nearness is not equality. An expected boolean is exact. Takes time near-linear in the size of the values.
pub fn equal(answer: &Value, expected: &Value, rules: Rules, tolerance: Option<Tolerance>) -> bool {
    let all = |left: &[Value], right: &[Value]| {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right, rules, tolerance))
    };
    match (answer, expected) {
        (Value::List(left), Value::List(right)) | (Value::Tuple(left), Value::Tuple(right)) => all(left, right),
        // Not left to the canonical texts: those have no tolerance for the items inside.
        (Value::List(left), Value::Tuple(right)) | (Value::Tuple(left), Value::List(right)) => {
            rules.json && all(left, right)
        }
        (Value::Dict(left), Value::Dict(right)) | (Value::Map(left), Value::Map(right)) => {
            equal_members(left, right, rules, tolerance)
        }
        // Sets end up here: which members are near each other would take a search, so they get no tolerance.
        _ => canonical_key(answer, rules) == canonical_key(expected, rules) || near(answer, expected, tolerance),
    }
}

fn equal_members(
    left: &[(Value, Value)],
    right: &[(Value, Value)],
    rules: Rules,
    tolerance: Option<Tolerance>,
) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let (left_sorted, right_sorted) = (by_key(left, rules), by_key(right, rules));
    if left_sorted.windows(2).any(repeats) || right_sorted.windows(2).any(repeats) {
        // Keys that do not equal themselves, as NaN, or a forged answer: which members belong together is unknown.
        return canonical_entries(left, rules) == canonical_entries(right, rules);
    }
    left_sorted
        .iter()
        .zip(&right_sorted)
        .all(|((left_key, left), (right_key, right))| left_key == right_key && equal(left, right, rules, tolerance))
}

fn repeats(pair: &[(Vec<u8>, &Value)]) -> bool {
    matches!(pair, [(first, _), (second, _)] if first == second)
}

/// What keeps a value from being JSON: the name of the first such type in it.
pub(crate) fn not_json(value: &Value) -> Option<&'static str> {
    match value {
        Value::Null | Value::Undefined | Value::Bool(_) | Value::Int(_) | Value::Float(_) => None,
        Value::Text(_) | Value::Wide(_) | Value::Symbol(_) => None,
        Value::List(items) | Value::Tuple(items) => items.iter().find_map(not_json),
        Value::Dict(pairs) => pairs.iter().find_map(|(key, member)| match key {
            Value::Text(_) | Value::Wide(_) | Value::Symbol(_) => not_json(member),
            _ => Some("dict with keys that are not strings"),
        }),
        Value::Complex(..) | Value::BigInt(_) | Value::Bytes(_) | Value::Set(_) | Value::Map(_) => {
            Some(value.type_name())
        }
    }
}

/// The members of a dict in the order of their keys' canonical texts.
fn by_key(pairs: &[(Value, Value)], rules: Rules) -> Vec<(Vec<u8>, &Value)> {
    let mut sorted: Vec<_> = pairs.iter().map(|(key, member)| (canonical_key(key, rules), member)).collect();
    sorted.sort_by(|(left, _), (right, _)| left.cmp(right));
    sorted
}

fn near(answer: &Value, expected: &Value, tolerance: Option<Tolerance>) -> bool {
    let (Some(tolerance), Some((re, im)), Some((expected_re, expected_im))) =
        (tolerance, number(answer), number(expected))
    else {
        return false;
    };
    let apart = (re - expected_re).hypot(im - expected_im);
    match (tolerance, expected) {
        // An expected integer is counted, not measured: a tolerance of 1 must not accept 42 for 41.
        (Tolerance::Absolute(_), Value::Int(_)) => false,
        (Tolerance::Absolute(most), _) => apart <= most,
        (Tolerance::Relative(part), _) => {
            let most = NEAR_ZERO.max(part * expected_re.hypot(expected_im));
            // Past the largest double every answer would be near.
            most.is_finite() && apart <= most
        }
    }
}

/// A value as a finite number: real and imaginary part. A boolean is not a number here.
fn number(value: &Value) -> Option<(f64, f64)> {
    let (re, im) = match value {
        Value::Float(number) => (*number, 0.0),
        Value::Int(integer) => (integer.to_f64(), 0.0),
        Value::Complex(re, im) => (*re, *im),
        _ => return None,
    };
    // A distance to infinity or NaN says nothing; such values are equal only by their canonical texts.
    (re.is_finite() && im.is_finite()).then_some((re, im))
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::language::Language;

    /// By Python, by JavaScript, as JSON from Python, as JSON from JavaScript.
    fn all_rules() -> [Rules; 4] {
        let [python, javascript] = [Language::Python, Language::JavaScript].map(Language::rules);
        [python, javascript, python.as_json(), javascript.as_json()]
    }

    fn read(wire: &str) -> Value {
        Value::decode(wire.as_bytes()).unwrap()
    }

    fn same(left: &str, right: &str, rules: Rules) -> bool {
        let (left, right) = (read(left), read(right));
        let answer = equal(&left, &right, rules, None);
        assert_eq!(equal(&right, &left, rules, None), answer);
        answer
    }

    #[test]
    fn each_pair_is_equal_by_the_rules_that_say_so() {
        // The answers of `all_rules`.
        let table = [
            ("true", "1", [true, false, false, false]),
            ("false", r#"{"f":"-0.0"}"#, [true, false, false, false]),
            ("1", r#"{"f":"1.0"}"#, [true, true, true, true]),
            ("9007199254740993", r#"{"f":"9007199254740992"}"#, [false, true, false, true]),
            ("9007199254740992", r#"{"f":"9007199254740992"}"#, [true, true, true, true]),
            (r#"{"f":"0.0"}"#, r#"{"f":"-0.0"}"#, [true; 4]),
            (r#"{"f":"nan"}"#, r#"{"f":"nan"}"#, [true; 4]),
            (r#"{"f":"inf"}"#, r#"{"f":"-inf"}"#, [false; 4]),
            (r#"{"c":["1","0"]}"#, "1", [true; 4]),
            (r#"{"c":["1","2"]}"#, r#"{"c":["1","-2"]}"#, [false; 4]),
            ("[1]", r#"{"t":[1]}"#, [false, false, true, true]),
            ("null", r#"{"u":0}"#, [false, false, true, true]),
            ("1", r#"{"n":"1"}"#, [false; 4]),
            ("\"1\"", "1", [false; 4]),
            (r#"{"y":"a"}"#, r#"{"y":"a"}"#, [true; 4]),
            (r#"{"y":"a"}"#, "\"a\"", [false, false, true, true]),
            (r#"{"d":[[{"y":"a"},1]]}"#, r#"{"d":[["a",1]]}"#, [false, false, true, true]),
            (r#"{"d":[[{"y":"a"},1],["a",2]]}"#, r#"{"d":[["a",2]]}"#, [false; 4]),
            (r#"{"b":"61"}"#, "\"a\"", [false; 4]),
            (r#"{"s":[1,{"f":"nan"},"a"]}"#, r#"{"s":["a",{"f":"nan"},1]}"#, [true; 4]),
            (r#"{"s":[1,1]}"#, r#"{"s":[1]}"#, [false; 4]),
            (r#"{"s":[true]}"#, r#"{"s":[{"f":"1"}]}"#, [true, false, false, false]),
            (r#"{"d":[["a",1],["b",2]]}"#, r#"{"d":[["b",2],["a",1]]}"#, [true; 4]),
            (r#"{"d":[[1,"x"]]}"#, r#"{"d":[[true,"x"]]}"#, [true, false, false, false]),
            (r#"{"d":[["a",1]]}"#, r#"{"m":[["a",1]]}"#, [false; 4]),
            (r#"{"d":[[{"f":"nan"},1],[{"f":"nan"},2]]}"#, r#"{"d":[[{"f":"nan"},2],[{"f":"nan"},1]]}"#, [true; 4]),
            (r#"["ab","c"]"#, r#"["a","bc"]"#, [false; 4]),
            (r#"{"s":[["a"],"b"]}"#, r#"{"s":[["a","b"]]}"#, [false; 4]),
        ];
        for (left, right, answers) in table {
            for (rules, answer) in all_rules().into_iter().zip(answers) {
                assert_eq!(same(left, right, rules), answer, "{left} {right} {rules:?}");
            }
        }
    }

    #[test]
    fn tolerance_forgives_floats_and_nothing_else() {
        // The answer, what is expected, the tolerance.
        let table = [
            ("1", r#"{"f":"1.5"}"#, 0.5, true),
            ("1", r#"{"f":"1.5"}"#, 0.4, false),
            (r#"[{"d":[["a",1]]}]"#, r#"[{"d":[["a",{"f":"1.1"}]]}]"#, 0.2, true),
            (r#"{"f":"1e308"}"#, r#"{"f":"inf"}"#, 1e308, false),
            (r#"{"f":"inf"}"#, r#"{"f":"inf"}"#, 0.0, true),
            ("1", r#"{"f":"nan"}"#, 1e308, false),
            (r#"{"c":["1","1"]}"#, r#"{"c":["1","1.25"]}"#, 0.25, true),
            (r#""1""#, r#""2""#, 1.0, false),
            (r#"{"n":"1"}"#, r#"{"n":"2"}"#, 1.0, false),
            (r#"{"s":[1]}"#, r#"{"s":[{"f":"2.5"}]}"#, 9.0, false),
            (r#"{"d":[[1,0]]}"#, r#"{"d":[[{"f":"2.5"},0]]}"#, 9.0, false),
            // An integer is exact, wherever it stands.
            ("1", "2", 1.0, false),
            (r#"{"f":"1.5"}"#, "1", 1.0, false),
            (r#"{"f":"1.0"}"#, "1", 1.0, true),
            (r#"{"t":[1]}"#, r#"{"t":[2]}"#, 1.0, false),
            (r#"[{"d":[["a",{"f":"1.1"}]]}]"#, r#"[{"d":[["a",1]]}]"#, 0.2, false),
            (r#"{"c":["1","0.1"]}"#, "1", 0.2, false),
            ("true", r#"{"f":"1.5"}"#, 1.0, false),
            ("true", "2", 1.0, false),
        ];
        for (answer, expected, tolerance, near) in table {
            for rules in all_rules() {
                let same = equal(&read(answer), &read(expected), rules, Some(Tolerance::Absolute(tolerance)));
                assert_eq!(same, near, "{answer} {expected} {rules:?}");
            }
        }
        for rules in [Language::Python.rules(), Language::Python.rules().as_json()] {
            assert!(!equal(
                &read("9007199254740993"),
                &read("9007199254740992"),
                rules,
                Some(Tolerance::Absolute(1.0))
            ));
        }
    }

    #[test]
    fn a_relative_tolerance_is_that_of_pytest() {
        // The answer, what is expected, the tolerance.
        let table = [
            (r#"{"f":"0.30000000000000004"}"#, r#"{"f":"0.3"}"#, 1e-6, true),
            (r#"{"f":"1000001.1"}"#, r#"{"f":"1000000.0"}"#, 1e-6, false),
            (r#"{"f":"1000000.9"}"#, r#"{"f":"1000000.0"}"#, 1e-6, true),
            (r#"{"f":"1000000.9"}"#, "1000000", 1e-6, true),
            ("41", r#"{"f":"41.00001"}"#, 1e-6, true),
            (r#"{"f":"1e-13"}"#, "0", 1e-6, true),
            (r#"{"f":"1e-11"}"#, r#"{"f":"0.0"}"#, 1e-3, false),
            (r#"[{"d":[["a",{"f":"1.0000001"}]]}]"#, r#"[{"d":[["a",1]]}]"#, 1e-6, true),
            (r#"{"c":["1","1.0000001"]}"#, r#"{"c":["1","1"]}"#, 1e-6, true),
            (r#"{"s":[1]}"#, r#"{"s":[{"f":"1.0000001"}]}"#, 1e-6, false),
            (r#"{"d":[[1,0]]}"#, r#"{"d":[[{"f":"1.0000001"},0]]}"#, 1e-6, false),
            ("true", r#"{"f":"1.0000001"}"#, 1e-6, false),
            (r#"{"f":"1.0000001"}"#, "true", 1e-6, false),
            (r#""1""#, "1", 1e-6, false),
            (r#"{"n":"1"}"#, "1", 0.5, false),
            (r#"{"f":"1e308"}"#, r#"{"f":"inf"}"#, 0.9, false),
            ("0", r#"{"c":["1.7e308","1.7e308"]}"#, 0.9, false),
            (r#"{"f":"nan"}"#, "1", 0.9, false),
        ];
        for (answer, expected, part, near) in table {
            for rules in all_rules() {
                let same = equal(&read(answer), &read(expected), rules, Some(Tolerance::Relative(part)));
                let plain = equal(&read(answer), &read(expected), rules, None);
                assert_eq!(same, near || plain, "{answer} {expected} {rules:?}");
            }
        }
    }
}
