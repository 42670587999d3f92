//! `+ - * / %`. Integers overflow into an error; a decimal operand makes the result a decimal.

use std::sync::Arc;

use super::{Flow, Machine};
use crate::ast::{Node, Operator};
use crate::decimal::{Decimal, NumberError};
use crate::error::Failure;
use crate::limits::MAX_STRING_BYTES;
use crate::time::TimeError;
use crate::value::Value;

impl<'a> Machine<'a> {
    pub(super) fn arithmetic(
        &mut self,
        node: &'a Node,
        operator: Operator,
        nodes: &'a [Node; 2],
        left: &Value,
        right: &Value,
    ) -> Flow<Value> {
        let result = match (operator, left, right) {
            (_, Value::Int(a), Value::Int(b)) => signed(operator, *a, *b),
            // As in CEL, no arithmetic mixes `Int` and `UInt`; comparisons do.
            (_, Value::UInt(a), Value::UInt(b)) => unsigned(operator, *a, *b),
            (Operator::Add, _, _) if length(left).is_some() => {
                return self.concatenate(node, nodes, left, right);
            }
            (Operator::Remainder, _, _) => return self.remainder_mismatch(nodes, left, right),
            _ => match (times(operator, left, right), decimals(left, right)) {
                (Some(result), _) => result,
                (None, Some((a, b))) => decimal(operator, a, b),
                (None, None) => return self.mismatch(nodes, left, right),
            },
        };
        result.map_err(|failure| self.failed(node, failure))
    }

    pub(super) fn negate(&mut self, node: &'a Node, operand: &'a Node) -> Flow<Value> {
        let operand_value = self.eval(operand)?;
        match &*operand_value {
            Value::Int(value) => match value.checked_neg() {
                Some(value) => Ok(Value::Int(value)),
                None => Err(self.failed(node, Failure::Overflow)),
            },
            Value::Decimal(value) => Ok(Value::Decimal(value.negate())),
            other => Err(self.wrong_type(operand, "int or decimal", other)),
        }
    }

    /// `%` takes integers of one kind. The reason names the operand that is not one.
    fn remainder_mismatch(&self, nodes: &'a [Node; 2], left: &Value, right: &Value) -> Flow<Value> {
        let [left_node, right_node] = nodes;
        match left {
            Value::Int(_) => Err(self.wrong_type(right_node, "int", right)),
            Value::UInt(_) => Err(self.wrong_type(right_node, "uint", right)),
            _ => Err(self.wrong_type(left_node, "int", left)),
        }
    }

    fn concatenate(&mut self, node: &'a Node, nodes: &'a [Node; 2], left: &Value, right: &Value) -> Flow<Value> {
        let total = length(left).unwrap_or(0) + length(right).unwrap_or(0);
        match (left, right) {
            (Value::String(a), Value::String(b)) => {
                // The limit is checked and the steps are taken before the memory is.
                self.charge_text(node, total)?;
                Ok(Value::from([&**a, &**b].concat()))
            }
            (Value::Bytes(a), Value::Bytes(b)) => {
                self.charge_text(node, total)?;
                Ok(Value::Bytes(Arc::from([&**a, &**b].concat())))
            }
            (Value::List(a), Value::List(b)) => {
                self.charge_items(node, total)?;
                Ok(Value::from([&**a, &**b].concat()))
            }
            _ => self.mismatch(nodes, left, right),
        }
    }

    /// Charges for a new text, and refuses one that is too long.
    pub(super) fn charge_text(&mut self, node: &'a Node, bytes: usize) -> Flow<()> {
        if bytes > MAX_STRING_BYTES {
            return Err(self.failed(node, Failure::SizeLimit));
        }
        self.charge_bytes(node, bytes)
    }
}

/// The length of what `+` joins.
fn length(value: &Value) -> Option<usize> {
    match value {
        Value::String(text) => Some(text.len()),
        Value::Bytes(bytes) => Some(bytes.len()),
        Value::List(items) => Some(items.len()),
        _ => None,
    }
}

fn signed(operator: Operator, a: i64, b: i64) -> Result<Value, Failure> {
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        // Before the checked operations, which give `None` for it as they do for the overflow of `i64::MIN / -1`.
        _ if b == 0 => return Err(Failure::DivisionByZero),
        Operator::Divide => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    result.map(Value::Int).ok_or(Failure::Overflow)
}

fn unsigned(operator: Operator, a: u64, b: u64) -> Result<Value, Failure> {
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        _ if b == 0 => return Err(Failure::DivisionByZero),
        Operator::Divide => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    result.map(Value::UInt).ok_or(Failure::Overflow)
}

/// Two numbers of which at least one is a decimal. Signed and unsigned integers do not mix.
fn decimals(left: &Value, right: &Value) -> Option<(Decimal, Decimal)> {
    let mixed = matches!(left, Value::Decimal(_)) || matches!(right, Value::Decimal(_));
    mixed.then(|| left.as_decimal().zip(right.as_decimal())).flatten()
}

fn decimal(operator: Operator, a: Decimal, b: Decimal) -> Result<Value, Failure> {
    let result = match operator {
        Operator::Add => a.plus(b),
        Operator::Subtract => a.minus(b),
        Operator::Multiply => a.multiply(b),
        _ => a.divide(b),
    };
    result.map(Value::Decimal).map_err(|error| match error {
        NumberError::DivisionByZero => Failure::DivisionByZero,
        _ => Failure::Inexact,
    })
}

/// Arithmetic with times, if the operands are times.
fn times(operator: Operator, left: &Value, right: &Value) -> Option<Result<Value, Failure>> {
    use Value::{Duration, Timestamp};
    let result = match (operator, left, right) {
        (Operator::Add, Timestamp(a), Duration(b)) | (Operator::Add, Duration(b), Timestamp(a)) => {
            a.plus(*b).map(Timestamp)
        }
        (Operator::Subtract, Timestamp(a), Duration(b)) => a.minus(*b).map(Timestamp),
        (Operator::Subtract, Timestamp(a), Timestamp(b)) => a.since(*b).map(Duration),
        (Operator::Add, Duration(a), Duration(b)) => a.plus(*b).map(Duration),
        (Operator::Subtract, Duration(a), Duration(b)) => a.minus(*b).map(Duration),
        _ => return None,
    };
    Some(result.map_err(|_: TimeError| Failure::Time))
}
