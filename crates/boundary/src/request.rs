//! Requests: one action, and the facts around it. Both forms of a request become the same facts.

mod plain;
mod wire;

use std::sync::{Arc, OnceLock};

use proofmark_evidence::Subject;
use proofmark_predicate::{Key, Map, Value};
use proofmark_receipt::document::{Cause, DocumentError, Field, Place};
use proofmark_receipt::{Json, Object, Sha256Digest};

/// The longest text of a request that globs match, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 4_096;
/// The most entries of each list of a request.
pub(crate) const MAX_ENTRIES: usize = 10_000;

/// One action and the facts around it, as predicates see them. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Request(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    facts: Json,
    value: Value,
    /// A time, and the facts with it: one decision asks for one time, often.
    timed: OnceLock<(String, Value)>,
    action_hash: OnceLock<Sha256Digest>,
}

impl Request {
    /// Reads a request: the V4 wire form where it has a `decision_context`, else the plain form.
    ///
    /// # Errors
    /// [`DocumentError`] names the field.
    pub fn read(document: &Json) -> Result<Self, DocumentError> {
        let root = Field::root(document);
        let fields = root.fields()?;
        // Either member selects this form, so that the error names the missing one instead of an unknown field.
        let facts = match fields.get("decision_context").or(fields.get("envelope")) {
            Some(_) => wire::facts(&fields)?,
            None => plain::facts(&fields)?,
        };
        Self::from_facts(facts)
    }

    /// The request with exactly these facts: an object with the members `action`, `agent`, `facts`, ….
    ///
    /// # Errors
    /// [`DocumentError`] for a number that cannot be held exactly.
    pub fn from_facts(facts: Object) -> Result<Self, DocumentError> {
        let value = proofmark_evidence::facts::object_value(&facts).map_err(|error| {
            let place = Place::Field(error.at.clone());
            DocumentError::new(place, Cause::InvalidValue, error.to_string())
        })?;
        Ok(Self::new(facts, value))
    }

    fn new(facts: Object, value: Value) -> Self {
        let (timed, action_hash) = (OnceLock::new(), OnceLock::new());
        Self(Arc::new(Parts { facts: Json::Object(facts), value, timed, action_hash }))
    }

    /// The request with these facts, most of which are those of this one. `None` for a number that cannot be held exactly.
    pub(crate) fn changed(&self, facts: Object) -> Option<Self> {
        let value = changed_members(&facts, (self.facts(), &self.0.value))?;
        Some(Self::new(facts, value))
    }

    /// The facts as JSON, taken out of a request that was not cloned.
    pub(crate) fn into_facts(self) -> Option<Object> {
        match Arc::try_unwrap(self.0).ok()?.facts {
            Json::Object(facts) => Some(facts),
            _ => None,
        }
    }

    /// The facts, without the time.
    pub(crate) fn value(&self) -> &Value {
        &self.0.value
    }

    /// Whether it is the same request, or a clone of it.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The facts as JSON, without `now`.
    #[must_use]
    pub fn facts(&self) -> &Object {
        static EMPTY: Object = Object::new();
        self.0.facts.as_object().unwrap_or(&EMPTY)
    }

    /// The class of the action, where it is known.
    #[must_use]
    pub fn action_class(&self) -> Option<&str> {
        self.text("action", "class")
    }

    /// What an approval of it approves: the action, the environment and the agent.
    #[must_use]
    pub fn subject(&self) -> Subject {
        let named = |member| self.text("agent", member).map(str::to_owned);
        Subject { action: self.action_hash(), environment: named("environment"), agent: named("id") }
    }

    /// SHA-256 of the action in canonical form.
    #[must_use]
    pub fn action_hash(&self) -> Sha256Digest {
        let action = || self.facts().get("action").map_or_else(|| Sha256Digest::of(b"null"), hash);
        *self.0.action_hash.get_or_init(action)
    }

    /// SHA-256 of all facts in canonical form, `now` left out.
    #[must_use]
    pub fn facts_hash(&self) -> Sha256Digest {
        hash(&self.0.facts)
    }

    /// A text among the facts.
    pub(crate) fn text(&self, fact: &str, member: &str) -> Option<&str> {
        self.facts().get(fact)?.as_object()?.get(member)?.as_str()
    }

    /// The context of the workflow that this is a node of, if any.
    pub(crate) fn upstream(&self) -> Option<&Json> {
        self.facts().get("upstream").filter(|upstream| !upstream.is_null())
    }

    /// The calls of the run, oldest first; `None` when they are not known.
    pub(crate) fn calls(&self) -> Option<&[Json]> {
        self.facts().get("calls")?.as_array()
    }

    /// How often the runtime says this action was denied.
    pub(crate) fn denies(&self) -> u64 {
        self.facts().get("denies").and_then(Json::as_array).map_or(0, |denies| denies.len() as u64)
    }

    /// The facts, with the time as `now`.
    pub(crate) fn value_at(&self, now: &str) -> Value {
        let (time, value) = self.0.timed.get_or_init(|| (now.to_owned(), self.at(now)));
        if time == now { value.clone() } else { self.at(now) }
    }

    fn at(&self, now: &str) -> Value {
        let mut entries = match &self.0.value {
            Value::Map(map) => map.entries().to_vec(),
            _ => Vec::new(),
        };
        // Of two entries with one name the later counts, so no request sets its own time.
        entries.push((Key::String("now".into()), Value::from(now)));
        Value::Map(Map::from_entries(entries))
    }
}

/// The value of an object, sharing what it has in common with another one, whose value is known.
fn changed_members(object: &Object, (own, value): (&Object, &Value)) -> Option<Value> {
    let mut members = Vec::with_capacity(object.len());
    for (name, member) in object.iter() {
        let value = match (own.get(name).zip(value.get(name)), member) {
            (Some((own, value)), member) if own == member => value.clone(),
            (Some((Json::Object(own), value)), Json::Object(object)) => changed_members(object, (own, value))?,
            (Some(_) | None, member) => proofmark_evidence::facts::value(member).ok()?,
        };
        members.push((name, value));
    }
    Some(members.into_iter().collect())
}

fn hash(json: &Json) -> Sha256Digest {
    Sha256Digest::of(&json.canonical_vrf())
}
