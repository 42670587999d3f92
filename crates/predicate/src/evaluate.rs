//! Evaluation: three-valued, counted in steps, bounded in depth by the parser.

use std::ops::Deref;

mod arithmetic;
mod calls;
mod compare;
mod macros;
mod places;
mod quick;

use crate::ast::{Kind, Node, Operator};
use crate::budget::{Budget, Steps};
use crate::error::{Failure, Missing, Span, Why};
use crate::limits::{MAX_LIST_ITEMS, MAX_MISSING};
use crate::path::Query;
use crate::value::{Key, Map, Value};

/// A result, or the facts that are missing for it.
type Flow<T> = Result<T, Vec<Missing>>;

/// One evaluation of one predicate over one set of facts.
pub(crate) struct Machine<'a> {
    source: &'a str,
    facts: &'a Value,
    /// Variables of the macros being run, outermost first.
    locals: Vec<Local<'a>>,
    steps: Steps<'a>,
    /// Whether to collect the clauses that decide.
    explains: bool,
    /// Whether to name the facts that are missing.
    names: bool,
    /// The clauses that decided what has been evaluated so far.
    decided: Vec<Span>,
}

/// A value that is part of the facts or the predicate, or one that was computed.
#[derive(Clone)]
enum Operand<'a> {
    Shared(&'a Value),
    Owned(Value),
}

/// A variable and where its value comes from.
struct Local<'a> {
    value: Operand<'a>,
    range: &'a Node,
    place: Place,
}

enum Place {
    Index(usize),
    Key(Key),
}

impl Deref for Operand<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Shared(value) => value,
            Self::Owned(value) => value,
        }
    }
}

impl Operand<'_> {
    fn into_value(self) -> Value {
        match self {
            Self::Shared(value) => value.clone(),
            Self::Owned(value) => value,
        }
    }
}

impl From<bool> for Operand<'_> {
    fn from(value: bool) -> Self {
        Self::Owned(Value::Bool(value))
    }
}

impl<'a> Machine<'a> {
    /// An evaluation that does not collect the clauses that decide.
    pub(crate) fn new(source: &'a str, facts: &'a Value, budget: &'a Budget<'a>) -> Self {
        let steps = Steps::of_evaluation(budget);
        Self { source, facts, locals: Vec::new(), steps, explains: false, names: true, decided: Vec::new() }
    }

    /// An evaluation that collects the clauses that decide.
    pub(crate) fn explaining(source: &'a str, facts: &'a Value, budget: &'a Budget<'a>) -> Self {
        Self { explains: true, ..Self::new(source, facts, budget) }
    }

    /// An evaluation whose reasons have no paths.
    pub(crate) fn nameless(source: &'a str, facts: &'a Value, budget: &'a Budget<'a>) -> Self {
        Self { names: false, ..Self::new(source, facts, budget) }
    }

    /// The truth of a condition. An exhausted budget makes every answer unknown.
    pub(crate) fn truth(&mut self, node: &'a Node) -> Flow<bool> {
        let result = self.decide(node);
        self.unless_exhausted(node, result)
    }

    /// The value of an expression.
    pub(crate) fn value(&mut self, node: &'a Node) -> Flow<Value> {
        let result = self.eval(node).map(Operand::into_value);
        self.unless_exhausted(node, result)
    }

    /// The steps taken, and the clauses that decided.
    pub(crate) fn into_account(self) -> (u64, Vec<Span>) {
        (self.steps.taken(), self.decided)
    }

    fn unless_exhausted<T>(&self, node: &'a Node, result: Flow<T>) -> Flow<T> {
        // `&&` and `||` can hide an operand that a limit cut off, and macros an element: their result may be wrong then.
        match self.steps.failure() {
            Some(failure) => Err(self.failed(node, failure)),
            None => result,
        }
    }

    /// The truth of a node, leaving the clauses that explain it at the end of `decided`.
    fn decide(&mut self, node: &'a Node) -> Flow<bool> {
        match &node.kind {
            Kind::And(items) => {
                self.charge(node, 1)?;
                self.junction(items, false)
            }
            Kind::Or(items) => {
                self.charge(node, 1)?;
                self.junction(items, true)
            }
            Kind::Not(operand) => {
                self.charge(node, 1)?;
                self.decide(operand).map(|truth| !truth)
            }
            _ => {
                if self.explains {
                    self.decided.push(node.span);
                }
                if let Some(truth) = self.quick(node) {
                    return Ok(truth);
                }
                match &*self.eval(node)? {
                    Value::Bool(truth) => Ok(*truth),
                    other => Err(self.wrong_type(node, "bool", other)),
                }
            }
        }
    }

