//! Calls: functions, methods and macros.

use std::sync::Arc;

use super::{Parser, node};
use crate::ast::{Kind, Macro, MacroKind, Node};
use crate::error::{Fault, Located, Span};
use crate::functions::{Function, Run, function_names, method_names};
use crate::lexer::Token;
use crate::limits::MAX_PATTERNS;
use crate::nearest::nearest;
use crate::path::Query;
use crate::pattern::Pattern;
use crate::value::Value;

impl Parser {
    /// A call `name(…)`; the name has been taken.
    pub(super) fn function(&mut self, name: &str, span: Span) -> Result<Node, Located> {
        match name {
            "has" => return self.has(span),
            "path" => return self.path(None, span.start),
            "matches" => return self.matches_function(span),
            _ => {}
        }
        let Some(function) = Function::named(name) else {
            return Err(unknown("function", name, nearest(name, function_names())).at(span));
        };
        self.expect("(")?;
        let arguments = self.comma_separated(")", Self::expression)?;
        let (whole, run) = (self.span_since(span.start), function.signature().run);
        if run.takes(arguments.len()) {
            return node(Kind::Call { function, arguments }, whole);
        }
        let takes = match run {
            Run::One(_) => "one argument",
            Run::Two(_) => "two arguments",
            Run::OneOrTwo(_) => "one or two arguments",
        };
        Err(arity(name, takes).at(whole))
    }

    /// A call `base.name(…)`; the name has been taken.
    pub(super) fn method(&mut self, base: Node, name: &str, span: Span) -> Result<Node, Located> {
        if let Some(kind) = MacroKind::from_name(name) {
            return self.expand(kind, base, name);
        }
        let start = base.span.start;
        match name {
            "path" => return self.path(Some(Box::new(base)), start),
            "matches" => return self.matches_method(base),
            _ => {}
        }
        let Some(function) = Function::method(name) else {
            return Err(unknown("method", name, nearest(name, method_names().chain(MacroKind::NAMES))).at(span));
        };
        self.expect("(")?;
        let mut arguments = vec![base];
        arguments.extend(self.comma_separated(")", Self::expression)?);
        let (whole, run) = (self.span_since(start), function.signature().run);
        if run.takes(arguments.len()) {
            return node(Kind::Call { function, arguments }, whole);
        }
        let takes = match run {
            Run::One(_) => "no argument",
            Run::Two(_) => "one argument",
            Run::OneOrTwo(_) => "at most one argument",
        };
        Err(arity(name, takes).at(whole))
    }

    fn has(&mut self, span: Span) -> Result<Node, Located> {
        self.expect("(")?;
        let argument = self.expression()?;
        self.expect(")")?;
        let whole = self.span_since(span.start);
        let (base, field) = match argument.kind {
            Kind::Select { base, field } => (Some(base), field),
            Kind::Fact(name) => (None, name),
            _ => {
                let message = "`has` takes a field, as in `has(order.discount)`, or a fact";
                return Err(Fault::Arguments(message.to_owned()).at(argument.span));
            }
        };
        node(Kind::Has { base, field }, whole)
    }

    fn path(&mut self, base: Option<Box<Node>>, start: usize) -> Result<Node, Located> {
        self.expect("(")?;
        let span = self.span();
        // Only a literal: it is compiled, and refused if it is too large, when the predicate is loaded.
        let Token::String(text) = self.peek().clone() else {
            return Err(self.unexpected("a JSONPath query in quotes, as in `path(\"$.items[*].id\")`"));
        };
        self.advance();
        self.expect(")")?;
        self.count_pattern(span)?;
        let query = Box::new(Query::new(&text).map_err(|fault| fault.at(span))?);
        node(Kind::Path { base, query }, self.span_since(start))
    }

