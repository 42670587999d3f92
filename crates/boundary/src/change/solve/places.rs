//! Reads and writes values at places of the facts.

use proofmark_receipt::{Json, Object};

use super::Segment;

/// The value at a place.
pub(super) fn get<'a>(facts: &'a Object, way: &[Segment]) -> Option<&'a Json> {
    let (Segment::Name(first), rest) = way.split_first()? else { return None };
    rest.iter().try_fold(facts.get(first)?, |value, segment| match (segment, value) {
        (Segment::Name(name), Json::Object(object)) => object.get(name),
        (Segment::Index(index), Json::Array(items)) => items.get(*index),
        _ => None,
    })
}

/// Puts a value at a place; objects on the way are made, elements of lists are not. What is in the way goes.
pub(super) fn set(facts: &mut Object, way: &[Segment], value: Json) -> Option<()> {
    let (Segment::Name(first), rest) = way.split_first()? else { return None };
    if !facts.contains(first) {
        facts.insert(first.as_str(), Object::new());
    }
    put(facts.get_mut(first)?, rest, value)
}

/// Takes the member at a place out.
pub(super) fn remove(facts: &mut Object, way: &[Segment]) {
    let Some((Segment::Name(last), before)) = way.split_last() else { return };
    let mut object = facts;
    for segment in before {
        let Segment::Name(name) = segment else { return };
        let Some(Json::Object(inner)) = object.get_mut(name) else { return };
        object = inner;
    }
    object.remove(last);
}

fn put(at: &mut Json, way: &[Segment], value: Json) -> Option<()> {
    match (way.split_first(), at) {
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
            put(other, way, value)
        }
        (Some((Segment::Index(_), _)), _) => None,
    }
}
