//! Finds facts that answer a predicate as wanted. It guesses; whoever calls it asks the predicate.

mod places;

use proofmark_predicate::Value;
use proofmark_predicate::tree::{Expression, Function, MacroKind, Operator, View};
use proofmark_receipt::json::Number;
use proofmark_receipt::{Json, Object};

pub(super) use places::{Segment, is_changeable, places, remove, set, way};
use places::{get, segment};

/// A text that stands for any.
const ANY_TEXT: &str = "value";
/// Another text than that.
const OTHER_TEXT: &str = "other";
/// The most elements that are changed one by one.
const MAX_ELEMENTS: usize = 64;
/// The most elements a list is filled up to.
const MAX_FILLED: i64 = 1_000;

/// Changes `facts` so that the predicate probably comes to `truth`; nothing when it cannot be followed. `variant` chooses
/// among several ways.
pub(super) fn solve(expression: Expression<'_>, truth: bool, facts: &mut Object, variant: usize) -> Option<()> {
    Solver { facts, variables: Vec::new(), variant }.make(expression, truth)
}

struct Solver<'a> {
    facts: &'a mut Object,
    /// The places the variables of the enclosing macros stand for, the outermost first; none for one that is an index.
    variables: Vec<Option<Vec<Segment>>>,
    variant: usize,
}