    /// `&&` (which stops at false) and `||` (which stops at true). An unknown operand leaves the
    /// answer to the others. The clauses that remain are those that decided.
    fn junction(&mut self, items: &'a [Node], stop: bool) -> Flow<bool> {
        let first = self.decided.len();
        let mut missing: Option<Vec<Missing>> = None;
        for item in items {
            let before = self.decided.len();
            match (self.decide(item), &mut missing) {
                (Ok(truth), _) if truth == stop => {
                    // This operand decides alone: the clauses of those before it go.
                    self.decided.drain(first..before);
                    return Ok(stop);
                }
                (Ok(_), None) => {}
                // The unknown operands decide, so the clauses of this one go.
                (Ok(_), Some(_)) => self.decided.truncate(before),
                (Err(more), None) => {
                    self.decided.drain(first..before);
                    missing = Some(more);
                }
                (Err(more), Some(known)) => merge(known, more),
            }
            // `unless_exhausted` replaces the result in that case.
            if self.steps.exhausted() {
                break;
            }
        }
        missing.map_or(Ok(!stop), Err)
    }

    /// Not inlined: its stack frame is large, most nodes never need it, and evaluation recurses.
    #[inline(never)]
    fn compute(&mut self, node: &'a Node) -> Flow<Operand<'a>> {
        self.charge(node, 1)?;
        match &node.kind {
            Kind::Constant(value) | Kind::List { value: Some(value), .. } => Ok(Operand::Shared(value)),
            Kind::Fact(name) => match self.facts.get(name) {
                Some(value) => Ok(Operand::Shared(value)),
                None => Err(self.absent(node)),
            },
            Kind::Local(slot) => match self.locals.get(*slot) {
                Some(local) => Ok(local.value.clone()),
                None => Err(self.absent(node)),
            },
            Kind::Select { base, field } => self.select(node, base, field),
            Kind::Index { base, index } => self.index(base, index),
            Kind::Has { base, field } => self.has(base.as_deref(), field).map(Operand::from),
            Kind::Not(_) | Kind::And(_) | Kind::Or(_) => {
                // This junction is an operand of something else, and that clause decides as a whole.
                let before = self.decided.len();
                let truth = self.decide(node);
                self.decided.truncate(before);
                truth.map(Operand::from)
            }
            Kind::Negate(operand) => self.negate(node, operand).map(Operand::Owned),
            Kind::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                // As in CEL, an unknown condition makes the whole unknown, even if both branches would agree.
                if self.condition(condition)? { self.eval(then) } else { self.eval(otherwise) }
            }
            Kind::Binary { operator, operands } => self.binary(node, *operator, operands),
            Kind::List { items, value: None } => self.list(node, items).map(Operand::Owned),
            Kind::Map(entries) => self.map(node, entries).map(Operand::Owned),
            Kind::Call { function, arguments } => self.call(node, *function, arguments),
            Kind::Matches { text, pattern } => {
                let operand = self.eval(text)?;
                let Value::String(string) = &*operand else {
                    return Err(self.wrong_type(text, "string", &operand));
                };
                // Before the match, which cannot be interrupted.
                self.charge(node, pattern.steps(string.len()))?;
                Ok(pattern.is_match(string).into())
            }
            Kind::Path { base, query } => self.path(base.as_deref(), query).map(Operand::Owned),
            Kind::Macro(expanded) => self.expand(node, expanded),
        }
    }

    fn condition(&mut self, node: &'a Node) -> Flow<bool> {
        match &*self.eval(node)? {
            Value::Bool(truth) => Ok(*truth),
            other => Err(self.wrong_type(node, "bool", other)),
        }
    }

