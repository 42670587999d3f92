//! Which operands the operators can take.

use super::Checker;
use crate::ast::{Kind, Node, Operator};
use crate::error::{Fault, Located, Span};
use crate::nearest::nearest;
use crate::schema::FieldType;
use crate::types::{Class, Type};
use crate::value::Value;

impl<'s> Checker<'s> {
    pub(super) fn binary(&mut self, operator: Operator, operands: &[Node; 2], span: Span) -> Result<Type<'s>, Located> {
        let [left_node, right_node] = operands;
        let (left, right) = (self.infer(left_node)?, self.infer(right_node)?);
        match operator {
            Operator::Equal | Operator::NotEqual => {
                comparable(operator, left, right, span)?;
                one_of(left, right_node)?;
                one_of(right, left_node)?;
                Ok(Type::Bool)
            }
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                ordered(operator, left, left_node.span)?;
                ordered(operator, right, right_node.span)?;
                comparable(operator, left, right, span)?;
                Ok(Type::Bool)
            }
            Operator::In => self.membership(left, right, right_node),
            Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
                arithmetic(operator, left, right, span)
            }
        }
    }

    fn membership(&mut self, left: Type<'s>, right: Type<'s>, node: &Node) -> Result<Type<'s>, Located> {
        match (right, &node.kind) {
            (Type::List(_), Kind::List { items, .. }) => {
                // With elements of several types, `in` asks for one of them: none is impossible.
                for item in items {
                    one_of(left, item)?;
                }
                if let [only] = items.as_slice() {
                    let element = self.infer(only)?;
                    comparable(Operator::In, left, element, only.span)?;
                }
            }
            (Type::List(Some(of)), _) => {
                comparable(Operator::In, left, Type::of_field(of), node.span)?;
            }
            (Type::List(None) | Type::Map(_) | Type::Object(_) | Type::Any, _) => {}
            _ => return Err(super::unfit(right, "a list or a map", "`in`", node.span)),
        }
        Ok(Type::Bool)
    }
}

/// Refuses a comparison of different classes, which is unknown whatever the facts are. Null is comparable.
fn comparable(operator: Operator, left: Type<'_>, right: Type<'_>, span: Span) -> Result<(), Located> {
    match (left.class(), right.class()) {
        (Some(left), Some(right)) if left != right && left != Class::Null && right != Class::Null => {
            let text = operator.text();
            let message = format!("`{text}` cannot compare {left} with {right}");
            let of_type = left == Class::Type || right == Class::Type;
            Err(if of_type { Fault::TypeAsValue(message) } else { Fault::Type(message) }.at(span))
        }
        _ => Ok(()),
    }
}

fn ordered(operator: Operator, operand: Type<'_>, span: Span) -> Result<(), Located> {
    match operand.class() {
        Some(class @ (Class::Null | Class::List | Class::Map | Class::Type)) => {
            let text = operator.text();
            Err(Fault::Type(format!("`{text}` has no order for {class}")).at(span))
        }
        _ => Ok(()),
    }
}

/// A text compared with a field that can only be one of a few others.
fn one_of(field: Type<'_>, literal: &Node) -> Result<(), Located> {
    let (Type::OneOf(FieldType::OneOf(texts)), Kind::Constant(Value::String(text))) = (field, &literal.kind) else {
        return Ok(());
    };
    if texts.contains(text) {
        return Ok(());
    }
    let nearest = nearest(text, texts.iter().map(|text| &**text));
    Err(Fault::UnknownName { what: "value", name: text.to_string(), nearest }.at(literal.span))
}

fn arithmetic<'s>(operator: Operator, left: Type<'s>, right: Type<'s>, span: Span) -> Result<Type<'s>, Located> {
    let (Some(a), Some(b)) = (left.class(), right.class()) else {
        return Ok(Type::Any);
    };
    match (operator, a, b) {
        (_, Class::Number, Class::Number) => Ok(Type::Number),
        (Operator::Add, Class::String, Class::String) => Ok(Type::String),
        (Operator::Add, Class::Bytes, Class::Bytes) => Ok(Type::Bytes),
        (Operator::Add, Class::List, Class::List) => Ok(Type::List(None)),
        (Operator::Add, Class::Timestamp, Class::Duration)
        | (Operator::Add, Class::Duration, Class::Timestamp)
        | (Operator::Subtract, Class::Timestamp, Class::Duration) => Ok(Type::Timestamp),
        (Operator::Add | Operator::Subtract, Class::Duration, Class::Duration)
        | (Operator::Subtract, Class::Timestamp, Class::Timestamp) => Ok(Type::Duration),
        _ => {
            let text = operator.text();
            Err(Fault::Type(format!("`{text}` cannot combine {a} with {b}")).at(span))
        }
    }
}
