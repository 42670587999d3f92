//! Equality, order and membership. Values of different types are neither equal nor unequal; only
//! null is different from everything else.

use std::cmp::Ordering;

use super::{Flow, Machine};
use crate::ast::{Node, Operator};
use crate::budget::Steps;
use crate::error::Failure;
use crate::limits::MAX_VALUE_DEPTH;
use crate::value::{Key, Map, Value};

/// The result of comparing two values for equality.
enum Equality<'v> {
    Same,
    Different,
    /// Neither, since these two parts are of different types.
    Mismatch(&'v Value, &'v Value),
}

impl<'a> Machine<'a> {
    pub(super) fn equality(&mut self, node: &'a Node, nodes: &'a [Node; 2], left: &Value, right: &Value) -> Flow<bool> {
        match equal(left, right, 0, &mut self.steps) {
            Ok(Equality::Same) => Ok(true),
            Ok(Equality::Different) => Ok(false),
            Ok(Equality::Mismatch(a, b)) => self.mismatch(nodes, a, b),
            Err(failure) => Err(self.failed(node, failure)),
        }
    }

    pub(super) fn order(
        &mut self,
        node: &'a Node,
        operator: Operator,
        nodes: &'a [Node; 2],
        left: &Value,
        right: &Value,
    ) -> Flow<bool> {
        if let (Value::String(a), Value::String(b)) = (left, right) {
            self.charge_bytes(node, a.len().min(b.len()))?;
        }
        let Some(order) = order(left, right) else {
            return self.mismatch(nodes, left, right);
        };
        Ok(match operator {
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
            Operator::Greater => order.is_gt(),
            _ => order.is_ge(),
        })
    }

    /// `x in list` is an `exists` over equality; `key in map` looks the key up.
    pub(super) fn membership(
        &mut self,
        node: &'a Node,
        nodes: &'a [Node; 2],
        left: &Value,
        right: &Value,
    ) -> Flow<bool> {
        let [left_node, right_node] = nodes;
        match right {
            Value::List(items) => self.list_membership(node, left_node, left, items),
            Value::Map(map) => self.key_membership(left_node, left, map),
            other => Err(self.wrong_type(right_node, "list or map", other)),
        }
    }

    fn list_membership(&mut self, node: &'a Node, left_node: &'a Node, left: &Value, items: &[Value]) -> Flow<bool> {
        let mut mismatch = None;
        for item in items {
            match equal(left, item, 0, &mut self.steps) {
                Ok(Equality::Same) => return Ok(true),
                Ok(Equality::Different) => {}
                // A later element may still be equal; otherwise the first mismatch is the reason, so it does not change
                // on replay.
                Ok(Equality::Mismatch(found, expected)) => {
                    mismatch.get_or_insert((found, expected));
                }
                Err(failure) => return Err(self.failed(node, failure)),
            }
        }
        match mismatch {
            Some((found, expected)) => Err(self.wrong_type(left_node, expected.type_name().name(), found)),
            None => Ok(false),
        }
    }

    fn key_membership(&mut self, left_node: &'a Node, left: &Value, map: &Map) -> Flow<bool> {
        match (Key::from_value(left), left) {
            (Some(key), _) => Ok(map.get(&key).is_some()),
            // No key is a fraction.
            (None, Value::Decimal(_)) => Ok(false),
            (None, _) => Err(self.wrong_type(left_node, "string or int", left)),
        }
    }
}

/// The order of two values, if they have one.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        _ => Some(left.as_decimal()?.cmp(&right.as_decimal()?)),
    }
}

fn equal<'v>(left: &'v Value, right: &'v Value, depth: usize, steps: &mut Steps<'_>) -> Result<Equality<'v>, Failure> {
    steps.charge(1)?;
    let same = match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::String(a), Value::String(b)) => {
            // Charged even if the lengths differ and the comparison ends at once: the count depends on the lengths
            // alone.
            steps.charge_bytes(a.len().min(b.len()))?;
            a == b
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            steps.charge_bytes(a.len().min(b.len()))?;
            a == b
        }
        (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Type(a), Value::Type(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            let pairs = a.iter().zip(b.iter());
            return if a.len() == b.len() { all_equal(pairs, depth, steps) } else { Ok(Equality::Different) };
        }
        (Value::Map(a), Value::Map(b)) => {
            let (a, b) = (a.entries(), b.entries());
            // Entries are sorted by key, so equal maps have equal keys in the same places.
            let same_keys = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0);
            steps.charge_items(a.len())?;
            return if same_keys {
                all_equal(a.iter().zip(b).map(|(a, b)| (&a.1, &b.1)), depth, steps)
            } else {
                Ok(Equality::Different)
            };
        }
        _ => match (left.as_decimal(), right.as_decimal()) {
            (Some(a), Some(b)) => a == b,
            _ => return Ok(Equality::Mismatch(left, right)),
        },
    };
    Ok(if same { Equality::Same } else { Equality::Different })
}

/// One different pair makes the whole different. Otherwise a mismatch leaves it undecided.
fn all_equal<'v>(
    pairs: impl Iterator<Item = (&'v Value, &'v Value)>,
    depth: usize,
    steps: &mut Steps<'_>,
) -> Result<Equality<'v>, Failure> {
    // Facts are nested as deeply as their reader allows, and this recursion uses the stack of the caller's thread.
    if depth >= MAX_VALUE_DEPTH {
        return Err(Failure::SizeLimit);
    }
    let mut result = Equality::Same;
    for (left, right) in pairs {
        match equal(left, right, depth + 1, steps)? {
            Equality::Same => {}
            // Even after a mismatch: whatever the mismatched parts were, the whole would still be different.
            Equality::Different => return Ok(Equality::Different),
            mismatch @ Equality::Mismatch(..) => result = mismatch,
        }
    }
    Ok(result)
}
