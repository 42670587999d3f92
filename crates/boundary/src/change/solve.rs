//! Guesses facts that give a predicate the wanted truth. The guess need not work: the caller evaluates the predicate.
//!
//! The expression is walked from the outside in. `&&` that must be true needs all of its parts, `||` one of them; a
//! comparison sets the place on one side from the value on the other; a quantifier adds, changes or removes elements.
//! Expressions about which nothing useful is known (arithmetic, patterns, JSONPath) are given up at once.

mod places;

use proofmark_predicate::Value;
use proofmark_predicate::tree::{Expression, Function, MacroKind, Operator, View};
use proofmark_receipt::json::Number;
use proofmark_receipt::{Json, Object};

pub(super) use places::{Segment, is_changeable, place_of, places, remove, set};
use places::{get, segment};

/// A text where any will do.
const ANY_TEXT: &str = "value";
/// A different one.
const OTHER_TEXT: &str = "other";
/// The most elements that are changed one by one.
const MAX_ELEMENTS: usize = 64;
/// The most elements that a list is filled to.
const MAX_FILLED: i64 = 1_000;

/// Changes `facts` so that the expression probably has this truth; `None` when no guess is possible. `variant` chooses
/// among several guesses.
pub(super) fn solve(expression: Expression<'_>, truth: bool, facts: &mut Object, variant: usize) -> Option<()> {
    Solver { facts, variables: Vec::new(), variant, undo: Vec::new(), trials: 0 }.make(expression, truth)
}

struct Solver<'a> {
    facts: &'a mut Object,
    /// The places that the variables of the enclosing macros stand for, the outermost first; `None` for an index.
    variables: Vec<Option<Vec<Segment>>>,
    variant: usize,
    /// How to take back what was changed since the first trial began, the last change last.
    undo: Vec<Undo>,
    /// How many trials inside each other may still be taken back.
    trials: usize,
}

/// Takes one change back. The members are then in their order again.
enum Undo {
    Set(Vec<Segment>, Json),
    Remove(Vec<Segment>),
    All(Object),
}

