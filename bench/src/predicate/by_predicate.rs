//! The predicate language: the receipt's reader, then a value, then each rule's truth.

use std::sync::Arc;

use anyhow::bail;
use proofmark_predicate::{Key, Map, Predicate, Truth, Value};
use proofmark_receipt::{Json, Object};

use crate::Engine;
use crate::rules::{Answer, Rules};

pub(crate) struct ByPredicate<'a> {
    rules: &'a Rules,
    predicates: Vec<Predicate>,
}

impl<'a> ByPredicate<'a> {
    pub(crate) fn load(rules: &'a Rules) -> anyhow::Result<Self> {
        let compiled = rules.list.iter().map(|rule| Predicate::compile(&rule.condition));
        Ok(Self { rules, predicates: compiled.collect::<Result<_, _>>()? })
    }
}

impl Engine for ByPredicate<'_> {
    type Facts = Value;

    fn read(&self, text: &str) -> anyhow::Result<Value> {
        match Json::parse(text.as_bytes())? {
            Json::Object(request) => map(&request),
            other => bail!("a request is an object, not {}", other.type_name()),
        }
    }

    fn decide(&self, facts: &Value) -> anyhow::Result<Answer> {
        let mut holding = 0;
        for (at, predicate) in self.predicates.iter().enumerate() {
            match predicate.truth(facts) {
                Truth::True => holding |= 1 << at,
                Truth::False => {}
                Truth::Unknown(missing) => bail!("`{}` is unknown: {missing:?}", predicate.source()),
            }
        }
        Ok(self.rules.answer(holding))
    }
}

fn map(object: &Object) -> anyhow::Result<Value> {
    let mut entries = Vec::with_capacity(object.len());
    for (name, member) in object.iter() {
        // `context` is called `ctx` in the rules.
        let name = if name == "context" { "ctx" } else { name };
        entries.push((Key::String(Arc::from(name)), value(member)?));
    }
    Ok(Value::Map(Map::from_entries(entries)))
}

fn value(json: &Json) -> anyhow::Result<Value> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::number(number.as_str())?,
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::from(items.iter().map(value).collect::<Result<Vec<_>, _>>()?),
        Json::Object(object) => map(object)?,
    })
}
