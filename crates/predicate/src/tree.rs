//! A read-only view of a parsed expression, for code that reasons about predicates without evaluating them.

use crate::ast::{Kind, Node};
pub use crate::ast::{MacroKind, Operator};
pub use crate::functions::{Function, names};
use crate::value::Value;

/// An expression of a predicate. Two are equal when they are written alike, space, comments and redundant brackets aside.
#[derive(Clone, Copy, Debug)]
pub struct Expression<'p>(&'p Node);

/// What an expression is made of. Names are resolved.
#[derive(Clone, Debug, PartialEq)]
pub enum View<'p> {
    /// A literal.
    Constant(&'p Value),
    /// A top-level fact.
    Fact(&'p str),
    /// A variable of an enclosing macro, counted from the outermost.
    Variable(usize),
    /// `base.field`
    Select {
        /// What the field is of.
        base: Expression<'p>,
        /// Its name.
        field: &'p str,
    },
    /// `base[index]`
    Index {
        /// What is indexed.
        base: Expression<'p>,
        /// The position or the key.
        index: Expression<'p>,
    },
    /// `has(base.field)`; without a base, `has(field)` of a fact.
    Has {
        /// What the field is of.
        base: Option<Expression<'p>>,
        /// Its name.
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
        /// What is asked.
        condition: Expression<'p>,
        /// The value when it is true.
        then: Expression<'p>,
        /// The value when it is false.
        otherwise: Expression<'p>,
    },
    /// A comparison or arithmetic.
    Binary {
        /// The operator.
        operator: Operator,
        /// What stands left of it.
        left: Expression<'p>,
        /// What stands right of it.
        right: Expression<'p>,
    },
    /// A list.
    List(Vec<Expression<'p>>),
    /// The keys and values of a map.
    Map(Vec<(Expression<'p>, Expression<'p>)>),
    /// A function or method; what a method is called on is the first argument.
    Call {
        /// Which one.
        function: Function,
        /// The arguments.
        arguments: Vec<Expression<'p>>,
    },
    /// `text.matches("pattern")`
    Matches {
        /// The text.
        text: Expression<'p>,
        /// The pattern.
        pattern: &'p str,
    },
    /// `path("query")` over all facts, or `base.path("query")`.
    Path {
        /// The value that is queried; `None` for all facts.
        base: Option<Expression<'p>>,
        /// The JSONPath.
        query: &'p str,
    },
    /// `range.name(variables, body)`
    Macro {
        /// Which one.
        kind: MacroKind,
        /// The list or map.
        range: Expression<'p>,
        /// One variable for the element or key, two for index or key and element.
        variables: usize,
        /// The filter of a `map` with three arguments.
        filter: Option<Expression<'p>>,
        /// What is asked of each element, or made of it.
        body: Expression<'p>,
    },
}

impl<'p> Expression<'p> {
    pub(crate) fn new(node: &'p Node) -> Self {
        Self(node)
    }

    /// What it is made of.
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