impl Solver<'_> {
    fn make(&mut self, expression: Expression<'_>, truth: bool) -> Option<()> {
        match expression.view() {
            View::Constant(Value::Bool(value)) => (*value == truth).then_some(()),
            View::Fact(_) | View::Variable(_) | View::Select { .. } | View::Index { .. } => {
                let place = self.place_of(expression)?;
                self.assign(&place, Json::Bool(truth))
            }
            View::Has { base, field } => self.has(base, field, truth),
            View::Not(inner) => self.make(inner, !truth),
            View::And(items) if truth => items.into_iter().try_for_each(|item| self.make(item, true)),
            View::Or(items) if !truth => items.into_iter().try_for_each(|item| self.make(item, false)),
            View::And(items) | View::Or(items) => self.first(&items, truth),
            View::Conditional { condition, then, otherwise } => {
                let branches = [(true, then), (false, otherwise)];
                let branches = branches.into_iter().cycle().skip(self.variant % 2).take(2);
                let mut branches = branches.map(|(holds, branch)| [(condition, holds), (branch, truth)]);
                branches.find_map(|parts| self.trial(&parts))
            }
            View::Binary { operator, left, right } => self.compare(operator, left, right, truth),
            View::Call { function, arguments } => self.call(function, &arguments, truth),
            View::Macro { kind, range, variables, filter: None, body } => {
                let exists = match kind {
                    MacroKind::Exists | MacroKind::ExistsOne => true,
                    MacroKind::All => false,
                    MacroKind::Filter | MacroKind::Map => return None,
                };
                self.quantified(range, variables, body, exists, truth)
            }
            // No guess is possible for these.
            View::Constant(_)
            | View::Negate(_)
            | View::List(_)
            | View::Map(_)
            | View::Matches { .. }
            | View::Path { .. }
            | View::Macro { filter: Some(_), .. } => None,
        }
    }

    /// The first of the items that can have this truth, starting with another one in each variant.
    fn first(&mut self, items: &[Expression<'_>], truth: bool) -> Option<()> {
        let (late, early) = items.split_at_checked(self.variant % items.len().max(1))?;
        early.iter().chain(late).find_map(|item| self.trial(&[(*item, truth)]))
    }

    /// Gives all parts their truth, or changes nothing.
    fn trial(&mut self, parts: &[(Expression<'_>, bool)]) -> Option<()> {
        let before = self.undo.len();
        self.trials += 1;
        let made = parts.iter().try_for_each(|(part, truth)| self.make(*part, *truth));
        self.trials -= 1;
        if made.is_none() {
            self.undo.drain(before..).rev().for_each(|undo| match undo {
                Undo::Set(place, value) => drop(set(self.facts, &place, value)),
                Undo::Remove(place) => remove(self.facts, &place),
                Undo::All(facts) => *self.facts = facts,
            });
        } else if self.trials == 0 {
            self.undo.clear();
        }
        made
    }

    /// Remembers how to take back that a place is set.
    fn remember(&mut self, place: &[Segment]) {
        if self.trials == 0 {
            return;
        }
        let parent = place.split_last().map(|(_, parent)| parent).unwrap_or_default();
        let named = place.iter().all(|segment| matches!(segment, Segment::Name(_)));
        let undo = match get(self.facts, place) {
            Some(old) => Undo::Set(place.to_vec(), old.clone()),
            // It becomes the last member of its object.
            None if named
                && (parent.is_empty()
                    || get(self.facts, parent).is_some_and(|parent| parent.as_object().is_some())) =>
            {
                Undo::Remove(place.to_vec())
            }
            None => Undo::All(self.facts.clone()),
        };
        self.undo.push(undo);
    }

    fn has(&mut self, base: Option<Expression<'_>>, field: &str, truth: bool) -> Option<()> {
        let mut place = base.map_or_else(|| Some(Vec::new()), |base| self.place_of(base))?;
        place.push(Segment::Name(field.to_owned()));
        if !truth {
            self.take_out(&place)
        } else if self.look(&place).is_some() {
            Some(())
        } else {
            self.assign(&place, Json::from(ANY_TEXT))
        }
    }

    fn compare(&mut self, operator: Operator, left: Expression<'_>, right: Expression<'_>, truth: bool) -> Option<()> {
        if operator == Operator::In {
            return self.member(left, right, truth);
        }
        let operator = if truth { operator } else { operator.negated()? };
        if let (Some(list), Some(Json::Number(length))) = (self.sized(left), literal(right)) {
            return self.resize(&list, operator, length.as_i64()?);
        }
        match (self.place_of(left), self.place_of(right)) {
            (Some(place), _) if is_changeable(&place) => self.relate(&place, operator, right),
            (_, Some(place)) if is_changeable(&place) => self.relate(&place, operator.mirrored(), left),
            _ => None,
        }
    }

    /// The list or text in `size(x)`.
    fn sized(&self, expression: Expression<'_>) -> Option<Vec<Segment>> {
        match expression.view() {
            View::Call { function, arguments } if function.name() == "size" => self.place_of(*arguments.first()?),
            _ => None,
        }
    }

    /// Sets a place so that the comparison with the other side holds.
    fn relate(&mut self, place: &[Segment], operator: Operator, other: Expression<'_>) -> Option<()> {
        let other = match (literal(other), self.place_of(other)) {
            (Some(value), _) => value,
            (None, Some(other)) => match self.look(&other) {
                Some(value) => value,
                None => {
                    self.assign(&other, Json::from(ANY_TEXT))?;
                    Json::from(ANY_TEXT)
                }
            },
            (None, None) => return None,
        };
        let value = related(operator, &other)?;
        let fits = self
            .look(place)
            .is_some_and(|now| operator == Operator::NotEqual && same_type(&now, &other) && now != other);
        if fits { Some(()) } else { self.assign(place, value) }
    }

    fn member(&mut self, item: Expression<'_>, list: Expression<'_>, truth: bool) -> Option<()> {
        if let (Some(place), Some(Json::Array(items))) = (self.place_of(item), literal(list)) {
            let value = match (truth, items.first()?) {
                (true, _) => items.get(self.variant % items.len())?.clone(),
                (false, Json::String(_)) => Json::from("another value"),
                (false, _) => return None,
            };
            return self.assign(&place, value);
        }
        let (value, place) = (literal(item)?, self.place_of(list)?);
        let mut items = self.look(&place).and_then(|list| list.as_array().map(<[Json]>::to_vec)).unwrap_or_default();
        // Removed in both cases, so that a value that is wanted is there once.
        items.retain(|item| *item != value);
        if truth {
            items.push(value);
        }
        self.assign(&place, Json::Array(items))
    }

    fn call(&mut self, function: Function, arguments: &[Expression<'_>], truth: bool) -> Option<()> {
        match (function.name(), arguments) {
            ("dyn", [inner]) => self.make(*inner, truth),
            ("startsWith" | "endsWith" | "contains", [text, part]) => {
                let (place, Json::String(part)) = (self.place_of(*text)?, literal(*part)?) else { return None };
                let value = if truth {
                    part.as_str()
                } else if part == ANY_TEXT {
                    OTHER_TEXT
                } else {
                    ANY_TEXT
                };
                self.assign(&place, Json::from(value))
            }
            // Of a function that is not named here no facts are guessed: its answer may be assumed, never derived.
            _ => None,
        }
    }

    /// `exists` becomes true, and `all` false, by one more element or by changing one. `exists` becomes false by an empty
    /// list or by changing each element, and `all` true by changing each.
    fn quantified(
        &mut self,
        range: Expression<'_>,
        variables: usize,
        body: Expression<'_>,
        exists: bool,
        truth: bool,
    ) -> Option<()> {
        let place = self.place_of(range)?;
        let mut items = self.look(&place).and_then(|list| list.as_array().map(<[Json]>::to_vec)).unwrap_or_default();
        let in_place = self.variant % 2 == 1;
        if exists != truth {
            // `exists` is mostly about signals that must not be there, `all` about what every element must be.
            let elements = if exists && !in_place { Vec::new() } else { items };
            let count = elements.len().min(MAX_ELEMENTS);
            self.assign(&place, Json::Array(elements))?;
            return (0..count).try_for_each(|index| self.element(&place, variables, index, body, truth));
        }
        if in_place && !items.is_empty() {
            return self.element(&place, variables, 0, body, truth);
        }
        let index = items.len();
        items.push(Json::Object(Object::new()));
        self.assign(&place, Json::Array(items))?;
        self.element(&place, variables, index, body, truth)
    }

    /// Gives the body this truth for one element.
    fn element(
        &mut self,
        list: &[Segment],
        variables: usize,
        index: usize,
        body: Expression<'_>,
        truth: bool,
    ) -> Option<()> {
        let outer = self.variables.len();
        // Of two variables the first is the index (`exists(i, x, …)`), which has no place among the facts.
        if variables == 2 {
            self.variables.push(None);
        }
        let mut place = list.to_vec();
        place.push(Segment::Index(index));
        self.variables.push(Some(place));
        let made = self.make(body, truth);
        self.variables.truncate(outer);
        made
    }

    fn resize(&mut self, place: &[Segment], operator: Operator, length: i64) -> Option<()> {
        let wanted = match operator {
            Operator::Equal | Operator::LessOrEqual | Operator::GreaterOrEqual => length,
            Operator::NotEqual | Operator::Greater => length.checked_add(1)?,
            Operator::Less => length.checked_sub(1)?,
            _ => return None,
        };
        // A length is a literal of the policy; unbounded, `size(x) > 1000000000` would fill the memory.
        let wanted = usize::try_from(wanted).ok().filter(|_| wanted <= MAX_FILLED)?;
        let value = match self.look(place)? {
            Json::Array(mut items) => {
                items.resize(wanted, Json::from(ANY_TEXT));
                Json::Array(items)
            }
            Json::String(_) => Json::from("x".repeat(wanted)),
            _ => return None,
        };
        self.assign(place, value)
    }

    /// The place that an expression denotes, with variables replaced by what they stand for.
    fn place_of(&self, expression: Expression<'_>) -> Option<Vec<Segment>> {
        let (base, segment) = match expression.view() {
            View::Fact(name) => return Some(vec![Segment::Name(name.to_owned())]),
            View::Variable(slot) => return self.variables.get(slot)?.clone(),
            View::Select { base, field } => (base, Segment::Name(field.to_owned())),
            View::Index { base, index } => (base, segment(index)?),
            _ => return None,
        };
        let mut place = self.place_of(base)?;
        place.push(segment);
        Some(place)
    }

    fn look(&self, place: &[Segment]) -> Option<Json> {
        get(self.facts, place).cloned()
    }

    fn assign(&mut self, place: &[Segment], value: Json) -> Option<()> {
        is_changeable(place).then_some(())?;
        self.remember(place);
        set(self.facts, place, value)
    }

    fn take_out(&mut self, place: &[Segment]) -> Option<()> {
        is_changeable(place).then_some(())?;
        if self.trials > 0 {
            self.undo.push(Undo::All(self.facts.clone()));
        }
        remove(self.facts, place);
        Some(())
    }
}

/// The JSON value of a literal.
pub(super) fn literal(expression: Expression<'_>) -> Option<Json> {
    match expression.view() {
        View::Constant(Value::Null) => Some(Json::Null),
        View::Constant(Value::Bool(value)) => Some(Json::Bool(*value)),
        View::Constant(Value::Int(value)) => Some(Json::from(*value)),
        View::Constant(Value::UInt(value)) => Some(Json::from(*value)),
        View::Constant(Value::Decimal(value)) => value.to_string().parse().ok().map(Json::Number),
        View::Constant(Value::String(text)) => Some(Json::from(&**text)),
        View::List(items) => items.into_iter().map(literal).collect::<Option<Vec<_>>>().map(Json::Array),
        _ => None,
    }
}

/// A value for which the comparison with `other` holds.
fn related(operator: Operator, other: &Json) -> Option<Json> {
    match (operator, other) {
        (Operator::Equal, other) => Some(other.clone()),
        // Equality satisfies both, and also a second bound that meets this one.
        (Operator::LessOrEqual | Operator::GreaterOrEqual, Json::Number(number)) => Some(Json::Number(number.clone())),
        (Operator::NotEqual, Json::String(text)) => {
            Some(Json::from(if text == ANY_TEXT { OTHER_TEXT } else { ANY_TEXT }))
        }
        (Operator::NotEqual, Json::Bool(value)) => Some(Json::Bool(!value)),
        (Operator::NotEqual, Json::Null) => Some(Json::from(ANY_TEXT)),
        (Operator::NotEqual | Operator::Greater, Json::Number(number)) => beside(number, 1),
        (Operator::Less, Json::Number(number)) => beside(number, -1),
        _ => None,
    }
}

/// An integer above or below the number.
fn beside(number: &Number, step: i64) -> Option<Json> {
    let whole = match number.as_i64() {
        Some(whole) => whole,
        // Below 10^15 a double holds every integer, so the cast is exact.
        None => number.as_f64().filter(|value| value.abs() < 1e15)?.floor() as i64,
    };
    whole.checked_add(step).map(Json::from)
}

fn same_type(left: &Json, right: &Json) -> bool {
    left.type_name() == right.type_name()
}
