//! Facts with one value changed. What is not changed is shared.

use proofmark_predicate::{Key, Map, Value};

use super::solve::Segment;

/// The value with `new` at a place. Missing maps on the way are created, elements of lists are not; other values on the way
/// are replaced.
pub(super) fn with(value: Option<&Value>, place: &[Segment], new: Value) -> Option<Value> {
    match (place.split_first(), value) {
        (None, _) => Some(new),
        (Some((Segment::Name(name), rest)), value) => {
            let map = value.and_then(as_map);
            let inner = with(map.and_then(|map| map.get_str(name)), rest, new)?;
            let others = map.map(Map::entries).unwrap_or_default().iter().filter(|(key, _)| !is(key, name));
            let own = (Key::String(name.as_str().into()), inner);
            Some(Value::Map(Map::from_entries(others.cloned().chain([own]).collect())))
        }
        (Some((Segment::Index(index), rest)), Some(Value::List(items))) => {
            let inner = with(Some(items.get(*index)?), rest, new)?;
            let mut items = items.to_vec();
            *items.get_mut(*index)? = inner;
            Some(Value::from(items))
        }
        // A missing element is not made up: the ones before it would have to be, too.
        (Some((Segment::Index(_), _)), _) => None,
    }
}

/// The value without what is at a place; `None` where there is nothing, or the place leads through a list.
pub(super) fn without(value: &Value, place: &[Segment]) -> Option<Value> {
    let (Segment::Name(name), rest) = place.split_first()? else { return None };
    let map = as_map(value)?;
    let own = map.get_str(name)?;
    let inner = if rest.is_empty() { None } else { Some((Key::String(name.as_str().into()), without(own, rest)?)) };
    let others = map.entries().iter().filter(|(key, _)| !is(key, name));
    Some(Value::Map(Map::from_entries(others.cloned().chain(inner).collect())))
}

fn as_map(value: &Value) -> Option<&Map> {
    if let Value::Map(map) = value { Some(map) } else { None }
}

fn is(key: &Key, name: &str) -> bool {
    matches!(key, Key::String(key) if **key == *name)
}
