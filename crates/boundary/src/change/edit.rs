//! Facts with one value changed. What is not changed is shared.

use proofmark_predicate::{Map, Value};

use super::solve::Segment;

/// The value with `new` at a place. Missing maps on the way are created, elements of lists are not; other values on the way
/// are replaced.
pub(super) fn with(value: Option<&Value>, place: &[Segment], new: Value) -> Option<Value> {
    match (place.split_first(), value) {
        (None, _) => Some(new),
        (Some((Segment::Name(name), rest)), Some(Value::Map(map))) => {
            let inner = with(map.get_str(name), rest, new)?;
            Some(Value::Map(map.with(name, inner)))
        }
        (Some((Segment::Name(name), rest)), _) => {
            let inner = with(None, rest, new)?;
            Some(Value::Map(Map::from_entries(Vec::new()).with(name, inner)))
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
    let (Some((Segment::Name(name), rest)), Value::Map(map)) = (place.split_first(), value) else { return None };
    let own = map.get_str(name)?;
    Some(Value::Map(match rest {
        [] => map.without(name),
        rest => map.with(name, without(own, rest)?),
    }))
}
