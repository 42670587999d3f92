//! Facts that follow from an action alone: the commands of a shell text, and the addresses that its arguments name. Predicates read
//! them as members of `action`. They are not a part of the request, so nobody can send others.

mod address;
mod command;

use std::sync::Arc;

use proofmark_predicate::{Key, Map, Value};
use proofmark_receipt::{Json, Object};

use crate::size::size;

/// The names of these facts.
pub(crate) const DERIVED: [&str; 3] = ["commands", "urls", "hosts"];

/// The facts that follow from one action. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derived(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    members: Vec<(Key, Value)>,
    values: u64,
}

impl Derived {
    /// Those of the action among these facts.
    pub(crate) fn of(facts: &Object) -> Self {
        let Some(action) = facts.get("action").and_then(Json::as_object) else { return Self::default() };
        let commands = command::commands(action);
        let (urls, hosts) = address::addresses(action, commands.as_deref());
        let commands = commands.map(|commands| commands.iter().map(command::to_json).collect::<Vec<_>>());
        let members = [("commands", commands), ("urls", urls), ("hosts", hosts)];
        let members: Vec<(&str, Json)> =
            members.into_iter().filter_map(|(name, list)| Some((name, Json::from(list?)))).collect();
        let values = members.iter().map(|(_, json)| size(json)).sum();
        // None of them has a number that cannot be held.
        let value = |json| proofmark_evidence::facts::value(json).ok();
        let members = members.iter().filter_map(|(name, json)| Some((Key::String((*name).into()), value(json)?)));
        Self(Arc::new(Parts { members: members.collect(), values }))
    }

    /// How many values they hold.
    pub(crate) fn values(&self) -> u64 {
        self.0.values
    }

    /// The facts with these beside the members of the action. Whatever a request says of them does not count.
    pub(crate) fn in_facts(&self, facts: &Value) -> Value {
        let (Value::Map(map), Some(Value::Map(action))) = (facts, facts.get("action")) else { return facts.clone() };
        let is_said = |key: &Key| matches!(key, Key::String(name) if !DERIVED.contains(&&**name));
        let own = action.entries().iter().filter(|(key, _)| is_said(key));
        let action = Value::Map(Map::from_entries(own.cloned().chain(self.0.members.iter().cloned()).collect()));
        let other = map.entries().iter().filter(|(key, _)| !matches!(key, Key::String(name) if &**name == "action"));
        Value::Map(Map::from_entries(other.cloned().chain([(Key::String("action".into()), action)]).collect()))
    }
}