    fn matches_function(&mut self, span: Span) -> Result<Node, Located> {
        self.expect("(")?;
        let mut arguments = self.comma_separated(")", Self::expression)?;
        let pattern = arguments.pop();
        match (arguments.pop(), pattern, arguments.pop()) {
            (Some(text), Some(pattern), None) => self.matches(text, &pattern, span.start),
            _ => Err(arity("matches", "a text and a pattern").at(self.span_since(span.start))),
        }
    }

    fn matches_method(&mut self, base: Node) -> Result<Node, Located> {
        let start = base.span.start;
        self.expect("(")?;
        let arguments = self.comma_separated(")", Self::expression)?;
        match arguments.as_slice() {
            [pattern] => self.matches(base, pattern, start),
            _ => Err(arity("matches", "one pattern").at(self.span_since(start))),
        }
    }

    fn matches(&mut self, text: Node, pattern: &Node, start: usize) -> Result<Node, Located> {
        let Kind::Constant(Value::String(source)) = &pattern.kind else {
            let message = "the pattern of `matches` must be a string literal";
            return Err(Fault::Arguments(message.to_owned()).at(pattern.span));
        };
        self.count_pattern(pattern.span)?;
        let pattern = Box::new(Pattern::new(source).map_err(|fault| fault.at(pattern.span))?);
        let kind = Kind::Matches { text: Box::new(text), pattern };
        node(kind, self.span_since(start))
    }

    fn count_pattern(&mut self, span: Span) -> Result<(), Located> {
        // Callers count before they compile, so a predicate full of patterns has at most `MAX_PATTERNS` compiled.
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS { Err(Fault::TooMany.at(span)) } else { Ok(()) }
    }

    /// A macro `range.name(variable, body)`.
    fn expand(&mut self, kind: MacroKind, range: Node, name: &str) -> Result<Node, Located> {
        let start = range.span.start;
        self.expect("(")?;
        let mut variables = vec![self.variable()?];
        self.expect(",")?;
        if self.second_variable_follows(kind) {
            variables.push(self.variable()?);
            self.expect(",")?;
        }
        if matches!(variables.as_slice(), [a, b] if a == b) {
            return Err(Fault::Arguments(format!("`{name}` needs two different variables")).at(self.span()));
        }
        let (outer, count) = (self.scope.len(), variables.len());
        self.scope.extend(variables);
        // Any number is read and counted below, so the error is about the arguments and not about a comma.
        let bodies = self.comma_separated(")", Self::expression);
        self.scope.truncate(outer);
        let mut bodies = bodies?;
        let span = self.span_since(start);
        let (filter, body) = match (bodies.pop(), bodies.pop(), bodies.pop()) {
            (Some(body), None, None) => (None, body),
            (Some(body), Some(filter), None) if kind == MacroKind::Map => (Some(filter), body),
            _ => return Err(arity(name, "a variable and an expression").at(span)),
        };
        let expanded = Macro { kind, range, variables: count, filter, body };
        node(Kind::Macro(Box::new(expanded)), span)
    }

    fn variable(&mut self) -> Result<Arc<str>, Located> {
        match self.peek().clone() {
            Token::Word(name) if !matches!(&*name, "true" | "false" | "null" | "in") => {
                self.advance();
                Ok(name)
            }
            _ => Err(self.unexpected("the name of a variable")),
        }
    }

    /// In `m.all(k, v, …)` the second argument is a bare name followed by a comma. In `map`
    /// that place is a filter.
    fn second_variable_follows(&self, kind: MacroKind) -> bool {
        let comma = self.tokens.get(self.at + 1).map(|(token, _)| token);
        kind != MacroKind::Map && matches!(self.peek(), Token::Word(_)) && comma == Some(&Token::Operator(","))
    }
}

fn arity(name: &str, takes: &str) -> Fault {
    Fault::Arguments(format!("`{name}` takes {takes}"))
}

fn unknown(what: &'static str, name: &str, nearest: Option<String>) -> Fault {
    Fault::UnknownName { what, name: name.to_owned(), nearest }
}
