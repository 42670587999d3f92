//! Converts JSON to the values that predicates read, with one rule for numbers wherever a fact comes from.

use std::sync::Arc;

use proofmark_predicate::{Decimal, Key, Value};
use proofmark_receipt::{Json, Object};

/// The longest number that is quoted, in characters.
const MAX_QUOTED_CHARS: usize = 40;

/// A number that cannot be held exactly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct InexactNumberError {
    /// The place, as in `action.args.items[0]`; empty when the number is the whole document.
    pub at: String,
    /// The number as written, cut when it is long.
    pub token: String,
}

impl std::fmt::Display for InexactNumberError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.at.is_empty() {
            write!(f, "`{}` holds ", self.at)?;
        }
        let which = if self.at.is_empty() { "" } else { "which " };
        write!(f, "`{}`, {which}cannot be held exactly; write it with fewer digits, or as a string", self.token)
    }
}

impl InexactNumberError {
    fn inside(mut self, part: &str) -> Self {
        let dot = if self.at.is_empty() || self.at.starts_with('[') { "" } else { "." };
        self.at = format!("{part}{dot}{}", self.at);
        self
    }
}

/// The value a predicate sees for a JSON value.
///
/// # Errors
/// [`InexactNumberError`] when a number cannot be held exactly.
pub fn value(json: &Json) -> Result<Value, InexactNumberError> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::from(*truth),
        // Never rounded: two different numbers must not become the same fact.
        Json::Number(number) => Value::number(number.as_str()).map_err(|_| InexactNumberError {
            at: String::new(),
            token: number.as_str().chars().take(MAX_QUOTED_CHARS).collect(),
        })?,
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => {
            let items = items
                .iter()
                .enumerate()
                .map(|(index, item)| value(item).map_err(|error| error.inside(&format!("[{index}]"))));
            Value::from(items.collect::<Result<Vec<_>, _>>()?)
        }
        Json::Object(object) => object_value(object)?,
    })
}

/// The map a predicate sees for a JSON object.
///
/// # Errors
/// As [`value`].
pub fn object_value(object: &Object) -> Result<Value, InexactNumberError> {
    let members = object.iter().map(|(name, member)| match value(member) {
        Ok(value) => Ok((Arc::<str>::from(name), value)),
        Err(error) => Err(error.inside(name)),
    });
    Ok(members.collect::<Result<Vec<_>, _>>()?.into_iter().collect())
}

/// The steps that reading all of a value counts as.
#[must_use]
pub fn steps(value: &Value) -> u64 {
    match value {
        Value::List(items) => items.iter().fold(1, |sum, item| steps(item).saturating_add(sum)),
        Value::Map(map) => map.entries().iter().fold(1, |sum, (_, item)| steps(item).saturating_add(sum)),
        Value::String(text) => 1 + text.len() as u64 / 16,
        _ => 1,
    }
}

/// Whether two facts that came from JSON are the same: `1` and `1.0` are, members in any order.
#[must_use]
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right.iter()).all(|(left, right)| same(left, right))
        }
        (Value::Map(left), Value::Map(right)) => {
            left.entries().len() == right.entries().len()
                && left.entries().iter().all(|(key, value)| match key {
                    Key::String(name) => right.get_str(name).is_some_and(|other| same(value, other)),
                    // JSON objects have no such keys.
                    Key::Bool(_) | Key::Int(_) | Key::UInt(_) => false,
                })
        }
        // An integer and a decimal of the same value are different variants of `Value`.
        _ => match (decimal(left), decimal(right)) {
            (Some(left), Some(right)) => left == right,
            _ => left == right,
        },
    }
}

fn decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Int(number) => Some(Decimal::from(*number)),
        Value::UInt(number) => Some(Decimal::from(*number)),
        Value::Decimal(number) => Some(*number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inexact_number_is_named_with_its_place() {
        let json = |text: &str| Json::parse(text.as_bytes()).unwrap();
        let at = |text: &str| value(&json(text)).unwrap_err().at;
        assert_eq!(at(r#"{"a": {"b": [1, {"c": 1e6200}]}}"#), "a.b[1].c");
        assert_eq!(at("[[1e6200]]"), "[0][0]");
        assert_eq!(at("1e6200"), "");
        assert!(same(&value(&json("[1, 2.0]")).unwrap(), &value(&json("[1.0, 2]")).unwrap()));
    }
}
