//! JSON as a language reads it.

use proofmark_receipt::json::{Json, Number};

use super::{Integer, Value};
use crate::job::Language;

impl Value {
    /// The value the language's own JSON reader makes of a document: a number without fraction and exponent is an integer,
    /// in JavaScript a safe one; any other number is a double.
    pub fn from_json(json: &Json, language: Language) -> Value {
        let read = |item: &Json| Value::from_json(item, language);
        match json {
            Json::Null => Value::Null,
            Json::Bool(truth) => Value::Bool(*truth),
            Json::Number(token) => number(token, language),
            Json::String(text) => Value::Text(text.clone()),
            Json::Array(items) => Value::List(items.iter().map(read).collect()),
            Json::Object(object) => {
                Value::Dict(object.iter().map(|(key, member)| (Value::Text(key.to_owned()), read(member))).collect())
            }
        }
    }
}

fn number(token: &Number, language: Language) -> Value {
    match (language, Integer::new(token.as_str())) {
        (Language::Python | Language::Bash, Some(integer)) => Value::Int(integer),
        // As the sandbox hands over the numbers of JavaScript.
        (Language::JavaScript, Some(integer)) if integer.to_i128().is_some_and(is_safe) => Value::Int(integer),
        (Language::Python | Language::Bash | Language::JavaScript, _) => {
            Value::Float(token.as_str().parse().unwrap_or(f64::NAN))
        }
    }
}

/// Whether a number of JavaScript is this integer and no other.
fn is_safe(integer: i128) -> bool {
    integer.unsigned_abs() < 1 << 53
}
