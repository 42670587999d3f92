//! Finds facts that answer a predicate as wanted. It guesses; whoever calls it asks the predicate.

mod places;

use proofmark_receipt::json::Number;
use proofmark_receipt::{Json, Object};

use super::expression::{Expression, Operator, Segment, read};
use places::{get, remove, set};

/// A text that stands for any.
const ANY_TEXT: &str = "value";
/// Another text than that.
const OTHER_TEXT: &str = "other";
/// The most elements that are changed one by one.
const MAX_ELEMENTS: usize = 64;
/// The most elements a list is filled up to.
const MAX_FILLED: i64 = 1_000;

/// Changes `facts` so that the predicate probably comes to `truth`; nothing when it can not be followed.
pub(super) fn solve(source: &str, truth: bool, facts: &mut Object) -> Option<()> {
    let expression = read(source)?;
    let mut solver = Solver { facts, variables: Vec::new() };
    solver.make(&expression, truth)
}

struct Solver<'a> {
    facts: &'a mut Object,
    /// The variables of the enclosing macros and the places they stand for.
    variables: Vec<(String, Vec<Segment>)>,
}

impl Solver<'_> {
    fn make(&mut self, expression: &Expression, truth: bool) -> Option<()> {
        match (expression, truth) {
            (Expression::Literal(Json::Bool(value)), _) => (*value == truth).then_some(()),
            (Expression::Place(way), _) => self.assign(way, Json::Bool(truth)),
            (Expression::Not(inner), _) => self.make(inner, !truth),
            (Expression::And(items), true) | (Expression::Or(items), false) => {
                items.iter().try_for_each(|item| self.make(item, truth))
            }
            (Expression::And(items), false) | (Expression::Or(items), true) => self.first(items, truth),
            (Expression::Compare(operator, left, right), _) => self.compare(*operator, left, right, truth),
            (Expression::Call { base, name, arguments }, _) => self.call(base.as_deref(), name, arguments, truth),
            (Expression::Literal(_) | Expression::List(_), _) => None,
        }
    }

    /// The first of the items that can be made so.
    fn first(&mut self, items: &[Expression], truth: bool) -> Option<()> {
        let before = self.facts.clone();
        for item in items {
            if self.make(item, truth).is_some() {
                return Some(());
            }
            *self.facts = before.clone();
        }
        None
    }

    fn compare(&mut self, operator: Operator, left: &Expression, right: &Expression, truth: bool) -> Option<()> {
        if operator == Operator::In {
            return self.member(left, right, truth);
        }
        let operator = if truth { operator } else { negated(operator) };
        if let Some((list, length)) = sized(left, right) {
            return self.resize(list, operator, length);
        }
        match (left, right) {
            (Expression::Place(way), other) if self.assignable(way) => self.relate(way, operator, other),
            (other, Expression::Place(way)) if self.assignable(way) => self.relate(way, mirrored(operator), other),
            _ => None,
        }
    }

    /// Sets a place so that it compares so with the other side.
    fn relate(&mut self, way: &[Segment], operator: Operator, other: &Expression) -> Option<()> {
        let other = match other {
            Expression::Literal(value) => value.clone(),
            Expression::Place(other) => match self.look(other) {
                Some(value) => value,
                None => {
                    self.assign(other, Json::from(ANY_TEXT))?;
                    Json::from(ANY_TEXT)
                }
            },
            _ => return None,
        };
        let value = related(operator, &other)?;
        let fits =
            self.look(way).is_some_and(|now| operator == Operator::NotEqual && same_type(&now, &other) && now != other);
        if fits { Some(()) } else { self.assign(way, value) }
    }

    fn member(&mut self, item: &Expression, list: &Expression, truth: bool) -> Option<()> {
        match (item, list) {
            (Expression::Place(way), Expression::List(items)) => {
                let value = match (truth, items.first()?) {
                    (true, Expression::Literal(value)) => value.clone(),
                    (false, Expression::Literal(Json::String(_))) => Json::from("another value"),
                    _ => return None,
                };
                self.assign(way, value)
            }
            (Expression::Literal(value), Expression::Place(way)) => {
                let mut items =
                    self.look(way).and_then(|list| list.as_array().map(<[Json]>::to_vec)).unwrap_or_default();
                items.retain(|item| item != value);
                if truth {
                    items.push(value.clone());
                }
                self.assign(way, Json::Array(items))
            }
            _ => None,
        }
    }

    fn call(&mut self, base: Option<&Expression>, name: &str, arguments: &[Expression], truth: bool) -> Option<()> {
        match (base, name, arguments) {
            (None, "has", [Expression::Place(way)]) => match truth {
                true if self.look(way).is_some() => Some(()),
                true => self.assign(way, Json::from(ANY_TEXT)),
                false => self.take_out(way),
            },
            (Some(Expression::Place(way)), "exists" | "all", [Expression::Place(variable), body]) => {
                let [Segment::Name(variable)] = variable.as_slice() else { return None };
                self.quantified(way, variable, body, name == "exists", truth)
            }
            (
                Some(Expression::Place(way)),
                "startsWith" | "endsWith" | "contains",
                [Expression::Literal(Json::String(text))],
            ) => {
                let value = if truth {
                    text.as_str()
                } else if text == ANY_TEXT {
                    OTHER_TEXT
                } else {
                    ANY_TEXT
                };
                self.assign(way, Json::from(value))
            }
            _ => None,
        }
    }

    /// `exists` becomes true, and `all` false, by one more element; `exists` becomes false by none, and `all` true by each.
    fn quantified(
        &mut self,
        way: &[Segment],
        variable: &str,
        body: &Expression,
        exists: bool,
        truth: bool,
    ) -> Option<()> {
        let mut items = self.look(way).and_then(|list| list.as_array().map(<[Json]>::to_vec)).unwrap_or_default();
        if exists != truth {
            // Signals and the like are gone where there must be none; what all have to be, each becomes.
            let kept = if exists { Vec::new() } else { items };
            let count = kept.len().min(MAX_ELEMENTS);
            self.assign(way, Json::Array(kept))?;
            return (0..count).try_for_each(|index| self.element(way, variable, index, body, truth));
        }
        let index = items.len();
        items.push(Json::Object(Object::new()));
        self.assign(way, Json::Array(items))?;
        self.element(way, variable, index, body, truth)
    }

    /// Makes the body so for one element.
    fn element(&mut self, way: &[Segment], variable: &str, index: usize, body: &Expression, truth: bool) -> Option<()> {
        let mut place = self.resolved(way);
        place.push(Segment::Index(index));
        self.variables.push((variable.to_owned(), place));
        let made = self.make(body, truth);
        self.variables.pop();
        made
    }

    fn resize(&mut self, way: &[Segment], operator: Operator, length: i64) -> Option<()> {
        let wanted = match operator {
            Operator::Equal | Operator::LessOrEqual | Operator::GreaterOrEqual => length,
            Operator::NotEqual | Operator::Greater => length + 1,
            Operator::Less => length - 1,
            Operator::In => return None,
        };
        let wanted = usize::try_from(wanted).ok().filter(|_| wanted <= MAX_FILLED)?;
        let value = match self.look(way)? {
            Json::Array(mut items) => {
                items.resize(wanted, Json::from(ANY_TEXT));
                Json::Array(items)
            }
            Json::String(_) => Json::from("x".repeat(wanted)),
            _ => return None,
        };
        self.assign(way, value)
    }

    fn look(&self, way: &[Segment]) -> Option<Json> {
        get(self.facts, &self.resolved(way)).cloned()
    }

    fn assign(&mut self, way: &[Segment], value: Json) -> Option<()> {
        self.assignable(way).then_some(())?;
        set(self.facts, &self.resolved(way), value)
    }

    fn take_out(&mut self, way: &[Segment]) -> Option<()> {
        self.assignable(way).then_some(())?;
        remove(self.facts, &self.resolved(way));
        Some(())
    }

    /// Whether the fact may be changed: another tool or class would be another action, and the present is what it is.
    fn assignable(&self, way: &[Segment]) -> bool {
        match self.resolved(way).as_slice() {
            [Segment::Name(fact)] => fact != "now" && fact != "action",
            [Segment::Name(fact), Segment::Name(member), ..] if fact == "action" => {
                member == "args" || member == "target"
            }
            [Segment::Name(fact), ..] => fact != "now" && fact != "action",
            _ => false,
        }
    }

    /// The way from the facts: variables are replaced by what they stand for.
    fn resolved(&self, way: &[Segment]) -> Vec<Segment> {
        let Some((Segment::Name(first), rest)) = way.split_first() else { return way.to_vec() };
        match self.variables.iter().rev().find(|(name, _)| name == first) {
            Some((_, place)) => place.iter().chain(rest).cloned().collect(),
            None => way.to_vec(),
        }
    }
}

