//! Requests: one action, and the facts around it. Both forms of a request become the same facts.

mod canonical;
mod plain;
mod wire;

use std::sync::{Arc, OnceLock};

use proofmark_evidence::{Occasion, Subject};
use proofmark_predicate::{Key, Map, Value};
use proofmark_receipt::document::{Cause, DocumentError, Field, Place};
use proofmark_receipt::{Json, Object, Sha256Digest};

use crate::asker::Asker;
use crate::derived::Derived;
use crate::size::size;
use canonical::CanonicalList;

/// The longest text of a request that globs match, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 4_096;
/// The most entries of each list of a request.
pub(crate) const MAX_ENTRIES: usize = 10_000;
/// The most values of a request, those within lists and objects included: the search for changes copies them again and again.
pub const MAX_REQUEST_VALUES: usize = 200_000;

/// One action and the facts around it, as predicates see them. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Request(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    facts: Json,
    asker: Asker,
    /// What follows from the action.
    derived: Derived,
    /// The facts, with those about the asker and those that follow from the action.
    value: Value,
    /// A time, and the facts with it: one decision asks for one time, often.
    timed: OnceLock<(String, Value)>,
    action_hash: OnceLock<Sha256Digest>,
    /// The canonical form of the calls, in a request that follows another one.
    calls: Option<Arc<CanonicalList>>,
    values: OnceLock<u64>,
}

impl Request {
    /// Reads a request: the V4 wire form where it has a `decision_context`, else the plain form.
    ///
    /// # Errors
    /// [`DocumentError`] names the field.
    pub fn read(document: &Json) -> Result<Self, DocumentError> {
        let (root, mut left) = (Field::root(document), MAX_REQUEST_VALUES);
        if !has_at_most(document, &mut left) {
            let error = root.error(Cause::TooMany, format!("the request has more than {MAX_REQUEST_VALUES} values"));
            return Err(error.with_help("leave out what the policy does not read"));
        }
        let fields = root.fields()?;
        // Either member selects this form, so that the error names the missing one instead of an unknown field.
        let facts = match fields.get("decision_context").or(fields.get("envelope")) {
            Some(_) => wire::facts(&fields)?,
            None => plain::facts(&fields)?,
        };
        Self::from_facts(facts)
    }

    /// The request with exactly these facts: an object with the members `action`, `agent`, `facts`, …. Nobody is known to ask.
    ///
    /// # Errors
    /// [`DocumentError`] for a number that cannot be held exactly.
    pub fn from_facts(facts: Object) -> Result<Self, DocumentError> {
        let value = proofmark_evidence::facts::object_value(&facts).map_err(|error| {
            let place = Place::Field(error.at.clone());
            DocumentError::new(place, Cause::InvalidValue, error.to_string())
        })?;
        let derived = Derived::of(&facts);
        Ok(Self::new(facts, &value, derived, Asker::default(), None))
    }

    /// As [`Request::from_facts`]; takes time for what differs from the facts of this request. The rest is shared.
    ///
    /// # Errors
    /// As [`Request::from_facts`].
    pub fn followed_by(&self, facts: Object) -> Result<Self, DocumentError> {
        match changed_members(&facts, self.facts(), &self.0.value) {
            Some(value) => {
                let calls = facts.get("calls").and_then(Json::as_array).map(|calls| match &self.0.calls {
                    Some(known) => known.followed_by(self.calls().unwrap_or_default(), calls),
                    None => CanonicalList::default().followed_by(&[], calls),
                });
                let derived = self.derived(&facts);
                Ok(Self::new(facts, &value, derived, self.0.asker.clone(), calls.map(Arc::new)))
            }
            // It says where the number is.
            None => Self::from_facts(facts).map(|request| request.asked_by(&self.0.asker)),
        }
    }

    /// The same request, asked by this one.
    #[must_use]
    pub fn asked_by(&self, asker: &Asker) -> Self {
        let derived = self.0.derived.clone();
        Self::new(self.facts().clone(), &self.0.value, derived, asker.clone(), self.0.calls.clone())
    }

    /// Who asks.
    #[must_use]
    pub fn asker(&self) -> &Asker {
        &self.0.asker
    }

    fn new(facts: Object, value: &Value, derived: Derived, asker: Asker, calls: Option<Arc<CanonicalList>>) -> Self {
        let (timed, action_hash, values) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let value = derived.in_facts(&asker.in_facts(value));
        let facts = Json::Object(facts);
        Self(Arc::new(Parts { facts, asker, derived, value, timed, action_hash, calls, values }))
    }

    /// What follows from the action of these facts, which may be that of this request.
    fn derived(&self, facts: &Object) -> Derived {
        let is_same = facts.get("action") == self.facts().get("action");
        if is_same { self.0.derived.clone() } else { Derived::of(facts) }
    }

    /// The request with these facts, most of which are those of this one. `None` for a number that cannot be held exactly.
    pub(crate) fn changed(&self, mut facts: Object) -> Option<Self> {
        // Where the values of another action come from is not known.
        if facts.get("action") != self.facts().get("action") {
            facts.remove("origins");
            keep_limits(&mut facts, self.facts());
        }
        let value = changed_members(&facts, self.facts(), &self.0.value)?;
        let has_same = |name| facts.get(name) == self.facts().get(name);
        let (calls, action) = (self.0.calls.clone().filter(|_| has_same("calls")), has_same("action"));
        let derived = self.derived(&facts);
        let changed = Self::new(facts, &value, derived, self.0.asker.clone(), calls);
        if let Some(hash) = self.0.action_hash.get().filter(|_| action) {
            // It is a hash of all arguments.
            let _was_empty = changed.0.action_hash.set(*hash);
        }
        Some(changed)
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

    /// The action, and who asks for it where: what a grant is held against.
    #[must_use]
    pub fn occasion(&self) -> Occasion<'_> {
        let named = |member| self.text("agent", member);
        Occasion {
            action: self.facts().get("action").unwrap_or(&Json::Null),
            agent: named("id"),
            environment: named("environment"),
            account: self.asker().account.as_deref(),
            project: named("project"),
            run: named("run"),
        }
    }

