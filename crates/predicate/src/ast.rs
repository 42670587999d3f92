//! The parsed expression. Names are resolved and patterns compiled when it is built.

use std::sync::Arc;

use crate::error::Span;
use crate::functions::Function;
use crate::path::Query;
use crate::pattern::Pattern;
use crate::value::Value;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// How many levels of nodes there are from here down, this one included. The parser bounds it, so that code which walks
    /// the tree may recurse.
    pub(crate) depth: usize,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Constant(Value),
    /// A top-level fact.
    Fact(Arc<str>),
    /// A variable of an enclosing macro, counted from the outermost.
    Local(usize),
    Select {
        base: Box<Node>,
        field: Arc<str>,
    },
    Index {
        base: Box<Node>,
        index: Box<Node>,
    },
    /// `has(base.field)`; without a base, `has(name)`.
    Has {
        base: Option<Box<Node>>,
        field: Arc<str>,
    },
    Not(Box<Node>),
    Negate(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Conditional(Box<[Node; 3]>),
    Binary {
        operator: Operator,
        operands: Box<[Node; 2]>,
    },
    List {
        items: Vec<Node>,
        // Made once when the predicate is loaded: `x in ['a', 'b']` allocates nothing for each evaluation.
        /// The list, when all its items are literals.
        value: Option<Value>,
    },
    Map(Vec<[Node; 2]>),
    Call {
        function: Function,
        arguments: Vec<Node>,
    },
    Matches {
        text: Box<Node>,
        pattern: Box<Pattern>,
    },
    /// `path("…")` over all facts, or `base.path("…")` over a value.
    Path {
        base: Option<Box<Node>>,
        query: Box<Query>,
    },
    Macro(Box<Macro>),
}

#[derive(Debug)]
pub(crate) struct Macro {
    pub(crate) kind: MacroKind,
    pub(crate) range: Node,
    /// One variable for the element or key, two for index or key and element.
    pub(crate) variables: usize,
    /// The filter of a `map` with three arguments.
    pub(crate) filter: Option<Node>,
    pub(crate) body: Node,
}

/// The macros over lists and maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MacroKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

impl MacroKind {
    pub(crate) const NAMES: [&str; 5] = ["all", "exists", "exists_one", "filter", "map"];

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "all" => Self::All,
            "exists" => Self::Exists,
            "exists_one" | "existsOne" => Self::ExistsOne,
            "filter" => Self::Filter,
            "map" => Self::Map,
            _ => return None,
        })
    }
}

/// The operators between two operands, except `&&` and `||`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    /// The comparison that holds where this one does not, for values that can be compared. None for what compares nothing.
    #[must_use]
    pub fn negated(self) -> Option<Self> {
        Some(match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::In | Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::Remainder => return None,
        })
    }

    /// The same comparison with its sides exchanged.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            other => other,
        }
    }

    /// The operator a token stands for and how tightly it binds.
    pub(crate) fn from_text(text: &str) -> Option<(Self, u8)> {
        Some(match text {
            "==" => (Self::Equal, 1),
            "!=" => (Self::NotEqual, 1),
            "<" => (Self::Less, 1),
            "<=" => (Self::LessOrEqual, 1),
            ">" => (Self::Greater, 1),
            ">=" => (Self::GreaterOrEqual, 1),
            "in" => (Self::In, 1),
            "+" => (Self::Add, 2),
            "-" => (Self::Subtract, 2),
            "*" => (Self::Multiply, 3),
            "/" => (Self::Divide, 3),
            "%" => (Self::Remainder, 3),
            _ => return None,
        })
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

impl Kind {
    /// The value of a literal, or of a list of literals.
    pub(crate) fn literal(&self) -> Option<&Value> {
        match self {
            Self::Constant(value) | Self::List { value: Some(value), .. } => Some(value),
            _ => None,
        }
    }

    /// The nodes directly below.
    pub(crate) fn children(&self) -> Box<dyn Iterator<Item = &Node> + '_> {
        match self {
            Self::Constant(_) | Self::Fact(_) | Self::Local(_) => Box::new(std::iter::empty()),
            Self::Select { base: child, .. }
            | Self::Not(child)
            | Self::Negate(child)
            | Self::Matches { text: child, .. } => Box::new(std::iter::once(&**child)),
            Self::Index { base, index } => Box::new([&**base, &**index].into_iter()),
            Self::Has { base, .. } | Self::Path { base, .. } => Box::new(base.iter().map(|node| &**node)),
            Self::And(items) | Self::Or(items) | Self::List { items, .. } => Box::new(items.iter()),
            Self::Conditional(parts) => Box::new(parts.iter()),
            Self::Binary { operands, .. } => Box::new(operands.iter()),
            Self::Map(entries) => Box::new(entries.iter().flatten()),
            Self::Call { arguments, .. } => Box::new(arguments.iter()),
            Self::Macro(inner) => {
                let parts = [Some(&inner.range), inner.filter.as_ref(), Some(&inner.body)];
                Box::new(parts.into_iter().flatten())
            }
        }
    }
}
