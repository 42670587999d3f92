//! Which arguments functions and macros can take.

use super::{Checker, Class, Type};
use crate::ast::{Function, Macro, MacroKind, Node};
use crate::error::Located;

const SIZED: [Class; 4] = [Class::String, Class::Bytes, Class::List, Class::Map];
const NUMERIC_TEXT: [Class; 2] = [Class::Number, Class::String];

impl<'s> Checker<'s> {
    pub(super) fn call(&mut self, function: Function, arguments: &[Node]) -> Result<Type<'s>, Located> {
        let (takes, name, result): (&[Class], _, _) = match function {
            Function::Dyn | Function::Type => {
                for argument in arguments {
                    self.infer(argument)?;
                }
                return Ok(if function == Function::Dyn { Type::Any } else { Type::Denotation });
            }
            Function::Size => (&SIZED, "`size`", Type::Number),
            Function::StartsWith => (&[Class::String], "`startsWith`", Type::Bool),
            Function::EndsWith => (&[Class::String], "`endsWith`", Type::Bool),
            Function::Contains => (&[Class::String], "`contains`", Type::Bool),
            Function::Int => {
                (&[Class::Number, Class::String, Class::Timestamp, Class::Duration], "`int`", Type::Number)
            }
            Function::UInt => (&NUMERIC_TEXT, "`uint`", Type::Number),
            Function::Decimal => (&NUMERIC_TEXT, "`double`", Type::Number),
            Function::String => (
                &[Class::String, Class::Number, Class::Bool, Class::Bytes, Class::Timestamp, Class::Duration],
                "`string`",
                Type::String,
            ),
            Function::Bool => (&[Class::Bool, Class::String], "`bool`", Type::Bool),
            Function::Bytes => (&[Class::Bytes, Class::String], "`bytes`", Type::Bytes),
            Function::Sha256 => (&[Class::Bytes, Class::String], "`sha256`", Type::String),
            Function::Timestamp => (&[Class::Timestamp, Class::String, Class::Number], "`timestamp`", Type::Timestamp),
            Function::Duration => (&[Class::Duration, Class::String], "`duration`", Type::Duration),
            Function::Time(_) => {
                return self.time_field(arguments);
            }
        };
        for argument in arguments {
            self.expect(argument, takes, name)?;
        }
        Ok(result)
    }

    fn time_field(&mut self, arguments: &[Node]) -> Result<Type<'s>, Located> {
        if let Some((time, offset)) = arguments.split_first() {
            self.expect(time, &[Class::Timestamp, Class::Duration], "a time field")?;
            for offset in offset {
                self.expect(offset, &[Class::String], "the offset of a time")?;
            }
        }
        Ok(Type::Number)
    }

    pub(super) fn expand(&mut self, expanded: &Macro) -> Result<Type<'s>, Located> {
        let range = self.expect(&expanded.range, &[Class::List, Class::Map], "this macro")?;
        let (key, element) = match range {
            Type::List(of) => (Type::Number, Type::element(of)),
            Type::Map(of @ Some(_)) => (Type::String, Type::element(of)),
            Type::Object(_) => (Type::String, Type::Any),
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
