//! Places in the facts: which ones an expression reads, and the values there.

use proofmark_predicate::Value;
use proofmark_predicate::tree::{Expression, View};
use proofmark_receipt::{Json, Object};

/// One segment of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::change) enum Segment {
    Name(String),
    Index(usize),
}

/// Whether a retry may change the fact. Another tool or class would be another action; the time cannot be chosen, nor who asks, nor what was
/// counted.
pub(in crate::change) fn is_changeable(place: &[Segment]) -> bool {
    let name = |segment: &Segment| if let Segment::Name(name) = segment { name.clone() } else { String::new() };
    match place.first().map(name).as_deref() {
        None => true,
        Some("now" | "limits") => false,
        Some("agent") => !matches!(place.get(1).map(name).as_deref(), Some("account" | "separation")),
        Some("action") => matches!(place.get(1).map(name).as_deref(), Some("args" | "target")),
        Some(_) => true,
    }
}

/// The places an expression reads; for elements of a list, the place of the list. An empty place is all facts.
pub(in crate::change) fn places(expression: Expression<'_>) -> Vec<Vec<Segment>> {
    let mut found = Vec::new();
    collect(expression, &mut found);
    found
}

fn collect(expression: Expression<'_>, found: &mut Vec<Vec<Segment>>) {
    if let Some(place) = place_of(expression) {
        return found.push(place);
    }
    match expression.view() {
        View::Constant(_) | View::Variable(_) => {}
        View::Fact(name) => found.push(vec![Segment::Name(name.to_owned())]),
        View::Select { base, .. } | View::Not(base) | View::Negate(base) => collect(base, found),
        View::Index { base, index } => [base, index].into_iter().for_each(|part| collect(part, found)),
        View::Has { base: None, field } => found.push(vec![Segment::Name(field.to_owned())]),
        View::Has { base: Some(base), field } => match place_of(base) {
            Some(place) => found.push(place.into_iter().chain([Segment::Name(field.to_owned())]).collect()),
            None => collect(base, found),
        },
        View::And(parts) | View::Or(parts) | View::List(parts) | View::Call { arguments: parts, .. } => {
            parts.into_iter().for_each(|part| collect(part, found));
        }
        View::Conditional { condition, then, otherwise } => {
            [condition, then, otherwise].into_iter().for_each(|part| collect(part, found));
        }
        View::Binary { left, right, .. } => [left, right].into_iter().for_each(|part| collect(part, found)),
        View::Map(entries) => entries.into_iter().for_each(|(key, value)| {
            collect(key, found);
            collect(value, found);
        }),
        View::Matches { text, .. } => collect(text, found),
        View::Path { base: Some(base), .. } => collect(base, found),
        // A JSONPath without a base may read any fact.
        View::Path { base: None, .. } => found.push(Vec::new()),
        View::Macro { range, filter, body, .. } => {
            collect(range, found);
            filter.into_iter().chain([body]).for_each(|part| collect(part, found));
        }
    }
}

/// The place that an expression denotes, if it selects from a fact.
pub(in crate::change) fn place_of(expression: Expression<'_>) -> Option<Vec<Segment>> {
    let (base, segment) = match expression.view() {
        View::Fact(name) => return Some(vec![Segment::Name(name.to_owned())]),
        View::Select { base, field } => (base, Segment::Name(field.to_owned())),
        View::Index { base, index } => (base, segment(index)?),
        _ => return None,
    };
    let mut place = place_of(base)?;
    place.push(segment);
    Some(place)
}

/// The segment of a literal index.
pub(super) fn segment(index: Expression<'_>) -> Option<Segment> {
    match index.view() {
        View::Constant(Value::String(name)) => Some(Segment::Name(name.to_string())),
        View::Constant(Value::Int(index)) => usize::try_from(*index).ok().map(Segment::Index),
        _ => None,
    }
}

/// The value at a place.
pub(super) fn get<'a>(facts: &'a Object, place: &[Segment]) -> Option<&'a Json> {
    let (Segment::Name(first), rest) = place.split_first()? else { return None };
    rest.iter().try_fold(facts.get(first)?, |value, segment| match (segment, value) {
        (Segment::Name(name), Json::Object(object)) => object.get(name),
        (Segment::Index(index), Json::Array(items)) => items.get(*index),
        _ => None,
    })
}

/// Puts a value at a place. Missing objects on the way are created, elements of lists are not; other values on the way
/// are replaced.
pub(in crate::change) fn set(facts: &mut Object, place: &[Segment], value: Json) -> Option<()> {
    let (Segment::Name(first), rest) = place.split_first()? else { return None };
    if !facts.contains(first) {
        facts.insert(first.as_str(), Object::new());
    }
    put(facts.get_mut(first)?, rest, value)
}

/// Removes the member at a place.
pub(in crate::change) fn remove(facts: &mut Object, place: &[Segment]) {
    let Some((Segment::Name(last), before)) = place.split_last() else { return };
    let mut object = facts;
    for segment in before {
        let Segment::Name(name) = segment else { return };
        let Some(Json::Object(inner)) = object.get_mut(name) else { return };
        object = inner;
    }
    object.remove(last);
}

fn put(at: &mut Json, place: &[Segment], value: Json) -> Option<()> {
    match (place.split_first(), at) {
        (None, at) => {
            *at = value;
            Some(())
        }
        (Some((Segment::Name(name), rest)), Json::Object(object)) => {
            if !object.contains(name) {
                object.insert(name.as_str(), Object::new());
            }
            put(object.get_mut(name)?, rest, value)
        }
        (Some((Segment::Index(index), rest)), Json::Array(items)) => put(items.get_mut(*index)?, rest, value),
        (Some((Segment::Name(_), _)), other) => {
            *other = Json::Object(Object::new());
            put(other, place, value)
        }
        // A missing element is not made up: the ones before it would have to be, too.
        (Some((Segment::Index(_), _)), _) => None,
    }
}
