//! Conditions as users write them, and the facts they are asked about.

use std::sync::Arc;

use proofmark_predicate::{Budget, CompileError, Decimal, Key, NumberError, Predicate, Schema, Truth, Value};
use proofmark_receipt::Json;

/// A condition in the predicate language, with what is wrong with it if it can not be read.
///
/// A workflow with a wrong condition is still a workflow, so that lint can name all of them at once; such a condition
/// is unknown whatever the facts, and [`crate::Contract::of`] refuses it.
#[derive(Clone, Debug)]
pub struct Condition {
    source: String,
    read: Result<Arc<Predicate>, Box<CompileError>>,
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Condition {
    /// The text as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What is wrong with it, if it can not be read.
    pub fn fault(&self) -> Option<&CompileError> {
        self.read.as_ref().err().map(|fault| &**fault)
    }

    pub(crate) fn new(source: &str, schema: &Schema) -> Self {
        let read = Predicate::compile_with(source, schema).map(Arc::new).map_err(Box::new);
        Self { source: source.to_owned(), read }
    }

    pub(crate) fn truth(&self, facts: &Value, budget: &Budget<'_>) -> Truth {
        match &self.read {
            Ok(predicate) => predicate.truth_within(facts, budget),
            Err(_) => Truth::Unknown(Vec::new()),
        }
    }

    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        self.read.as_ref().map(|predicate| predicate.names()).unwrap_or_default()
    }
}

/// The facts a JSON document stands for.
///
/// # Errors
/// [`NumberError`] when a number can not be held exactly.
pub(crate) fn value(json: &Json) -> Result<Value, NumberError> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::from(*truth),
        Json::Number(number) => Value::number(number.as_str())?,
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(value).collect::<Result<Vec<_>, _>>()?.into(),
        Json::Object(object) => {
            let members = object.iter().map(|(name, json)| Ok((name, value(json)?)));
            members.collect::<Result<Vec<_>, NumberError>>()?.into_iter().collect()
        }
    })
}

/// Steps that looking at all of a value counts as.
pub(crate) fn steps(value: &Value) -> u64 {
    match value {
        Value::List(items) => items.iter().fold(1, |sum, item| steps(item).saturating_add(sum)),
        Value::Map(map) => map.entries().iter().fold(1, |sum, (_, item)| steps(item).saturating_add(sum)),
        Value::String(text) => 1 + text.len() as u64 / 16,
        _ => 1,
    }
}

/// Whether two facts that came from JSON are the same: `1` and `1.0` are, members in any order.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right.iter()).all(|(left, right)| same(left, right))
        }
        (Value::Map(left), Value::Map(right)) => {
            left.entries().len() == right.entries().len()
                && left.entries().iter().all(|(key, value)| match key {
                    Key::String(name) => right.get_str(name).is_some_and(|other| same(value, other)),
                    Key::Bool(_) | Key::Int(_) | Key::UInt(_) => false,
                })
        }
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
