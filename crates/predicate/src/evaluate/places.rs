//! How an unknown answer names the fact that is missing.

use super::{Flow, Machine, Operand, Place, missing};
use crate::ast::{Kind, Node};
use crate::error::{Failure, Missing, Why, shorten};
use crate::value::Value;

impl<'a> Machine<'a> {
    pub(super) fn absent(&self, node: &'a Node) -> Vec<Missing> {
        missing(self.path_of(node), Why::Absent)
    }

    /// The element of `base` that is not there.
    pub(super) fn absent_at(&self, base: &'a Node, index: &Operand<'_>) -> Vec<Missing> {
        let mut path = self.path_of(base);
        if self.names {
            push_index(&mut path, index);
        }
        missing(shorten(path), Why::Absent)
    }

    pub(super) fn failed(&self, node: &'a Node, failure: Failure) -> Vec<Missing> {
        missing(self.path_of(node), Why::Failed(failure))
    }

    pub(super) fn wrong_type(&self, node: &'a Node, expected: &'static str, found: &Value) -> Vec<Missing> {
        let found = found.type_name().name();
        missing(self.path_of(node), Why::WrongType { expected, found })
    }

    /// Two operands of different types. The reason names the fact among them, not the literal.
    pub(super) fn mismatch<T>(&self, nodes: &'a [Node; 2], left: &Value, right: &Value) -> Flow<T> {
        let [left_node, right_node] = nodes;
        let (node, found, expected) = match left_node.kind {
            Kind::Constant(_) => (right_node, right, left),
            _ => (left_node, left, right),
        };
        Err(self.wrong_type(node, expected.type_name().name(), found))
    }

    /// The place of a fact, `order.items[2].price`; for anything that is not a fact, its text.
    pub(super) fn path_of(&self, node: &'a Node) -> String {
        if !self.names {
            return String::new();
        }
        let path = match &node.kind {
            Kind::Fact(name) => name.to_string(),
            Kind::Select { base, field } => {
                let mut path = self.path_of(base);
                push_name(&mut path, field);
                path
            }
            Kind::Index { base, index } => {
                let mut path = self.path_of(base);
                match &index.kind {
                    Kind::Constant(value) => push_index(&mut path, value),
                    _ => path.extend(["[", self.text_of(index), "]"]),
                }
                path
            }
            Kind::Local(slot) => match self.locals.get(*slot) {
                Some(local) => {
                    let mut path = self.path_of(local.range);
                    match &local.place {
                        Place::Index(index) => path.extend(["[", &index.to_string(), "]"]),
                        Place::Key(key) => push_index(&mut path, &key.to_value()),
                    }
                    path
                }
                None => self.text_of(node).to_owned(),
            },
            _ => self.text_of(node).to_owned(),
        };
        // At each level, so a chain of long names never builds a text much longer than the limit.
        shorten(path)
    }

    fn text_of(&self, node: &Node) -> &'a str {
        self.source.get(node.span.start..node.span.end).unwrap_or_default()
    }
}

fn push_name(path: &mut String, name: &str) {
    let plain = name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    if plain && !name.is_empty() {
        path.extend([".", name]);
    } else {
        path.push_str(&format!("[{name:?}]"));
    }
}

fn push_index(path: &mut String, index: &Value) {
    match index {
        Value::String(name) => push_name(path, name),
        other => match other.as_integer() {
            Some(index) => path.push_str(&format!("[{index}]")),
            None => path.push_str("[…]"),
        },
    }
}
