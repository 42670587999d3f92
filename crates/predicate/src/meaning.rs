//! What can be said of predicates without any facts: which are the same whatever the facts are, and which exclude one another.
//!
//! This is not a solver. It compares what the parts of predicates say of one and the same expression: equalities, orders,
//! lists of values, beginnings and parts of texts, and whether it is there. Of everything else it assumes that it may be so.
//! Thus "impossible" is certain, and "possible" is not.

mod domain;

use crate::tree::{Expression, MacroKind, Operator, View};
use crate::value::Value;
use domain::{Atom, is_consistent};

/// The most steps of one search. After these the claims count as possible.
const MAX_SEARCH_STEPS: usize = 4_096;
/// The most things said at once that are compared with one another.
const MAX_ATOMS: usize = 64;

/// Something that is claimed of the facts.
#[derive(Clone, Debug)]
pub enum Claim<'p> {
    /// The expression has this truth.
    Truth(Expression<'p>, bool),
    /// The expression compares with the value in this way.
    Compares(Expression<'p>, Operator, Value),
}

/// What is known of a text among the facts beside the claims.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The names that lead to the text, as in `["action", "tool"]`.
    pub place: &'a [&'a str],
    /// Whether the text may be this one.
    pub may_be: &'a dyn Fn(&str) -> bool,
}

/// Whether some facts may meet all claims at once. `false` is certain; `true` is not.
#[must_use]
pub fn is_possible(claims: &[Claim<'_>], known: &[Known<'_>]) -> bool {
    let mut steps = MAX_SEARCH_STEPS;
    // The last one is looked at first.
    let pending = claims.iter().rev().cloned().collect();
    Search { known, steps: &mut steps }.is_possible(pending, Vec::new())
}

/// The truth that the expression has whatever the facts are, unless it is unknown; `None` where it depends on them.
#[must_use]
pub fn constant(expression: Expression<'_>, known: &[Known<'_>]) -> Option<bool> {
    let may_be = |truth| is_possible(&[Claim::Truth(expression, truth)], known);
    match (may_be(true), may_be(false)) {
        (true, false) => Some(true),
        (false, _) => Some(false),
        (true, true) => None,
    }
}

/// The outermost parts of a condition that have the same truth whatever the facts are, with that truth.
#[must_use]
pub fn constant_parts(condition: Expression<'_>) -> Vec<(Expression<'_>, bool)> {
    let mut found = Vec::new();
    collect_constant(condition, &mut found);
    found
}

fn collect_constant<'p>(condition: Expression<'p>, found: &mut Vec<(Expression<'p>, bool)>) {
    if let Some(truth) = constant(condition, &[]) {
        found.push((condition, truth));
        return;
    }
    match condition.view() {
        View::And(items) | View::Or(items) => items.into_iter().for_each(|item| collect_constant(item, found)),
        View::Not(inner) => collect_constant(inner, found),
        View::Conditional { condition, then, otherwise } => {
            [condition, then, otherwise].into_iter().for_each(|part| collect_constant(part, found));
        }
        // `all(x, false)` says that a list is empty, and `exists(x, true)` that it is not.
        View::Macro { kind: MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne, body, .. }
            if constant(body, &[]).is_none() =>
        {
            collect_constant(body, found);
        }
        // Their parts are not conditions.
        _ => {}
    }
}

/// Calls `see` with the expression and every expression in it, the outer ones first.
pub fn walk<'p>(expression: Expression<'p>, see: &mut impl FnMut(Expression<'p>)) {
    see(expression);
    let mut all = |parts: Vec<Expression<'p>>| parts.into_iter().for_each(|part| walk(part, see));
    match expression.view() {
        View::Constant(_) | View::Fact(_) | View::Variable(_) => {}
        View::Select { base, .. } | View::Not(base) | View::Negate(base) | View::Matches { text: base, .. } => {
            all(vec![base])
        }
        View::Has { base, .. } | View::Path { base, .. } => all(base.into_iter().collect()),
        View::Index { base, index } => all(vec![base, index]),
        View::And(parts) | View::Or(parts) | View::List(parts) | View::Call { arguments: parts, .. } => all(parts),
        View::Conditional { condition, then, otherwise } => all(vec![condition, then, otherwise]),
        View::Binary { left, right, .. } => all(vec![left, right]),
        View::Map(entries) => all(entries.into_iter().flat_map(|(key, value)| [key, value]).collect()),
        View::Macro { range, filter, body, .. } => all([range].into_iter().chain(filter).chain([body]).collect()),
    }
}

/// The names that lead to what the expression selects, as in `action.args.to`; `None` where it does not select by names.
#[must_use]
pub fn place(expression: Expression<'_>) -> Option<Vec<&str>> {
    let (base, name) = match expression.view() {
        View::Fact(name) => return Some(vec![name]),
        View::Select { base, field } => (base, field),
        View::Index { base, index } => match index.view() {
            View::Constant(Value::String(name)) => (base, &**name),
            _ => return None,
        },
        _ => return None,
    };
    let mut names = place(base)?;
    names.push(name);
    Some(names)
}

