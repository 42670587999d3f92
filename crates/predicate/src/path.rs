//! JSONPath queries, RFC 9535, over facts.
//!
//! A query of only names, indexes and wildcards is strict and evaluated here: a member that is absent makes the answer
//! unknown, not the list shorter. Queries with filters, slices, unions or `..` select what is present, as the standard says;
//! only the names and indexes they begin with must be present.

use std::sync::Arc;

use serde_json_path::{JsonPath, PathElement};

use crate::budget::{Budget, Steps};
use crate::cost::PathCost;
use crate::error::{CompileError, Failure, Fault, Located, Missing, Span, UnknownError, Why, shorten};
use crate::limits::{MAX_LIST_ITEMS, MAX_MISSING, MAX_PATH_BYTES, MAX_PATH_NESTING, MAX_VALUE_DEPTH};
use crate::value::{Key, Value};

/// A JSONPath query, RFC 9535, as `path` takes it: its size, its nesting and the walks it makes are bounded.
#[derive(Debug)]
pub struct Query {
    text: String,
    /// The names, indexes and wildcards the query begins with.
    strict: Vec<Step>,
    /// The whole query, when there is more to it.
    general: Option<General>,
}

/// A step that selects what must be present.
#[derive(Debug)]
pub(crate) enum Step {
    Name(Arc<str>),
    Index(i64),
    Wildcard,
}

#[derive(Debug)]
struct General {
    path: JsonPath,
    cost: PathCost,
}

impl Query {
    /// Reads a query. One of only names, indexes and wildcards is strict: what it names must be present.
    ///
    /// # Errors
    /// [`CompileError`] when it is malformed or larger than [`MAX_PATH_BYTES`] and [`MAX_PATH_NESTING`] allow.
    pub fn compile(text: &str) -> Result<Self, CompileError> {
        let span = Span { start: 0, end: text.len() };
        Self::new(text).map_err(|fault| CompileError::new(text, Located { fault, span }))
    }

    /// The values it selects, in its order, charged to a budget.
    ///
    /// # Errors
    /// [`UnknownError`] with the places that must be present and are not, or the limit that was hit.
    pub fn values(&self, root: &Value, budget: &Budget<'_>) -> Result<Vec<Value>, UnknownError> {
        self.select(root, "", &mut Steps::of_evaluation(budget)).map_err(|missing| UnknownError { missing })
    }

    /// The query as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn new(text: &str) -> Result<Self, Fault> {
        if text.len() > MAX_PATH_BYTES {
            return Err(Fault::Path(format!("it has more than {MAX_PATH_BYTES} bytes")));
        }
        let cost = PathCost::of(text);
        if cost.nests_too_deeply() {
            return Err(Fault::Path(format!("it has more than {MAX_PATH_NESTING} open brackets")));
        }
        let path = JsonPath::parse(text).map_err(|error| Fault::Path(error.to_string()))?;
        let (mut strict, rest) = strict_steps(text);
        if rest.is_empty() {
            return Ok(Self { text: text.to_owned(), strict, general: None });
        }
        // The library would compile their patterns without a limit on size. A field whose name contains one of the words
        // is refused too.
        if ["match", "search"].iter().any(|name| text.contains(name)) {
            return Err(Fault::PathFunction);
        }
        let plain = strict.iter().position(|step| matches!(step, Step::Wildcard));
        strict.truncate(plain.unwrap_or(strict.len()));
        Ok(Self { text: text.to_owned(), strict, general: Some(General { path, cost }) })
    }

    /// The plain steps the query begins with.
    pub(crate) fn strict_steps(&self) -> &[Step] {
        &self.strict
    }

    /// The nodes the query selects, in its order. `name` is the name of the root in reasons.
    pub(crate) fn select(&self, root: &Value, name: &str, steps: &mut Steps<'_>) -> Result<Vec<Value>, Vec<Missing>> {
        let mut walk = Walk { name, steps, trail: Vec::new(), found: Vec::new(), missing: Vec::new() };
        // Also for general queries: the names and indexes they begin with must be present.
        walk.follow(root, &self.strict);
        let Walk { found, missing, .. } = walk;
        if !missing.is_empty() {
            return Err(missing);
        }
        match &self.general {
            None => Ok(found.into_iter().cloned().collect()),
            Some(general) => general.select(root, steps).map_err(|failure| {
                let path = if name.is_empty() { "$" } else { name };
                vec![Missing { path: path.to_owned(), why: Why::Failed(failure) }]
            }),
        }
    }
}

