//! JSON as a language reads it.

use proofmark_receipt::json::{Json, Number};

use super::{Integer, Value};
use crate::job::Language;

impl Value {
    /// The value the language's own JSON reader makes of a document: Python reads a number without fraction and
    /// exponent as an integer of any size, JavaScript reads every number as a double.
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
        (Language::Python | Language::Bash, None) | (Language::JavaScript, _) => {
            Value::Float(token.as_str().parse().unwrap_or(f64::NAN))
        }
    }
}
