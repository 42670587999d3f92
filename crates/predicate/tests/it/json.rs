//! Facts written as JSON.

use proofmark_predicate::Value;
use serde_json::Value as Json;

/// The value of a JSON text.
pub(crate) fn facts(text: &str) -> Value {
    value(&serde_json::from_str(text).unwrap())
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => Value::number(&number.to_string()).unwrap(),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(value).collect(),
        Json::Object(fields) => fields.iter().map(|(k, v)| (k.as_str(), value(v))).collect(),
    }
}
