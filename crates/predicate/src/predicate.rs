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

/// A predicate that has been read and checked. Threads can share one.
#[derive(Debug)]
pub struct Predicate {
    source: String,
    root: Node,
}

/// The answer to a predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    pub truth: Truth,
    /// The steps taken: the same predicate over the same facts always takes as many.
    pub steps: u64,
    /// The clauses that made the answer false or unknown, in the order of the source; none when
    /// it is true. [`Predicate::clause`] gives their text.
    pub decided_by: Vec<Span>,
}

/// True, false, or unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Truth {
    True,
    False,
    /// The answer depends on these facts.
    Unknown(Vec<Missing>),
}

impl Predicate {
    /// Reads a predicate over undeclared facts.
    ///
    /// # Errors
    /// [`CompileError`] when the source is not a predicate.
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

    /// Reads an expression over declared facts whose value is, or may be, of this type. A condition is of
    /// [`TypeName::Bool`].
    ///
    /// # Errors
    /// As [`Predicate::compile_with`], and [`Fault::Result`] when its value is of another type whatever the facts are.
    pub fn compile_as(source: &str, schema: &Schema, expected: TypeName) -> Result<Self, CompileError> {
        Self::load(source, Some(schema), Some(expected))
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
        // The limit of one evaluation is the same and has precedence, so a result never names this budget.
        self.evaluate_within(facts, &Budget::new(MAX_STEPS))
    }

    /// As [`Predicate::evaluate`], charged to a budget: unknown once that is used up.
    #[must_use]
    pub fn evaluate_within(&self, facts: &Value, budget: &Budget<'_>) -> Evaluation {
        let mut machine = Machine::explaining(&self.source, facts, budget);
        let truth = Truth::from_result(machine.truth(&self.root));
        let (steps, decided_by) = machine.into_account();
        let decided_by = if truth == Truth::True { Vec::new() } else { decided_by };
        Evaluation { truth, steps, decided_by }
    }

    /// The truth that [`Predicate::evaluate`] gives, faster: without steps and clauses.
    #[must_use]
    pub fn truth(&self, facts: &Value) -> Truth {
        self.truth_within(facts, &Budget::new(MAX_STEPS))
    }

    /// As [`Predicate::truth`], charged to a budget: unknown once that is used up.
    #[must_use]
    pub fn truth_within(&self, facts: &Value, budget: &Budget<'_>) -> Truth {
        Truth::from_result(Machine::new(&self.source, facts, budget).truth(&self.root))
    }

    /// As [`Predicate::truth_within`], with the steps taken.
    #[must_use]
    pub fn counted_truth(&self, facts: &Value, budget: &Budget<'_>) -> (Truth, u64) {
        let mut machine = Machine::new(&self.source, facts, budget);
        let truth = Truth::from_result(machine.truth(&self.root));
        (truth, machine.into_account().0)
    }

    /// Whether [`Predicate::truth_within`] is this truth, faster: nothing names the facts that are missing. It takes the
    /// same steps.
    #[must_use]
    pub fn has_truth(&self, truth: bool, facts: &Value, budget: &Budget<'_>) -> bool {
        Machine::nameless(&self.source, facts, budget).truth(&self.root) == Ok(truth)
    }

    /// The value of the expression for these facts.
    ///
    /// # Errors
    /// [`UnknownError`] with the facts that are missing.
    pub fn value(&self, facts: &Value) -> Result<Value, UnknownError> {
        self.value_within(facts, &Budget::new(MAX_STEPS))
    }

    /// As [`Predicate::value`], charged to a budget: unknown once that is used up.
    ///
    /// # Errors
    /// As [`Predicate::value`].
    pub fn value_within(&self, facts: &Value, budget: &Budget<'_>) -> Result<Value, UnknownError> {
        Machine::new(&self.source, facts, budget).value(&self.root).map_err(|missing| UnknownError { missing })
    }

    /// The parsed expression.
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

    /// The top-level facts that the predicate names, sorted. A `path` over all facts may read others, unless it begins with
    /// a name.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        collect_names(&self.root, &mut names);
        names.sort();
        names.dedup();
        names
    }

    fn load(source: &str, schema: Option<&Schema>, expected: Option<TypeName>) -> Result<Self, CompileError> {
        let place = |located| CompileError::new(source, located);
        if source.len() > MAX_SOURCE_BYTES {
            // Refused before anything is read; a span of the whole source would show carets under all of its first
            // line.
            let span = Span { start: 0, end: 0 };
            return Err(place(Located { fault: Fault::TooLong, span }));
        }
        let root = parser::parse(source).map_err(place)?;
        typecheck::check(&root, schema, expected).map_err(place)?;
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