impl Solver<'_> {
    fn make(&mut self, expression: Expression<'_>, truth: bool) -> Option<()> {
        match expression.view() {
            View::Constant(Value::Bool(value)) => (*value == truth).then_some(()),
            View::Fact(_) | View::Variable(_) | View::Select { .. } | View::Index { .. } => {
                let way = self.way(expression)?;
                self.assign(&way, Json::Bool(truth))
            }
            View::Has { base, field } => self.has(base, field, truth),
            View::Not(inner) => self.make(inner, !truth),
            View::And(items) if truth => items.into_iter().try_for_each(|item| self.make(item, true)),
            View::Or(items) if !truth => items.into_iter().try_for_each(|item| self.make(item, false)),
            View::And(items) | View::Or(items) => self.first(&items, truth),
            View::Conditional { condition, then, otherwise } => {
                let ways = [(true, then), (false, otherwise)];
                let before = self.facts.clone();
                ways.into_iter().cycle().skip(self.variant % 2).take(2).find_map(|(holds, branch)| {
                    *self.facts = before.clone();
                    self.make(condition, holds).and_then(|()| self.make(branch, truth))
                })
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
            // Nothing is known of the facts that answer these.
            View::Constant(_)
            | View::Negate(_)
            | View::List(_)
            | View::Map(_)
            | View::Matches { .. }
            | View::Path { .. }
            | View::Macro { filter: Some(_), .. } => None,
        }
    }

    /// The first of the items that can be made so, beginning with another one in each variant.
    fn first(&mut self, items: &[Expression<'_>], truth: bool) -> Option<()> {
        let before = self.facts.clone();
        let (late, early) = items.split_at_checked(self.variant % items.len().max(1))?;
        for item in early.iter().chain(late) {
            if self.make(*item, truth).is_some() {
                return Some(());
            }
            *self.facts = before.clone();
        }
        None
    }

    fn has(&mut self, base: Option<Expression<'_>>, field: &str, truth: bool) -> Option<()> {
        let mut way = base.map_or_else(|| Some(Vec::new()), |base| self.way(base))?;
        way.push(Segment::Name(field.to_owned()));
        match truth {
            true if self.look(&way).is_some() => Some(()),
            true => self.assign(&way, Json::from(ANY_TEXT)),
            false => self.take_out(&way),
        }
    }

    fn compare(&mut self, operator: Operator, left: Expression<'_>, right: Expression<'_>, truth: bool) -> Option<()> {
        if operator == Operator::In {
            return self.member(left, right, truth);
        }
        let operator = if truth { operator } else { negated(operator)? };
        if let (Some(list), Some(Json::Number(length))) = (self.sized(left), literal(right)) {
            return self.resize(&list, operator, length.as_i64()?);
        }
        match (self.way(left), self.way(right)) {
            (Some(way), _) if is_changeable(&way) => self.relate(&way, operator, right),
            (_, Some(way)) if is_changeable(&way) => self.relate(&way, mirrored(operator), left),
            _ => None,
        }
    }

    /// The list or text in `size(x)`.
    fn sized(&self, expression: Expression<'_>) -> Option<Vec<Segment>> {
        match expression.view() {
            View::Call { function, arguments } if function.name() == "size" => self.way(*arguments.first()?),
            _ => None,
        }
    }

    /// Sets a place so that it compares so with the other side.
    fn relate(&mut self, way: &[Segment], operator: Operator, other: Expression<'_>) -> Option<()> {
        let other = match (literal(other), self.way(other)) {
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
        let fits =
            self.look(way).is_some_and(|now| operator == Operator::NotEqual && same_type(&now, &other) && now != other);
        if fits { Some(()) } else { self.assign(way, value) }
    }

    fn member(&mut self, item: Expression<'_>, list: Expression<'_>, truth: bool) -> Option<()> {
        if let (Some(way), Some(Json::Array(items))) = (self.way(item), literal(list)) {
            let value = match (truth, items.first()?) {
                (true, _) => items.get(self.variant % items.len())?.clone(),
                (false, Json::String(_)) => Json::from("another value"),
                (false, _) => return None,
            };
            return self.assign(&way, value);
        }
        let (value, way) = (literal(item)?, self.way(list)?);
        let mut items = self.look(&way).and_then(|list| list.as_array().map(<[Json]>::to_vec)).unwrap_or_default();
        items.retain(|item| *item != value);
        if truth {
            items.push(value);
        }
        self.assign(&way, Json::Array(items))
    }

    fn call(&mut self, function: Function, arguments: &[Expression<'_>], truth: bool) -> Option<()> {
        match (function.name(), arguments) {
            ("dyn", [inner]) => self.make(*inner, truth),
            ("startsWith" | "endsWith" | "contains", [text, part]) => {
                let (way, Json::String(part)) = (self.way(*text)?, literal(*part)?) else { return None };
                let value = if truth {
                    part.as_str()
                } else if part == ANY_TEXT {
                    OTHER_TEXT
                } else {
                    ANY_TEXT
                };
                self.assign(&way, Json::from(value))
            }
            // Of a function that is not named here no facts are guessed: its answer may be assumed, never derived.
            _ => None,
        }
    }

    /// `exists` becomes true, and `all` false, by an element more, or by one that is there; `exists` becomes false by none,
    /// or by each, and `all` true by each.
    fn quantified(
        &mut self,
        range: Expression<'_>,
        variables: usize,
        body: Expression<'_>,
        exists: bool,
        truth: bool,
    ) -> Option<()> {
        let way = self.way(range)?;
        let mut items = self.look(&way).and_then(|list| list.as_array().map(<[Json]>::to_vec)).unwrap_or_default();
        let in_place = self.variant % 2 == 1;
        if exists != truth {
            // Signals and the like are gone where there must be none; what all have to be, each becomes.
            let kept = if exists && !in_place { Vec::new() } else { items };
            let count = kept.len().min(MAX_ELEMENTS);
            self.assign(&way, Json::Array(kept))?;
            return (0..count).try_for_each(|index| self.element(&way, variables, index, body, truth));
        }
        if in_place && !items.is_empty() {
            return self.element(&way, variables, 0, body, truth);
        }
        let index = items.len();
        items.push(Json::Object(Object::new()));
        self.assign(&way, Json::Array(items))?;
        self.element(&way, variables, index, body, truth)
    }

    /// Makes the body so for one element.
    fn element(
        &mut self,
        way: &[Segment],
        variables: usize,
        index: usize,
        body: Expression<'_>,
        truth: bool,
    ) -> Option<()> {
        let outer = self.variables.len();
        if variables == 2 {
            self.variables.push(None);
        }
        let mut place = way.to_vec();
        place.push(Segment::Index(index));
        self.variables.push(Some(place));
        let made = self.make(body, truth);
        self.variables.truncate(outer);
        made
    }

    fn resize(&mut self, way: &[Segment], operator: Operator, length: i64) -> Option<()> {
        let wanted = match operator {
            Operator::Equal | Operator::LessOrEqual | Operator::GreaterOrEqual => length,
            Operator::NotEqual | Operator::Greater => length.checked_add(1)?,
            Operator::Less => length.checked_sub(1)?,
            _ => return None,
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

    /// The place an expression is: variables are replaced by what they stand for.
    fn way(&self, expression: Expression<'_>) -> Option<Vec<Segment>> {
        let (base, segment) = match expression.view() {
            View::Fact(name) => return Some(vec![Segment::Name(name.to_owned())]),
            View::Variable(slot) => return self.variables.get(slot)?.clone(),
            View::Select { base, field } => (base, Segment::Name(field.to_owned())),
            View::Index { base, index } => (base, segment(index)?),
            _ => return None,
        };
        let mut way = self.way(base)?;
        way.push(segment);
        Some(way)
    }

    fn look(&self, way: &[Segment]) -> Option<Json> {
        get(self.facts, way).cloned()
    }

    fn assign(&mut self, way: &[Segment], value: Json) -> Option<()> {
        is_changeable(way).then_some(())?;
        set(self.facts, way, value)
    }

    fn take_out(&mut self, way: &[Segment]) -> Option<()> {
        is_changeable(way).then_some(())?;
        remove(self.facts, way);
        Some(())
    }
}

/// The JSON a literal is.
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

fn negated(operator: Operator) -> Option<Operator> {
    Some(match operator {
        Operator::Equal => Operator::NotEqual,
        Operator::NotEqual => Operator::Equal,
        Operator::Less => Operator::GreaterOrEqual,
        Operator::LessOrEqual => Operator::Greater,
        Operator::Greater => Operator::LessOrEqual,
        Operator::GreaterOrEqual => Operator::Less,
        Operator::In
        | Operator::Add
        | Operator::Subtract
        | Operator::Multiply
        | Operator::Divide
        | Operator::Remainder => return None,
    })
}

fn mirrored(operator: Operator) -> Operator {
    match operator {
        Operator::Less => Operator::Greater,
        Operator::LessOrEqual => Operator::GreaterOrEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterOrEqual => Operator::LessOrEqual,
        Operator::Equal
        | Operator::NotEqual
        | Operator::In
        | Operator::Add
        | Operator::Subtract
        | Operator::Multiply
        | Operator::Divide
        | Operator::Remainder => operator,
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