/// `size(x)` or `x.size()` beside a number.
fn sized<'e>(left: &'e Expression, right: &Expression) -> Option<(&'e [Segment], i64)> {
    let Expression::Literal(Json::Number(number)) = right else { return None };
    let place = match left {
        Expression::Call { base: None, name, arguments } if name == "size" => arguments.first()?,
        Expression::Call { base: Some(base), name, .. } if name == "size" => base,
        _ => return None,
    };
    let Expression::Place(way) = place else { return None };
    Some((way, number.as_i64()?))
}

fn negated(operator: Operator) -> Operator {
    match operator {
        Operator::Equal => Operator::NotEqual,
        Operator::NotEqual => Operator::Equal,
        Operator::Less => Operator::GreaterOrEqual,
        Operator::LessOrEqual => Operator::Greater,
        Operator::Greater => Operator::LessOrEqual,
        Operator::GreaterOrEqual => Operator::Less,
        Operator::In => Operator::In,
    }
}

fn mirrored(operator: Operator) -> Operator {
    match operator {
        Operator::Less => Operator::Greater,
        Operator::LessOrEqual => Operator::GreaterOrEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterOrEqual => Operator::LessOrEqual,
        Operator::Equal | Operator::NotEqual | Operator::In => operator,
    }
}

/// A value that compares so with the other.
fn related(operator: Operator, other: &Json) -> Option<Json> {
    match (operator, other) {
        (Operator::Equal, other) => Some(other.clone()),
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
        None => number.as_f64().filter(|value| value.abs() < 1e15)?.floor() as i64,
    };
    whole.checked_add(step).map(Json::from)
}

fn same_type(left: &Json, right: &Json) -> bool {
    left.type_name() == right.type_name()
}
