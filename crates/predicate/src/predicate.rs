//! A loaded predicate and the answers it gives.

use std::sync::Arc;

use crate::ast::{Kind, Node, Operator};
use crate::budget::Budget;
use crate::error::{CompileError, Fault, Located, Missing, Span, UnknownError};
use crate::evaluate::Machine;
use crate::limits::{MAX_SOURCE_BYTES, MAX_STEPS};
use crate::path::Step;
use crate::schema::Schema;
use crate::tree::Expression;
use crate::value::{TypeName, Value};
use crate::{parser, typecheck};

/// A predicate that has been read and checked. Evaluating it changes nothing, so one can be
/// shared by threads.
#[derive(Debug)]
pub struct Predicate {
    source: String,
    root: Node,
}

/// The answer to a predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// True, false, or unknown for want of facts.
    pub truth: Truth,
    /// Steps taken; the same predicate over the same facts always takes as many.
    pub steps: u64,
    /// The clauses that made the answer false or unknown, in the order of the source; none when
    /// it is true. [`Predicate::clause`] gives their text.
    pub decided_by: Vec<Span>,
}

/// True, false, or unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Truth {
    /// The predicate holds.
    True,
    /// The predicate does not hold.
    False,
    /// Whether it holds depends on these facts.
    Unknown(Vec<Missing>),
}

impl Predicate {
    /// Reads a predicate over facts of which nothing is declared.
    ///
    /// # Errors
    /// [`CompileError`] when it is not one, with the place and the mend.
    pub fn compile(source: &str) -> Result<Self, CompileError> {
        Self::load(source, None, None)
    }

    /// Reads a predicate over declared facts.
    ///
    /// # Errors
    /// [`CompileError`], also for names the schema does not have and comparisons it makes
    /// impossible.
    pub fn compile_with(source: &str, schema: &Schema) -> Result<Self, CompileError> {
        Self::load(source, Some(schema), None)
    }

    /// Reads an expression over declared facts that comes to a value of this type, or may: a condition is one of
    /// [`TypeName::Bool`].
    ///
    /// # Errors
    /// As [`Predicate::compile_with`], and [`Fault::Result`] when it comes to another type whatever the facts are.
    pub fn compile_as(source: &str, schema: &Schema, wanted: TypeName) -> Result<Self, CompileError> {
        Self::load(source, Some(schema), Some(wanted))
    }

    /// The condition that compares two facts, as `left < right` does.
    #[must_use]
    pub fn comparison(left: &str, operator: Operator, right: &str) -> Self {
        let source = format!("{left} {} {right}", operator.text());
        let end = source.len();
        let node =
            |name: &str, start, end| Node { kind: Kind::Fact(Arc::from(name)), span: Span { start, end }, depth: 1 };
        let operands = [node(left, 0, left.len()), node(right, end - right.len(), end)];
        let kind = Kind::Binary { operator, operands: Box::new(operands) };
        Self { source, root: Node { kind, span: Span { start: 0, end }, depth: 2 } }
    }

    /// Whether the predicate holds for these facts, a map of the top-level names.
    #[must_use]
    pub fn evaluate(&self, facts: &Value) -> Evaluation {
        self.evaluate_within(facts, &Budget::new(MAX_STEPS))
    }

    /// As [`Predicate::evaluate`], at the cost of a request's budget: unknown once that is used up.
    #[must_use]
    pub fn evaluate_within(&self, facts: &Value, budget: &Budget<'_>) -> Evaluation {
        let mut machine = Machine::explaining(&self.source, facts, budget);
        let truth = Truth::from_result(machine.truth(&self.root));
        let (steps, decided_by) = machine.into_account();
        let decided_by = if truth == Truth::True { Vec::new() } else { decided_by };
        Evaluation { truth, steps, decided_by }
    }

    /// The same answer as [`Predicate::evaluate`] gives, without the account of it: faster.
    #[must_use]
    pub fn truth(&self, facts: &Value) -> Truth {
        self.truth_within(facts, &Budget::new(MAX_STEPS))
    }

    /// As [`Predicate::truth`], at the cost of a request's budget: unknown once that is used up.
    #[must_use]
    pub fn truth_within(&self, facts: &Value, budget: &Budget<'_>) -> Truth {
        Truth::from_result(Machine::new(&self.source, facts, budget).truth(&self.root))
    }

    /// What the expression comes to for these facts, when it is not a condition.
    ///
    /// # Errors
    /// [`UnknownError`] with the facts that are missing.
    pub fn value(&self, facts: &Value) -> Result<Value, UnknownError> {
        self.value_within(facts, &Budget::new(MAX_STEPS))
    }

    /// As [`Predicate::value`], at the cost of a request's budget: unknown once that is used up.
    ///
    /// # Errors
    /// As [`Predicate::value`].
    pub fn value_within(&self, facts: &Value, budget: &Budget<'_>) -> Result<Value, UnknownError> {
        Machine::new(&self.source, facts, budget).value(&self.root).map_err(|missing| UnknownError { missing })
    }

    /// The parsed expression, to look at.
    #[must_use]
    pub fn tree(&self) -> Expression<'_> {
        Expression::new(&self.root)
    }

    /// The text the predicate was read from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text of a clause named by [`Evaluation::decided_by`].
    #[must_use]
    pub fn clause(&self, span: Span) -> &str {
        self.source.get(span.start..span.end).unwrap_or_default()
    }

    /// The top-level facts the predicate names, sorted. A `path` over all facts that begins
    /// with anything but a name may read others.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        collect_names(&self.root, &mut names);
        names.sort();
        names.dedup();
        names
    }

    fn load(source: &str, schema: Option<&Schema>, wanted: Option<TypeName>) -> Result<Self, CompileError> {
        let place = |located| CompileError::new(source, located);
        if source.len() > MAX_SOURCE_BYTES {
            let span = Span { start: 0, end: 0 };
            return Err(place(Located { fault: Fault::TooLong, span }));
        }
        let root = parser::parse(source).map_err(place)?;
        typecheck::check(&root, schema, wanted).map_err(place)?;
        Ok(Self { source: source.to_owned(), root })
    }
}

impl Truth {
    /// Whether the predicate holds. Unknown does not.
    #[must_use]
    pub fn is_true(&self) -> bool {
        *self == Self::True
    }

    fn from_result(result: Result<bool, Vec<Missing>>) -> Self {
        match result {
            Ok(true) => Self::True,
            Ok(false) => Self::False,
            Err(missing) => Self::Unknown(missing),
        }
    }
}

fn collect_names(node: &Node, names: &mut Vec<Arc<str>>) {
    match &node.kind {
        Kind::Fact(name) | Kind::Has { base: None, field: name } => names.push(Arc::clone(name)),
        Kind::Path { base: None, query } => {
            if let Some(Step::Name(name)) = query.strict_steps().first() {
                names.push(Arc::clone(name));
            }
        }
        _ => {}
    }
    for child in node.kind.children() {
        collect_names(child, names);
    }
}