impl General {
    fn select(&self, root: &Value, steps: &mut Steps<'_>) -> Result<Vec<Value>, Failure> {
        // The library that walks the tree cannot be interrupted, so the worst case of the walk is charged before it starts.
        let before = steps.taken();
        let tree = to_json(root, 0, steps)?;
        // Text counts as nodes do, because filters compare it.
        let nodes = steps.taken() - before;
        steps.charge(self.cost.visits(nodes, depth(&tree)))?;
        let located = self.path.query_located(&tree);
        if located.len() > MAX_LIST_ITEMS {
            return Err(Failure::SizeLimit);
        }
        steps.charge(u64::try_from(located.len()).unwrap_or(u64::MAX))?;
        located.iter().map(|node| find(root, node.location().iter()).ok_or(Failure::Conversion)).collect()
    }
}

/// The value at a place the query found: taken from the facts, so that numbers stay exact.
fn find<'a>(root: &Value, path: impl Iterator<Item = &'a PathElement<'a>>) -> Option<Value> {
    let mut at = root;
    for element in path {
        at = match (element, at) {
            (PathElement::Name(name), Value::Map(map)) => map.get_str(name)?,
            (PathElement::Index(index), Value::List(items)) => items.get(*index)?,
            _ => return None,
        };
    }
    Some(at.clone())
}

fn depth(tree: &serde_json::Value) -> u64 {
    let below = match tree {
        serde_json::Value::Array(items) => items.iter().map(depth).max(),
        serde_json::Value::Object(members) => members.values().map(depth).max(),
        _ => None,
    };
    below.unwrap_or(0) + 1
}

/// The tree the query walks. Decimals become the nearest double here: filters compare those.
fn to_json(value: &Value, depth: usize, steps: &mut Steps<'_>) -> Result<serde_json::Value, Failure> {
    steps.charge(1)?;
    if depth > MAX_VALUE_DEPTH {
        return Err(Failure::SizeLimit);
    }
    Ok(match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::UInt(value) => (*value).into(),
        Value::Decimal(value) => {
            // The text of a decimal parses to the nearest double. One past the range of doubles is infinite, which
            // `from_f64` refuses.
            let double = value.to_string().parse::<f64>().map_err(|_| Failure::Inexact)?;
            serde_json::Number::from_f64(double).ok_or(Failure::Inexact)?.into()
        }
        Value::String(text) => {
            steps.charge_bytes(text.len())?;
            (**text).into()
        }
        Value::List(items) => {
            let items = items.iter().map(|item| to_json(item, depth + 1, steps));
            serde_json::Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Map(map) => {
            let entries = map.entries().iter().map(|(key, value)| match key {
                Key::String(key) => Ok((String::from(&**key), to_json(value, depth + 1, steps)?)),
                _ => Err(Failure::Conversion),
            });
            serde_json::Value::Object(entries.collect::<Result<_, _>>()?)
        }
        Value::Bytes(_) | Value::Timestamp(_) | Value::Duration(_) | Value::Type(_) => {
            return Err(Failure::Conversion);
        }
    })
}

struct Walk<'a, 's, 'b> {
    name: &'s str,
    steps: &'s mut Steps<'b>,
    trail: Vec<Place<'a>>,
    found: Vec<&'a Value>,
    missing: Vec<Missing>,
}

