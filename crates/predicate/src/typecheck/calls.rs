//! Which arguments functions and macros can take.

use super::Checker;
use crate::ast::{Macro, MacroKind, Node};
use crate::error::Located;
use crate::functions::Function;
use crate::types::{Class, Type};

impl<'s> Checker<'s> {
    pub(super) fn call(&mut self, function: Function, arguments: &[Node]) -> Result<Type<'s>, Located> {
        let signature = function.signature();
        for (argument, parameter) in arguments.iter().zip(signature.takes) {
            match parameter.classes {
                [] => self.infer(argument)?,
                classes => self.expect(argument, classes, &format!("`{}`", function.name()))?,
            };
        }
        Ok(signature.gives)
    }

    pub(super) fn expand(&mut self, expanded: &Macro) -> Result<Type<'s>, Located> {
        let range = self.expect(&expanded.range, &[Class::List, Class::Map], "this macro")?;
        let (key, element) = match range {
            Type::List(of) => (Type::Number, Type::element(of)),
            Type::Map(of @ Some(_)) => (Type::String, Type::element(of)),
            Type::Object(_) => (Type::String, Type::Any),
            // Without a schema the keys of a map may be of any type that a key has.
            _ => (Type::Any, Type::Any),
        };
        let outer = self.locals.len();
        match (expanded.variables, range) {
            (2, _) => self.locals.extend([key, element]),
            (_, Type::List(_)) => self.locals.push(element),
            _ => self.locals.push(key),
        }
        let body = self.expand_body(expanded);
        self.locals.truncate(outer);
        body?;
        Ok(match (expanded.kind, range) {
            (MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne, _) => Type::Bool,
            (MacroKind::Filter, Type::List(_)) => range,
            (MacroKind::Filter | MacroKind::Map, _) => Type::List(None),
        })
    }

    fn expand_body(&mut self, expanded: &Macro) -> Result<(), Located> {
        if let Some(filter) = &expanded.filter {
            self.expect(filter, &[Class::Bool], "a filter")?;
        }
        match expanded.kind {
            MacroKind::Map => self.infer(&expanded.body),
            _ => self.expect(&expanded.body, &[Class::Bool], "the condition of a macro"),
        }
        .map(|_| ())
    }
}
