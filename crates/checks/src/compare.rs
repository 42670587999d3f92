//! When an answer is the one that was expected.

use crate::job::Language;
use crate::value::Value;

mod key;

use key::{canonical_entries, canonical_key, is_sequence_alike};

/// By whose rules two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// As Python's `==` does on its built-in types: booleans are the numbers 0 and 1, a list is no tuple, a set equals a
    /// frozenset, dicts have no order. NaN equals NaN.
    Python,
    /// Structurally, with `===` on primitives: a BigInt is no Number, `undefined` is not `null`, 0 equals -0. NaN
    /// equals NaN.
    JavaScript,
    /// As JSON documents: a tuple counts as an array, `undefined` as null, numbers by their value and booleans are none.
    /// Numbers are those of the language named.
    Json(Language),
}

impl Rules {
    /// The rules of a language's own `==`.
    pub fn of(language: Language) -> Rules {
        match language {
            Language::Python => Rules::Python,
            Language::JavaScript => Rules::JavaScript,
            Language::Bash => Rules::Json(Language::Bash),
        }
    }
}

/// Whether two values are equal.
///
/// A `tolerance` lets finite numbers differ by up to that much, wherever they stand but as dict keys and in sets, where
/// nearness is no equality. Takes time near-linear in the size of the values.
pub fn equal(left: &Value, right: &Value, rules: Rules, tolerance: Option<f64>) -> bool {
    let all = |left: &[Value], right: &[Value]| {
        left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(left, right)| equal(left, right, rules, tolerance))
    };
    match (left, right) {
        (Value::List(left), Value::List(right)) | (Value::Tuple(left), Value::Tuple(right)) => {
            all(left, right)
        }
        (Value::List(left), Value::Tuple(right)) | (Value::Tuple(left), Value::List(right)) => {
            is_sequence_alike(rules) && all(left, right)
        }
        (Value::Dict(left), Value::Dict(right)) | (Value::Map(left), Value::Map(right)) => {
            equal_members(left, right, rules, tolerance)
        }
        _ => {
            canonical_key(left, rules) == canonical_key(right, rules)
                || near(left, right, rules, tolerance)
        }
    }
}

fn equal_members(
    left: &[(Value, Value)],
    right: &[(Value, Value)],
    rules: Rules,
    tolerance: Option<f64>,
) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let (left_sorted, right_sorted) = (by_key(left, rules), by_key(right, rules));
    if left_sorted.windows(2).any(repeats) || right_sorted.windows(2).any(repeats) {
        // Keys that are not themselves, as NaN, or a forged answer: which member belongs to which is not said.
        return canonical_entries(left, rules) == canonical_entries(right, rules);
    }
    left_sorted
        .iter()
        .zip(&right_sorted)
        .all(|((left_key, left), (right_key, right))| {
            left_key == right_key && equal(left, right, rules, tolerance)
        })
}

fn repeats(pair: &[(Vec<u8>, &Value)]) -> bool {
    matches!(pair, [(first, _), (second, _)] if first == second)
}

/// What keeps a value from being JSON: the name of the first such type in it.
pub(crate) fn not_json(value: &Value) -> Option<&'static str> {
    match value {
        Value::Null | Value::Undefined | Value::Bool(_) | Value::Int(_) | Value::Float(_) => None,
        Value::Text(_) | Value::Wide(_) => None,
        Value::List(items) | Value::Tuple(items) => items.iter().find_map(not_json),
        Value::Dict(pairs) => pairs.iter().find_map(|(key, member)| match key {
            Value::Text(_) | Value::Wide(_) => not_json(member),
            _ => Some("dict with keys that are no strings"),
        }),
        Value::Complex(..) | Value::BigInt(_) | Value::Bytes(_) | Value::Set(_) | Value::Map(_) => {
            Some(value.type_name())
        }
    }
}

/// The members of a dict in the order of their keys' canonical texts.
fn by_key(pairs: &[(Value, Value)], rules: Rules) -> Vec<(Vec<u8>, &Value)> {
    let mut sorted: Vec<_> = pairs
        .iter()
        .map(|(key, member)| (canonical_key(key, rules), member))
        .collect();
    sorted.sort_by(|(left, _), (right, _)| left.cmp(right));
    sorted
}

fn near(left: &Value, right: &Value, rules: Rules, tolerance: Option<f64>) -> bool {
    let Some(tolerance) = tolerance else {
        return false;
    };
    if let (Value::Int(left), Value::Int(right)) = (left, right)
        && let (Some(left), Some(right)) = (left.to_i128(), right.to_i128())
    {
        // Doubles do not tell neighbouring integers apart past 2^53.
        return left.abs_diff(right) as f64 <= tolerance;
    }
    match (number(left, rules), number(right, rules)) {
        (Some((left_re, left_im)), Some((right_re, right_im))) => {
            (left_re - right_re).hypot(left_im - right_im) <= tolerance
        }
        (None, _) | (_, None) => false,
    }
}

/// A value as a finite number, real and imaginary part, where the rules count it among the numbers.
fn number(value: &Value, rules: Rules) -> Option<(f64, f64)> {
    let (re, im) = match (value, rules) {
        (Value::Float(number), _) => (*number, 0.0),
        (Value::Int(integer), _) => (integer.to_f64(), 0.0),
        (Value::Complex(re, im), _) => (*re, *im),
        (Value::Bool(truth), Rules::Python) => (f64::from(u8::from(*truth)), 0.0),
        _ => return None,
    };
    (re.is_finite() && im.is_finite()).then_some((re, im))
}