#[derive(Clone, Copy)]
enum Place<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a> Walk<'a, '_, '_> {
    /// Follows the steps; what is missing on the way is noted. The depth is that of the query.
    fn follow(&mut self, value: &'a Value, steps: &'a [Step]) {
        if let Err(failure) = self.steps.charge(1) {
            return self.note(Why::Failed(failure));
        }
        if self.found.len() >= MAX_LIST_ITEMS {
            return self.note(Why::Failed(Failure::SizeLimit));
        }
        let Some((step, rest)) = steps.split_first() else {
            return self.found.push(value);
        };
        match (step, value) {
            (Step::Name(name), Value::Map(map)) => {
                self.enter(Place::Name(name), map.get_str(name), rest);
            }
            (Step::Name(_), _) => self.note_type("map", value),
            (Step::Index(index), Value::List(items)) => {
                let at = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
                // An index before the start wraps to one past the end, so `get` finds nothing.
                let at = if *index < 0 { items.len().wrapping_sub(at) } else { at };
                self.enter(Place::Index(at), items.get(at), rest);
            }
            (Step::Index(_), _) => self.note_type("list", value),
            (Step::Wildcard, Value::List(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.enter(Place::Index(index), Some(item), rest);
                }
            }
            (Step::Wildcard, Value::Map(map)) => {
                for (key, item) in map.entries() {
                    let name = if let Key::String(name) = key { name } else { "…" };
                    self.enter(Place::Name(name), Some(item), rest);
                }
            }
            (Step::Wildcard, _) => self.note_type("list or map", value),
        }
    }

    fn enter(&mut self, place: Place<'a>, value: Option<&'a Value>, rest: &'a [Step]) {
        // The result is unknown by then, and further reasons would be left out.
        if self.missing.len() >= MAX_MISSING || self.steps.exhausted() {
            return;
        }
        self.trail.push(place);
        match value {
            Some(value) => self.follow(value, rest),
            None => self.note(Why::Absent),
        }
        self.trail.pop();
    }

    fn note_type(&mut self, expected: &'static str, value: &Value) {
        let found = value.type_name().name();
        self.note(Why::WrongType { expected, found });
    }

    fn note(&mut self, why: Why) {
        let mut path = self.name.to_owned();
        for place in &self.trail {
            match place {
                Place::Name(name) if path.is_empty() => path.push_str(name),
                Place::Name(name) => path.extend([".", name]),
                Place::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        if path.is_empty() {
            path.push('$');
        }
        self.missing.push(Missing { path: shorten(path), why });
    }
}

/// The steps a valid query begins with that can be walked strictly, and the text after them.
fn strict_steps(text: &str) -> (Vec<Step>, &str) {
    let mut rest = text.strip_prefix('$').unwrap_or(text);
    let mut steps = Vec::new();
    while let Some((step, after)) = strict_step(rest) {
        steps.push(step);
        rest = after;
    }
    (steps, rest)
}

fn strict_step(rest: &str) -> Option<(Step, &str)> {
    if let Some(after) = rest.strip_prefix(".*").or(rest.strip_prefix("[*]")) {
        return Some((Step::Wildcard, after));
    }
    if let Some(after) = rest.strip_prefix('.') {
        let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric() || !c.is_ascii();
        let length = after.find(|c| !is_name(c)).unwrap_or(after.len());
        let (name, after) = after.split_at_checked(length).filter(|(name, _)| !name.is_empty())?;
        return Some((Step::Name(Arc::from(name)), after));
    }
    let bracketed = rest.strip_prefix('[')?;
    let quote = bracketed.chars().next()?;
    if quote == '\'' || quote == '"' {
        let (name, after) = bracketed.strip_prefix(quote)?.split_once(quote)?;
        let plain = !name.contains('\\');
        return plain.then_some((Step::Name(Arc::from(name)), after.strip_prefix(']')?));
    }
    let (index, after) = bracketed.split_once(']')?;
    Some((Step::Index(index.parse().ok()?), after))
}
