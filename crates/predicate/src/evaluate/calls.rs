//! Calls of functions and methods.

use super::{Flow, Machine, Operand};
use crate::ast::Node;
use crate::error::Missing;
use crate::functions::{Function, Parameter, Refusal, Run};
use crate::value::Value;

impl<'a> Machine<'a> {
    pub(super) fn call(&mut self, node: &'a Node, function: Function, arguments: &'a [Node]) -> Flow<Operand<'a>> {
        let signature = function.signature();
        let (first_node, first_parameter, second) = match (arguments, signature.takes) {
            ([first], [parameter, ..]) => (first, parameter, None),
            ([first, second], [parameter, second_parameter]) => (first, parameter, Some((second, second_parameter))),
            // The parser has counted the arguments.
            _ => return Err(self.absent(node)),
        };
        // Receipts name the number of steps, so what is charged, and in which order, is part of their format.
        let first = self.eval(first_node)?;
        self.charge_operand(node, &first)?;
        if let (true, Value::List(items)) = (signature.walks, &*first) {
            self.charge_items(node, items.len())?;
        }
        self.admit(first_node, first_parameter, &first)?;
        let second = match second {
            None => None,
            Some((second_node, parameter)) => {
                let second = self.eval(second_node)?;
                self.admit(second_node, parameter, &second)?;
                self.charge_operand(second_node, &second)?;
                Some((second_node, second))
            }
        };
        let answer = match (signature.run, &second) {
            (Run::One(run), _) => run(&first),
            (Run::Two(run), Some((_, second))) => run(&first, second),
            // Not reached either. Unknown is the result that allows nothing.
            (Run::Two(_), None) => return Err(self.absent(node)),
            (Run::OneOrTwo(run), second) => run(&first, second.as_ref().map(|(_, second)| &**second)),
        };
        answer.map(Operand::Owned).map_err(|refusal| match (refusal, second) {
            (Refusal::Second(failure), Some((second_node, _))) => self.failed(second_node, failure),
            (Refusal::Call(failure) | Refusal::Second(failure), _) => self.failed(node, failure),
            (Refusal::Type, _) => self.wrong_type(first_node, first_parameter.expected, &first),
        })
    }

    fn admit(&self, node: &'a Node, parameter: &Parameter, value: &Value) -> Result<(), Vec<Missing>> {
        if parameter.admits(value) { Ok(()) } else { Err(self.wrong_type(node, parameter.expected, value)) }
    }

    fn charge_operand(&mut self, node: &'a Node, value: &Value) -> Flow<()> {
        match value {
            Value::String(text) => self.charge_bytes(node, text.len()),
            Value::Bytes(bytes) => self.charge_bytes(node, bytes.len()),
            _ => Ok(()),
        }
    }
}
