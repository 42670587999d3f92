//! Errors that are found before any fact is known: unknown names, impossible comparisons.

mod calls;
mod operators;

use crate::ast::{Kind, Node};
use crate::error::{Fault, Located, Span};
use crate::nearest::nearest;
use crate::path::{Query, Step};
use crate::schema::Schema;
use crate::types::{Class, Type};
use crate::value::{TypeName, Value};

/// Checks an expression, and that its value may be of the expected type. Without a schema, only literals and operators say
/// what the types are.
pub(crate) fn check(node: &Node, schema: Option<&Schema>, expected: Option<TypeName>) -> Result<(), Located> {
    let mut checker = Checker { schema, locals: Vec::new() };
    let found = checker.infer(node)?.class();
    match (found, expected) {
        (Some(found), Some(expected)) if found != Class::of_type(expected) => {
            Err(Fault::Result { found: found.to_string(), expected: expected.name() }.at(node.span))
        }
        // A type that is not known passes: the evaluation is unknown if it turns out wrong.
        (Some(_) | None, _) => Ok(()),
    }
}

struct Checker<'s> {
    schema: Option<&'s Schema>,
    /// Types of the variables of the enclosing macros, outermost first.
    locals: Vec<Type<'s>>,
}

impl<'s> Checker<'s> {
    fn infer(&mut self, node: &Node) -> Result<Type<'s>, Located> {
        match &node.kind {
            Kind::Constant(value) => Ok(Type::of_value(value)),
            Kind::Fact(name) => self.fact(name, node.span),
            Kind::Local(slot) => Ok(self.locals.get(*slot).copied().unwrap_or(Type::Any)),
            Kind::Select { base, field } => {
                let base_type = self.infer(base)?;
                select(base_type, field, after(base, field))
            }
            // Also of `has`: a misspelt name would make it false for all facts.
            Kind::Has { base: None, field } => self.fact(field, node.span).map(|_| Type::Bool),
            Kind::Has { base: Some(base), field } => {
                let base_type = self.infer(base)?;
                select(base_type, field, after(base, field)).map(|_| Type::Bool)
            }
            Kind::Index { base, index } => self.index(base, index),
            Kind::Not(operand) => self.expect(operand, &[Class::Bool], "`!`").map(|_| Type::Bool),
            Kind::Negate(operand) => self.expect(operand, &[Class::Number, Class::Duration], "`-`"),
            Kind::And(items) => self.junction(items, "`&&`"),
            Kind::Or(items) => self.junction(items, "`||`"),
            Kind::Conditional(parts) => self.conditional(parts),
            Kind::Binary { operator, operands } => self.binary(*operator, operands, node.span),
            Kind::List { items, .. } => {
                items.iter().try_for_each(|item| self.infer(item).map(|_| ()))?;
                Ok(Type::List(None))
            }
            Kind::Map(entries) => {
                entries.iter().flatten().try_for_each(|part| self.infer(part).map(|_| ()))?;
                Ok(Type::Map(None))
            }
            Kind::Call { function, arguments } => self.call(*function, arguments),
            Kind::Matches { text, .. } => self.expect(text, &[Class::String], "`matches`").map(|_| Type::Bool),
            Kind::Path { base, query } => self.path(base.as_deref(), query, node.span),
            Kind::Macro(inner) => self.expand(inner),
        }
    }

    fn fact(&self, name: &str, span: Span) -> Result<Type<'s>, Located> {
        match self.schema {
            None => Ok(Type::Any),
            Some(schema) => field(schema, name, "fact", span),
        }
    }

    fn path(&mut self, base: Option<&Node>, query: &Query, span: Span) -> Result<Type<'s>, Located> {
        let mut at = match (base, self.schema) {
            (Some(base), _) => self.infer(base)?,
            (None, Some(schema)) => Type::Object(schema),
            (None, None) => Type::Any,
        };
        for (depth, step) in query.strict_steps().iter().enumerate() {
            at = match (step, at) {
                (Step::Name(name), Type::Object(schema)) => {
                    let what = if depth == 0 && base.is_none() { "fact" } else { "field" };
                    field(schema, name, what, span)?
                }
                (Step::Name(name), _) => select(at, name, span)?,
                (Step::Index(_) | Step::Wildcard, Type::List(of)) => Type::element(of),
                (Step::Wildcard, Type::Map(of)) => Type::element(of),
                (Step::Index(_) | Step::Wildcard, Type::Any | Type::Object(_)) => Type::Any,
                _ => return Err(unfit(at, "a list or a map", "a step of the path", span)),
            };
        }
        Ok(Type::List(None))
    }

    fn index(&mut self, base: &Node, index: &Node) -> Result<Type<'s>, Located> {
        let base_type = self.infer(base)?;
        match base_type {
            Type::List(of) => {
                self.expect(index, &[Class::Number], "the index of a list")?;
                Ok(Type::element(of))
            }
            Type::Map(of) => self.infer(index).map(|_| Type::element(of)),
            Type::Object(schema) => match &index.kind {
                Kind::Constant(Value::String(name)) => field(schema, name, "field", index.span),
                _ => self.infer(index).map(|_| Type::Any),
            },
            Type::Any => self.infer(index).map(|_| Type::Any),
            _ => Err(unfit(base_type, "a list or a map", "`[…]`", base.span)),
        }
    }

    fn junction(&mut self, items: &[Node], operator: &str) -> Result<Type<'s>, Located> {
        for item in items {
            self.expect(item, &[Class::Bool], operator)?;
        }
        Ok(Type::Bool)
    }

    fn conditional(&mut self, parts: &[Node; 3]) -> Result<Type<'s>, Located> {
        let [condition, then, otherwise] = parts;
        self.expect(condition, &[Class::Bool], "`?`")?;
        let (then, otherwise) = (self.infer(then)?, self.infer(otherwise)?);
        // Branches of two types are allowed: the condition may tell them apart.
        Ok(if then.class() == otherwise.class() { then } else { Type::Any })
    }

    /// The type of an operand, which must be of one of the classes or unknown.
    fn expect(&mut self, operand: &Node, classes: &[Class], what: &str) -> Result<Type<'s>, Located> {
        let found = self.infer(operand)?;
        match found.class() {
            Some(class) if !classes.contains(&class) => {
                let names: Vec<_> = classes.iter().map(ToString::to_string).collect();
                Err(unfit(found, &names.join(" or "), what, operand.span))
            }
            _ => Ok(found),
        }
    }
}

fn select<'s>(base: Type<'s>, name: &str, span: Span) -> Result<Type<'s>, Located> {
    match base {
        Type::Any => Ok(Type::Any),
        Type::Map(of) => Ok(Type::element(of)),
        Type::Object(schema) => field(schema, name, "field", span),
        _ => Err(unfit(base, "a map", &format!("`.{name}`"), span)),
    }
}

fn field<'s>(schema: &'s Schema, name: &str, what: &'static str, span: Span) -> Result<Type<'s>, Located> {
    schema.get(name).map(Type::of_field).ok_or_else(|| {
        let nearest = nearest(name, schema.names());
        Fault::UnknownName { what, name: name.to_owned(), nearest }.at(span)
    })
}

/// The span of a name selected from `base`: it follows the base and a dot.
fn after(base: &Node, name: &str) -> Span {
    // A guess if there is space around the dot, or backticks around the name. Only messages show it.
    let start = base.span.end + 1;
    Span { start, end: start + name.len() }
}

fn unfit(found: Type<'_>, expected: &str, what: &str, span: Span) -> Located {
    let found = found.class().map_or_else(|| "anything".to_owned(), |class| class.to_string());
    Fault::Type(format!("{what} takes {expected}, this is {found}")).at(span)
}
