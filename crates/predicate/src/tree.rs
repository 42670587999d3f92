//! A read-only view of a parsed expression, for code that reasons about predicates without evaluating them.

use crate::ast::{Kind, Node};
pub use crate::ast::{MacroKind, Operator};
use crate::error::Span;
pub use crate::functions::Function;
use crate::functions::{function_names, method_names};
use crate::value::Value;

/// An expression of a predicate. Two are equal when they differ only in space, comments and
/// redundant brackets.
#[derive(Clone, Copy, Debug)]
pub struct Expression<'p>(&'p Node);

/// An operation and its operands. Names are resolved.
#[derive(Clone, Debug, PartialEq)]
pub enum View<'p> {
    Constant(&'p Value),
    /// A top-level fact.
    Fact(&'p str),
    /// A variable of an enclosing macro, counted from the outermost.
    Variable(usize),
    /// `base.field`
    Select {
        base: Expression<'p>,
        field: &'p str,
    },
    /// `base[index]`
    Index {
        base: Expression<'p>,
        index: Expression<'p>,
    },
    /// `has(base.field)`; without a base, `has(field)` of a fact.
    Has {
        base: Option<Expression<'p>>,
        field: &'p str,
    },
    /// `!operand`
    Not(Expression<'p>),
    /// `-operand`
    Negate(Expression<'p>),
    /// Operands with `&&` between them, two or more.
    And(Vec<Expression<'p>>),
    /// Operands with `||` between them, two or more.
    Or(Vec<Expression<'p>>),
    /// `condition ? then : otherwise`
    Conditional {
        condition: Expression<'p>,
        then: Expression<'p>,
        otherwise: Expression<'p>,
    },
    /// A comparison or arithmetic.
    Binary {
        operator: Operator,
        left: Expression<'p>,
        right: Expression<'p>,
    },
    List(Vec<Expression<'p>>),
    /// The keys and values of a map.
    Map(Vec<(Expression<'p>, Expression<'p>)>),
    /// A function or method; what a method is called on is the first argument.
    Call {
        function: Function,
        arguments: Vec<Expression<'p>>,
    },
    /// `text.matches("pattern")`
    Matches {
        text: Expression<'p>,
        pattern: &'p str,
    },
    /// `path("query")` over all facts, or `base.path("query")`.
    Path {
        /// The value that is queried; `None` for all facts.
        base: Option<Expression<'p>>,
        query: &'p str,
    },
    /// `range.name(variables, body)`
    Macro {
        kind: MacroKind,
        range: Expression<'p>,
        /// One variable for the element or key, two for index or key and element.
        variables: usize,
        /// The filter of a `map` with three arguments.
        filter: Option<Expression<'p>>,
        body: Expression<'p>,
    },
}

/// The names of all functions, methods and macros of the language; a name that is both comes twice.
pub fn names() -> impl Iterator<Item = &'static str> {
    function_names().chain(method_names()).chain(MacroKind::NAMES)
}

impl<'p> Expression<'p> {
    pub(crate) fn new(node: &'p Node) -> Self {
        Self(node)
    }

    /// Where it is in the source: [`crate::Predicate::clause`] gives its text.
    #[must_use]
    pub fn span(self) -> Span {
        self.0.span
    }

    /// Whether the pattern of `text.matches("pattern")` is found in the text; `None` where this is another operation.
    #[must_use]
    pub fn finds(self, text: &str) -> Option<bool> {
        match &self.0.kind {
            Kind::Matches { pattern, .. } => Some(pattern.is_match(text)),
            _ => None,
        }
    }

    /// The operation and its operands.
    #[must_use]
    pub fn view(self) -> View<'p> {
        let all = |nodes: &'p [Node]| nodes.iter().map(Self).collect();
        match &self.0.kind {
            Kind::Constant(value) => View::Constant(value),
            Kind::Fact(name) => View::Fact(name),
            Kind::Local(slot) => View::Variable(*slot),
            Kind::Select { base, field } => View::Select { base: Self(base), field },
            Kind::Index { base, index } => View::Index { base: Self(base), index: Self(index) },
            Kind::Has { base, field } => View::Has { base: base.as_deref().map(Self), field },
            Kind::Not(operand) => View::Not(Self(operand)),
            Kind::Negate(operand) => View::Negate(Self(operand)),
            Kind::And(items) => View::And(all(items)),
            Kind::Or(items) => View::Or(all(items)),
            Kind::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                View::Conditional { condition: Self(condition), then: Self(then), otherwise: Self(otherwise) }
            }
            Kind::Binary { operator, operands } => {
                let [left, right] = &**operands;
                View::Binary { operator: *operator, left: Self(left), right: Self(right) }
            }
            Kind::List { items, .. } => View::List(all(items)),
            Kind::Map(entries) => View::Map(entries.iter().map(|[key, value]| (Self(key), Self(value))).collect()),
            Kind::Call { function, arguments } => View::Call { function: *function, arguments: all(arguments) },
            Kind::Matches { text, pattern } => View::Matches { text: Self(text), pattern: pattern.text() },
            Kind::Path { base, query } => View::Path { base: base.as_deref().map(Self), query: query.text() },
            Kind::Macro(inner) => View::Macro {
                kind: inner.kind,
                range: Self(&inner.range),
                variables: inner.variables,
                filter: inner.filter.as_ref().map(Self),
                body: Self(&inner.body),
            },
        }
    }
}

impl PartialEq for Expression<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}
