//! The facts a predicate sees: their names, their types, and how JSON becomes them.

use std::sync::Arc;

use proofmark_predicate::{FieldType, Schema, Value};
use proofmark_receipt::{Json, Object};

/// The classes of actions that are known without being declared by a policy.
pub const ACTION_CLASSES: [&str; 8] = [
    "memory_write",
    "record_mutation",
    "system_change",
    "external_message_send",
    "webhook_call",
    "browser_submit",
    "upload",
    "generic",
];

/// The boundaries an action can stand at.
pub(crate) const BOUNDARIES: [&str; 2] = ["action_execute", "memory_write"];

/// What can be said of how a call ended.
pub(crate) const CALL_STATUSES: [&str; 4] = ["succeeded", "failed", "blocked", "pending"];

/// A number in the facts can not be held exactly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{at}` holds `{token}`, which can not be held exactly; write it shorter, or as a string")]
pub(crate) struct InexactNumber {
    pub(crate) at: String,
    pub(crate) token: String,
}

/// The names and types of all facts; `classes` are those the policy declares beside [`ACTION_CLASSES`].
#[must_use]
pub fn fact_schema(classes: &[String]) -> Schema {
    let text = || FieldType::String;
    let classes = ACTION_CLASSES.iter().copied().chain(classes.iter().map(String::as_str));
    schema([
        (
            "action",
            object([
                ("tool", text()),
                ("class", one_of(classes)),
                ("boundary", one_of(BOUNDARIES)),
                ("surface", text()),
                ("method", text()),
                ("target", text()),
                ("args", FieldType::Any),
                ("crossing", FieldType::Bool),
            ]),
        ),
        (
            "agent",
            object(["id", "org", "project", "environment", "run", "step", "sensitivity"].map(|name| (name, text()))),
        ),
        ("facts", list(object([("type", text()), ("payload", FieldType::Any), ("source", text()), ("at", text())]))),
        (
            "calls",
            list(object([
                ("tool", text()),
                ("args", FieldType::Any),
                ("status", one_of(CALL_STATUSES)),
                ("class", text()),
                ("at", text()),
            ])),
        ),
        ("memory", list(FieldType::Any)),
        ("taint", list(object([("signal", text()), ("source", text()), ("at", text())]))),
        (
            "denies",
            list(object([
                ("decision_id", text()),
                ("outcome", text()),
                ("reason_codes", list(text())),
                ("at", text()),
            ])),
        ),
        ("task", object(["system", "first", "latest"].map(|name| (name, text())))),
        ("upstream", FieldType::Any),
        ("context_fill_pct", FieldType::Number),
        ("now", text()),
    ])
}

/// The value a predicate sees for a JSON value; `at` is its place, for the error.
pub(crate) fn value(json: &Json, at: &str) -> Result<Value, InexactNumber> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => Value::number(number.as_str())
            .map_err(|_| InexactNumber { at: at.to_owned(), token: number.as_str().chars().take(40).collect() })?,
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => {
            let items = items.iter().enumerate().map(|(index, item)| match item {
                Json::String(text) => Ok(Value::from(text.as_str())),
                item => value(item, &format!("{at}[{index}]")),
            });
            Value::from(items.collect::<Result<Vec<_>, _>>()?)
        }
        Json::Object(object) => object_value(object, at)?,
    })
}

/// The map a predicate sees for a JSON object.
pub(crate) fn object_value(object: &Object, at: &str) -> Result<Value, InexactNumber> {
    let entry = |(name, member): (&str, &Json)| {
        let member = match member {
            // Most members are text, which needs no place.
            Json::String(text) => Value::from(text.as_str()),
            member => value(member, &place(at, name))?,
        };
        Ok((Arc::<str>::from(name), member))
    };
    Ok(object.iter().map(entry).collect::<Result<Vec<_>, _>>()?.into_iter().collect())
}

/// The place of a member.
pub(crate) fn place(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

fn schema<const N: usize>(fields: [(&str, FieldType); N]) -> Schema {
    fields.into_iter().collect()
}

fn object<const N: usize>(fields: [(&str, FieldType); N]) -> FieldType {
    FieldType::Object(schema(fields))
}

fn list(of: FieldType) -> FieldType {
    FieldType::List(Box::new(of))
}

fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> FieldType {
    FieldType::OneOf(words.into_iter().map(Arc::from).collect())
}
