//! JSON as a language reads it.

use proofmark_receipt::json::{Json, Number};

use super::{Integer, Integers, Value};

impl Value {
    /// The value that a language's own JSON reader makes of a document: a number without fraction and exponent is an
    /// integer, where integers are doubles a safe one; any other number is a double.
    pub fn from_json(json: &Json, integers: Integers) -> Value {
        let read = |item: &Json| Value::from_json(item, integers);
        match json {
            Json::Null => Value::Null,
            Json::Bool(truth) => Value::Bool(*truth),
            Json::Number(token) => number(token, integers),
            Json::String(text) => Value::Text(text.clone()),
            Json::Array(items) => Value::List(items.iter().map(read).collect()),
            Json::Object(object) => {
                Value::Dict(object.iter().map(|(key, member)| (Value::Text(key.to_owned()), read(member))).collect())
            }
        }
    }
}

fn number(token: &Number, integers: Integers) -> Value {
    match (Integer::new(token.as_str()), integers) {
        (Some(integer), Integers::Exact) => Value::Int(integer),
        // As the sandbox hands over the numbers of JavaScript.
        (Some(integer), Integers::Doubles) if integer.to_i128().is_some_and(is_safe) => Value::Int(integer),
        (Some(_) | None, _) => Value::Float(token.as_str().parse().unwrap_or(f64::NAN)),
    }
}

/// Whether a double is this integer and no other.
fn is_safe(integer: i128) -> bool {
    integer.unsigned_abs() < 1 << 53
}