    /// SHA-256 of the action in canonical form.
    #[must_use]
    pub fn action_hash(&self) -> Sha256Digest {
        *self.0.action_hash.get_or_init(|| self.facts().get("action").map_or_else(|| Sha256Digest::of(b"null"), hash))
    }

    /// SHA-256 of all facts in canonical form, `now` left out.
    #[must_use]
    pub fn facts_hash(&self) -> Sha256Digest {
        match &self.0.calls {
            Some(calls) => Sha256Digest::of(&canonical::facts(self.facts(), calls)),
            None => hash(&self.0.facts),
        }
    }

    /// How many values the facts hold, for budgets.
    pub(crate) fn values(&self) -> u64 {
        let calls = || match &self.0.calls {
            Some(calls) => 1 + calls.values(),
            None => self.facts().get("calls").map_or(0, size),
        };
        *self.0.values.get_or_init(|| self.values_but_calls() + calls())
    }

    /// As [`Request::values`], without the calls.
    pub(crate) fn values_but_calls(&self) -> u64 {
        let facts = self.facts().iter().filter(|(name, _)| *name != "calls");
        facts.map(|(_, value)| size(value)).sum::<u64>() + self.0.derived.values()
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

/// A fact.
pub(crate) fn at<N: AsRef<str>>(facts: &Object, path: impl IntoIterator<Item = N>) -> Option<&Json> {
    let mut names = path.into_iter();
    let first = facts.get(names.next()?.as_ref())?;
    names.try_fold(first, |value, name| value.as_object()?.get(name.as_ref()))
}

/// Keeps of the fact `limits` what still holds of a request with these facts: of limits that count by values that it has in common with the
/// one before it.
fn keep_limits(facts: &mut Object, before: &Object) {
    let Some(limits) = facts.get("limits").and_then(Json::as_object) else { return };
    let has_same = |limit: &Json| {
        let per = limit.as_object().and_then(|limit| limit.get("per")?.as_array()).unwrap_or_default();
        per.iter().filter_map(Json::as_str).all(|path| at(facts, path.split('.')) == at(before, path.split('.')))
    };
    let mut kept = Object::new();
    for (id, limit) in limits.iter().filter(|(_, limit)| has_same(limit)) {
        kept.insert(id, limit.clone());
    }
    facts.insert("limits", kept);
}

/// Whether a value has at most so many values, itself included; `left` is how many more it may have.
fn has_at_most(json: &Json, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    match json {
        Json::Object(object) => object.iter().all(|(_, value)| has_at_most(value, left)),
        Json::Array(items) => items.iter().all(|item| has_at_most(item, left)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => true,
    }
}

/// The value of an object, sharing what it has in common with `own`, whose value is known.
fn changed_members(object: &Object, own: &Object, value: &Value) -> Option<Value> {
    // One by one they would be compared with each other: an action may have many arguments.
    let known = own.by_name();
    let known = |name| known.get(name).copied().zip(value.get(name));
    let members = object.iter().map(|(name, member)| Some((name, changed(member, known(name))?)));
    members.collect::<Option<Vec<_>>>().map(|members| members.into_iter().collect())
}

/// As [`changed_members`], for any value.
fn changed(json: &Json, known: Option<(&Json, &Value)>) -> Option<Value> {
    match (json, known) {
        (json, Some((own, value))) if own == json => Some(value.clone()),
        (Json::Object(object), Some((Json::Object(own), value))) => changed_members(object, own, value),
        (Json::Array(items), Some((Json::Array(own), Value::List(values)))) => {
            let known = own.iter().zip(values.iter()).map(Some).chain(std::iter::repeat(None));
            let values = items.iter().zip(known).map(|(item, known)| changed(item, known));
            Some(Value::from(values.collect::<Option<Vec<_>>>()?))
        }
        (json, _) => proofmark_evidence::facts::value(json).ok(),
    }
}

fn hash(json: &Json) -> Sha256Digest {
    Sha256Digest::of(&json.canonical_vrf())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_receipt::object;

    #[test]
    fn values_are_counted_alike_however_a_request_is_made() {
        let call =
            |n: u64| Json::from(object! { "tool": "t".repeat(20), "args": object! { "n": n, "list": vec![n.into()] } });
        let facts = |calls: u64| object! { "action": object! { "tool": "t" }, "calls": (0..calls).map(call).collect::<Vec<_>>() };
        let first = Request::from_facts(facts(2)).unwrap();
        let last = first.followed_by(facts(3)).unwrap();
        let mut other_action = facts(3);
        other_action.insert("action", object! { "tool": "u", "class": "generic" });
        let made = [
            last.followed_by(facts(5)).unwrap(),
            last.followed_by(facts(1)).unwrap(),
            last.followed_by(object! { "calls": "none" }).unwrap(),
            last.changed(other_action).unwrap(),
            last.changed(facts(4)).unwrap(),
            last.changed(object! { "action": true }).unwrap(),
            first,
            last,
        ];
        for request in made {
            let alone = Request::from_facts(request.facts().clone()).unwrap();
            assert_eq!(request.values(), size(&request.0.facts) - 1 + request.0.derived.values());
            assert_eq!((request.values(), request.facts_hash()), (alone.values(), alone.facts_hash()));
        }
    }
}
