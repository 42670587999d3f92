//! Fast paths for what most conditions are: facts compared with literals.
//!
//! A fast path gives the value that general evaluation would. Whether it is taken depends on the expression and the facts
//! alone, so the step count is the same everywhere. Where general evaluation would give a reason or an error, the fast
//! path has no result.

use super::{Flow, Machine, Operand};
use crate::ast::{Kind, Node, Operator};
use crate::value::Value;

/// Texts up to this length are compared for less than a step.
const SHORT_TEXT: usize = 16;

impl<'a> Machine<'a> {
    pub(super) fn eval(&mut self, node: &'a Node) -> Flow<Operand<'a>> {
        match self.look(node) {
            Some(value) => Ok(Operand::Shared(value)),
            None => self.compute(node),
        }
    }

    /// The truth of a boolean fact or of a comparison of two simple values.
    pub(super) fn quick(&mut self, node: &'a Node) -> Option<bool> {
        let Kind::Binary { operator, operands } = &node.kind else {
            return match self.look(node)? {
                Value::Bool(truth) => Some(*truth),
                _ => None,
            };
        };
        let [left_node, right_node] = &**operands;
        let (left, right) = (self.place(left_node)?, self.place(right_node)?);
        let truth = match (left, right) {
            (Value::Int(a), Value::Int(b)) => compare(*operator, a, b),
            // One length is enough: general evaluation charges by the shorter text.
            (Value::String(a), Value::String(b)) if a.len() < SHORT_TEXT => match operator {
                Operator::Equal => Some(a == b),
                Operator::NotEqual => Some(a != b),
                _ => None,
            },
            _ => None,
        }?;
        let steps = 1 + left_node.depth + right_node.depth;
        // If the steps are used up, general evaluation charges again, fails at once and gives the reason.
        self.steps.charge_items(steps).ok()?;
        Some(truth)
    }

    /// A fact or literal that is present, charged by its depth.
    fn look(&mut self, node: &'a Node) -> Option<&'a Value> {
        let value = self.place(node)?;
        self.steps.charge_items(node.depth).ok()?;
        Some(value)
    }

    fn place(&self, node: &'a Node) -> Option<&'a Value> {
        match &node.kind {
            Kind::Fact(name) => self.facts.get(name),
            Kind::Select { base, field } => self.place(base)?.get(field),
            Kind::Local(slot) => match self.locals.get(*slot)?.value {
                Operand::Shared(value) => Some(value),
                // It is in `locals` and does not live as long as the facts, so no reference to it can be returned.
                Operand::Owned(_) => None,
            },
            Kind::Index { base, index } => match &index.kind {
                Kind::Constant(Value::String(name)) => self.place(base)?.get(name),
                _ => None,
            },
            other => other.literal(),
        }
    }
}

fn compare(operator: Operator, a: &i64, b: &i64) -> Option<bool> {
    Some(match operator {
        Operator::Equal => a == b,
        Operator::NotEqual => a != b,
        Operator::Less => a < b,
        Operator::LessOrEqual => a <= b,
        Operator::Greater => a > b,
        Operator::GreaterOrEqual => a >= b,
        _ => return None,
    })
}