/// The value of a literal, or of a list of literals.
#[must_use]
pub fn literal(expression: Expression<'_>) -> Option<Value> {
    match expression.view() {
        View::Constant(value) => Some(value.clone()),
        View::List(items) => items.into_iter().map(literal).collect::<Option<Vec<_>>>().map(Value::from),
        View::Negate(inner) => match literal(inner)? {
            Value::Int(value) => value.checked_neg().map(Value::Int),
            Value::Decimal(value) => Some(Value::Decimal(value.negate())),
            _ => None,
        },
        _ => None,
    }
}

/// A search for facts that meet claims.
struct Search<'s> {
    known: &'s [Known<'s>],
    steps: &'s mut usize,
}

impl<'p> Search<'_> {
    /// Whether the pending claims may be met beside what is said already.
    fn is_possible(&mut self, mut pending: Vec<Claim<'p>>, mut atoms: Vec<Atom<'p>>) -> bool {
        while let Some(claim) = pending.pop() {
            if *self.steps == 0 || atoms.len() > MAX_ATOMS {
                return true;
            }
            *self.steps -= 1;
            let (expression, truth) = match claim {
                Claim::Compares(key, operator, value) => {
                    atoms.push(Atom::Compares { key, operator, value });
                    continue;
                }
                Claim::Truth(expression, truth) => (expression, truth),
            };
            match (expression.view(), truth) {
                (View::Constant(Value::Bool(value)), _) => {
                    if *value != truth {
                        return false;
                    }
                }
                (View::Not(inner), _) => pending.push(Claim::Truth(inner, !truth)),
                (View::And(items), true) | (View::Or(items), false) => {
                    pending.extend(items.into_iter().rev().map(|item| Claim::Truth(item, truth)));
                }
                (View::And(items), false) | (View::Or(items), true) => {
                    return items.into_iter().any(|item| self.branch(&pending, &atoms, &[(item, truth)]));
                }
                (View::Conditional { condition, then, otherwise }, _) => {
                    return self.branch(&pending, &atoms, &[(condition, true), (then, truth)])
                        || self.branch(&pending, &atoms, &[(condition, false), (otherwise, truth)]);
                }
                // An empty list makes `exists` false and `all` true; otherwise an element has to give its body this truth.
                (View::Macro { kind: MacroKind::Exists | MacroKind::ExistsOne, body, .. }, true)
                | (View::Macro { kind: MacroKind::All, body, .. }, false) => {
                    if !self.branch(&[], &[], &[(body, truth)]) {
                        return false;
                    }
                    atoms.push(Atom::Holds(expression, truth));
                }
                (View::Binary { operator, left, right }, _) => match comparison(operator, left, right, truth) {
                    Compared::Never => return false,
                    Compared::Always => {}
                    Compared::Atom(atom) => atoms.push(atom),
                },
                _ => atoms.push(Atom::Holds(expression, truth)),
            }
        }
        is_consistent(&atoms, self.known)
    }

    fn branch(&mut self, pending: &[Claim<'p>], atoms: &[Atom<'p>], more: &[(Expression<'p>, bool)]) -> bool {
        let more = more.iter().rev().map(|(expression, truth)| Claim::Truth(*expression, *truth));
        self.is_possible(pending.iter().cloned().chain(more).collect(), atoms.to_vec())
    }
}

/// What a comparison says.
enum Compared<'p> {
    Always,
    Never,
    Atom(Atom<'p>),
}

fn comparison<'p>(operator: Operator, left: Expression<'p>, right: Expression<'p>, truth: bool) -> Compared<'p> {
    if operator == Operator::In {
        let Some(Value::List(items)) = literal(right) else { return Compared::Atom(Atom::In { left, right, truth }) };
        return match literal(left) {
            Some(value) if items.iter().any(|item| domain::same(item, &value)) == truth => Compared::Always,
            Some(_) => Compared::Never,
            None => Compared::Atom(Atom::OneOf { key: left, values: items.to_vec(), truth }),
        };
    }
    let Some(operator) = (if truth { Some(operator) } else { operator.negated() }) else { return Compared::Always };
    let met = |met: bool| if met { Compared::Always } else { Compared::Never };
    match (literal(left), literal(right)) {
        (Some(left), Some(right)) => domain::holds(&left, operator, &right).map_or(Compared::Always, met),
        (None, Some(value)) => Compared::Atom(Atom::Compares { key: left, operator, value }),
        (Some(value), None) => Compared::Atom(Atom::Compares { key: right, operator: operator.mirrored(), value }),
        // A value equals itself, and is neither less nor more.
        (None, None) if left == right => {
            met(matches!(operator, Operator::Equal | Operator::LessOrEqual | Operator::GreaterOrEqual))
        }
        (None, None) => Compared::Atom(Atom::Pair { left, operator, right }),
    }
}