    fn select(&mut self, node: &'a Node, base: &'a Node, field: &str) -> Flow<Operand<'a>> {
        let operand = self.eval(base)?;
        let found = match &operand {
            Operand::Shared(Value::Map(map)) => map.get_str(field).map(Operand::Shared),
            Operand::Owned(Value::Map(map)) => map.get_str(field).cloned().map(Operand::Owned),
            other => return Err(self.wrong_type(base, "map", other)),
        };
        found.ok_or_else(|| self.absent(node))
    }

    fn index(&mut self, base: &'a Node, index_node: &'a Node) -> Flow<Operand<'a>> {
        let operand = self.eval(base)?;
        let index = self.eval(index_node)?;
        let found = match &*operand {
            Value::List(items) => {
                let Some(at) = index.as_integer() else {
                    return Err(self.wrong_type(index_node, "int", &index));
                };
                // A negative index is absent: only JSONPath counts from the end.
                let at = usize::try_from(at).ok();
                at.and_then(|at| element(&operand, items, at))
            }
            Value::Map(map) => {
                let Some(key) = Key::from_value(&index) else {
                    return Err(self.wrong_type(index_node, "string or int", &index));
                };
                match &operand {
                    Operand::Shared(Value::Map(map)) => map.get(&key).map(Operand::Shared),
                    _ => map.get(&key).cloned().map(Operand::Owned),
                }
            }
            other => return Err(self.wrong_type(base, "list or map", other)),
        };
        found.ok_or_else(|| self.absent_at(base, &index))
    }

    fn has(&mut self, base: Option<&'a Node>, field: &str) -> Flow<bool> {
        let Some(base) = base else {
            // Absence is an answer here, not a reason for unknown. A fact that is null is there.
            return Ok(self.facts.get(field).is_some());
        };
        match &*self.eval(base)? {
            Value::Map(map) => Ok(map.get_str(field).is_some()),
            other => Err(self.wrong_type(base, "map", other)),
        }
    }

    fn binary(&mut self, node: &'a Node, operator: Operator, operands: &'a [Node; 2]) -> Flow<Operand<'a>> {
        let [left_node, right_node] = operands;
        // Both sides are evaluated even if the left one is unknown, so that an answer names all missing facts at once.
        let left = self.eval(left_node);
        let right = self.eval(right_node);
        let (left, right) = both(left, right)?;
        match operator {
            Operator::Equal => self.equality(node, operands, &left, &right).map(Operand::from),
            Operator::NotEqual => self.equality(node, operands, &left, &right).map(|same| (!same).into()),
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                self.order(node, operator, operands, &left, &right).map(Operand::from)
            }
            Operator::In => self.membership(node, operands, &left, &right).map(Operand::from),
            Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
                self.arithmetic(node, operator, operands, &left, &right).map(Operand::Owned)
            }
        }
    }

    fn list(&mut self, node: &'a Node, items: &'a [Node]) -> Flow<Value> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.push(self.eval(item)?.into_value());
        }
        self.charge_items(node, values.len())?;
        Ok(Value::from(values))
    }

    fn map(&mut self, node: &'a Node, entries: &'a [[Node; 2]]) -> Flow<Value> {
        let mut keyed = Vec::with_capacity(entries.len());
        for [key_node, value_node] in entries {
            let operand = self.eval(key_node)?;
            let key = match &*operand {
                // CEL has no such keys. Looking up `1.0` finds the key `1`.
                Value::Decimal(_) => None,
                other => Key::from_value(other),
            };
            let Some(key) = key else {
                return Err(self.wrong_type(key_node, "string, int or bool", &operand));
            };
            keyed.push((key, self.eval(value_node)?.into_value()));
        }
        self.charge_items(node, keyed.len())?;
        let map = Map::from_entries(keyed);
        // As in CEL, equal keys are an error: with computed keys, one entry would silently replace another.
        if map.entries().len() < entries.len() {
            return Err(self.failed(node, Failure::DuplicateKey));
        }
        Ok(Value::Map(map))
    }

    fn path(&mut self, base: Option<&'a Node>, query: &Query) -> Flow<Value> {
        let (root, name) = match base {
            Some(node) => (self.eval(node)?, self.path_of(node)),
            None => (Operand::Shared(self.facts), String::new()),
        };
        query.select(&root, &name, &mut self.steps).map(Value::from)
    }

    fn charge(&mut self, node: &'a Node, steps: u64) -> Flow<()> {
        let charged = self.steps.charge(steps);
        charged.map_err(|failure| self.failed(node, failure))
    }

    fn charge_bytes(&mut self, node: &'a Node, bytes: usize) -> Flow<()> {
        let charged = self.steps.charge_bytes(bytes);
        charged.map_err(|failure| self.failed(node, failure))
    }

    /// Charges for the elements of a new list, and refuses one that is too long.
    fn charge_items(&mut self, node: &'a Node, items: usize) -> Flow<()> {
        if items > MAX_LIST_ITEMS {
            return Err(self.failed(node, Failure::SizeLimit));
        }
        let charged = self.steps.charge_items(items);
        charged.map_err(|failure| self.failed(node, failure))
    }
}

/// The element of a list: shared when the list is.
fn element<'a>(operand: &Operand<'a>, items: &[Value], at: usize) -> Option<Operand<'a>> {
    match operand {
        Operand::Shared(Value::List(items)) => items.get(at).map(Operand::Shared),
        _ => items.get(at).cloned().map(Operand::Owned),
    }
}

/// Both operands, or everything that is missing for either.
fn both<T>(left: Flow<T>, right: Flow<T>) -> Flow<(T, T)> {
    match (left, right) {
        (Ok(left), Ok(right)) => Ok((left, right)),
        (Err(mut left), Err(right)) => {
            merge(&mut left, right);
            Err(left)
        }
        (Err(missing), Ok(_)) | (Ok(_), Err(missing)) => Err(missing),
    }
}

/// Adds new reasons, up to the limit.
fn merge(known: &mut Vec<Missing>, more: Vec<Missing>) {
    for missing in more {
        if known.len() >= MAX_MISSING {
            return;
        }
        if !known.contains(&missing) {
            known.push(missing);
        }
    }
}

fn missing(path: String, why: Why) -> Vec<Missing> {
    vec![Missing { path, why }]
}
