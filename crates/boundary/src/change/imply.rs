//! Whether some predicates imply another one, decided by trying values.
//!
//! A predicate that only compares facts with literals has the same truth for all values between two neighbouring literals.
//! So a finite set of values stands for all: each literal, one value in each gap, one beyond each end, and values of other
//! types. If the conclusion holds wherever the premises do, it is implied. For other predicates the answer is "no",
//! which is safe: a rule that is implied and still named only makes the set of changes longer.

use proofmark_predicate::tree::{Expression, Operator, View};
use proofmark_predicate::{Predicate, Value};
use proofmark_receipt::Json;
use proofmark_receipt::json::Number;

use super::edit::{with, without};
use super::solve::{Segment, literal, place_of};
use crate::input::Input;
use crate::size::{STEPS_PER_VALUE, size};

/// The most combinations of values that are tried.
const MAX_COMBINATIONS: usize = 512;
/// A text that stands for all that no literal equals.
const OTHER_TEXT: &str = "\u{fffd} another text";

/// A predicate and its truth.
pub(super) type Claim<'p> = (&'p Predicate, bool);

/// A fact that predicates compare.
#[derive(Clone)]
struct Compared {
    place: Vec<Segment>,
    /// What it is compared with.
    literals: Vec<Json>,
    /// What it is tried with; empty until it is needed.
    tried: Vec<Tried>,
}

/// A value that a fact is tried with.
#[derive(Clone, PartialEq)]
enum Tried {
    Absent,
    Value(Json),
}

/// Whether the conclusion follows from the premises: no where this cannot be decided, `None` once the budget is used up.
pub(super) fn implied(input: &Input<'_>, premises: &[Claim<'_>], conclusion: Claim<'_>) -> Option<bool> {
    let mut compared = Vec::new();
    if !collect(conclusion.0.tree(), &mut compared) {
        return Some(false);
    }
    try_values(&mut compared);
    let mut used = Vec::new();
    for premise in premises {
        let mut more = compared.clone();
        // A premise may be left out: fewer premises imply less, never more.
        if collect(premise.0.tree(), &mut more) {
            try_values(&mut more);
            if combinations(&more) <= MAX_COMBINATIONS {
                compared = more;
                used.push(*premise);
            }
        }
    }
    let count = combinations(&compared);
    if count > MAX_COMBINATIONS {
        return Some(false);
    }
    let mut facts = Facts::of(input, &compared);
    for number in 0..count {
        input.budget.charge(facts.steps).ok()?;
        // A combination that cannot be tried might be the counterexample.
        let Some(value) = facts.combination(number) else { return Some(false) };
        let has_truth = |(predicate, truth): Claim<'_>| predicate.has_truth(truth, &value, input.budget);
        // An unknown conclusion is a counterexample too: an unknown rule blocks.
        if used.iter().all(|premise| has_truth(*premise)) && !has_truth(conclusion) {
            return Some(false);
        }
    }
    // Past the budget every premise is unknown, and anything would follow from premises that never hold.
    input.budget.failure().is_none().then_some(true)
}

/// The compared facts, and the values that each is tried with. The predicates read no others.
struct Facts<'c> {
    now: Value,
    /// The compared facts with their present values, and the time.
    present: Value,
    places: Vec<(&'c [Segment], Vec<Choice>)>,
    /// Whether two places disagree on what is a list.
    conflicting: bool,
    /// The facts with the values that the last combination has from each place on; at the end, the present ones.
    from: Vec<Value>,
    /// What one combination costs.
    steps: u64,
}

/// What is done to a fact; `None` where a number cannot be held exactly.
type Choice = Option<Edit>;

enum Edit {
    Set(Value),
    Remove,
}

impl<'c> Facts<'c> {
    fn of(input: &Input<'_>, compared: &'c [Compared]) -> Self {
        let now = Value::from(input.moment.now.as_str());
        let names = || {
            compared.iter().filter_map(|fact| match fact.place.first() {
                Some(Segment::Name(name)) => Some(name.as_str()),
                _ => None,
            })
        };
        let present: Value = names()
            .filter_map(|name| Some((name.to_owned(), input.request.value().get(name)?.clone())))
            .chain([("now".to_owned(), now.clone())])
            .collect();
        let mut counted: Vec<&str> = Vec::new();
        names().for_each(|name| {
            if !counted.contains(&name) {
                counted.push(name)
            }
        });
        let counted = counted.into_iter().filter_map(|name| input.request.facts().get(name));
        let steps = counted.map(size).sum::<u64>() * STEPS_PER_VALUE;
        let places =
            compared.iter().map(|fact| (&*fact.place, fact.tried.iter().map(|tried| fact.choice(tried)).collect()));
        let pairs =
            compared.iter().enumerate().flat_map(|(at, one)| compared.iter().skip(at + 1).map(move |two| (one, two)));
        let conflicting = pairs.into_iter().any(|(one, two)| conflict(&one.place, &two.place));
        let from = vec![Value::clone(&present); compared.len() + 1];
        Self { now, present, places: places.collect(), conflicting, from, steps }
    }

    /// The facts with the values of one combination; `None` where a place cannot be set. Combinations are asked for in
    /// order, from 0.
    fn combination(&mut self, number: usize) -> Option<Value> {
        let facts = if self.conflicting { self.each(number) } else { self.next(number) }?;
        // No request sets its own time.
        let timed = self.places.iter().any(|(place, _)| matches!(place, [Segment::Name(name), ..] if name == "now"));
        if timed { with(Some(&facts), &[Segment::Name("now".to_owned())], self.now.clone()) } else { Some(facts) }
    }

    /// From the present facts.
    fn each(&self, mut number: usize) -> Option<Value> {
        self.places.iter().try_fold(self.present.clone(), |facts, (place, choices)| {
            let chosen = number % choices.len();
            number /= choices.len();
            edited(&facts, place, choices.get(chosen)?.as_ref()?)
        })
    }

    /// From the combination before: most of the time only the first place changes, which is therefore set last. The order
    /// does not matter, because no place is inside another one, and all agree on what is a list.
    fn next(&mut self, number: usize) -> Option<Value> {
        let (mut rest, mut changed) = (number, 0);
        for (_, choices) in &self.places {
            changed += 1;
            if number > 0 && rest % choices.len() != 0 {
                break;
            }
            rest /= choices.len();
        }
        for at in (0..changed).rev() {
            let earlier: usize = self.places.iter().take(at).map(|(_, choices)| choices.len()).product();
            let (place, choices) = self.places.get(at)?;
            let chosen = choices.get(number / earlier % choices.len())?.as_ref()?;
            let facts = edited(self.from.get(at + 1)?, place, chosen)?;
            *self.from.get_mut(at)? = facts;
        }
        self.from.first().cloned()
    }
}

/// Whether one place leads into a list where the other one leads into a map.
fn conflict(one: &[Segment], two: &[Segment]) -> bool {
    let differ = one.iter().zip(two).find(|(one, two)| one != two);
    differ.is_some_and(|(one, two)| matches!(one, Segment::Index(_)) != matches!(two, Segment::Index(_)))
}

fn edited(facts: &Value, place: &[Segment], edit: &Edit) -> Option<Value> {
    match edit {
        Edit::Set(value) => with(Some(facts), place, value.clone()),
        Edit::Remove => Some(without(facts, place).unwrap_or_else(|| facts.clone())),
    }
}

impl Compared {
    fn choice(&self, tried: &Tried) -> Choice {
        let is_in_list = self.place.iter().any(|segment| matches!(segment, Segment::Index(_)));
        match tried {
            Tried::Value(json) => proofmark_evidence::facts::value(json).ok().map(Edit::Set),
            // An element of a list cannot be absent without moving the others, so it is null, which is tried anyway.
            Tried::Absent if is_in_list => Some(Edit::Set(Value::Null)),
            Tried::Absent => Some(Edit::Remove),
        }
    }
}

/// Chooses the values for facts that have none yet.
fn try_values(compared: &mut [Compared]) {
    for fact in compared.iter_mut().filter(|fact| fact.tried.is_empty()) {
        fact.tried = tried(&fact.literals);
    }
}

/// The values a fact is tried with.
fn tried(literals: &[Json]) -> Vec<Tried> {
    let mut numbers: Vec<f64> = literals.iter().filter_map(|json| json.as_number()?.as_f64()).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let between = numbers.windows(2).filter_map(|pair| Some((pair.first()? + pair.last()?) / 2.0));
    let beyond = [numbers.first().map(|least| least - 1.0), numbers.last().map(|most| most + 1.0)];
    let more: Vec<f64> = between.chain(beyond.into_iter().flatten()).collect();
    let more = more.into_iter().filter_map(|number| number.to_string().parse().ok().map(Json::Number));
    let others = [Json::from(OTHER_TEXT), Json::Bool(true), Json::Bool(false), Json::Null];
    let all = literals.iter().cloned().chain(more).chain(others);
    let mut tried = vec![Tried::Absent];
    for value in all.map(Tried::Value) {
        if !tried.contains(&value) {
            tried.push(value);
        }
    }
    tried
}

fn combinations(compared: &[Compared]) -> usize {
    compared.iter().fold(1, |count, fact| count.saturating_mul(fact.tried.len()))
}

/// Adds what an expression compares, and says whether it does nothing but compare facts with literals.
fn collect(expression: Expression<'_>, compared: &mut Vec<Compared>) -> bool {
    match expression.view() {
        View::Constant(Value::Bool(_)) => true,
        View::Fact(_) | View::Select { .. } | View::Index { .. } => add(expression, Vec::new(), compared),
        View::Not(inner) => collect(inner, compared),
        View::And(items) | View::Or(items) => items.into_iter().all(|item| collect(item, compared)),
        View::Conditional { condition, then, otherwise } => {
            [condition, then, otherwise].into_iter().all(|part| collect(part, compared))
        }
        View::Binary { operator, left, right } => match (operator, literal(left), literal(right)) {
            (Operator::In, None, Some(Json::Array(items))) => add(left, items, compared),
            (operator, None, Some(value)) if by_value(operator, &value) => add(left, vec![value], compared),
            (operator, Some(value), None) if by_value(operator, &value) => add(right, vec![value], compared),
            _ => false,
        },
        View::Constant(_)
        | View::Variable(_)
        | View::Has { .. }
        | View::Negate(_)
        | View::List(_)
        | View::Map(_)
        | View::Call { .. }
        | View::Matches { .. }
        | View::Path { .. }
        | View::Macro { .. } => false,
    }
}

/// Whether all values between two literals compare alike. Numbers do under every comparison, other values only under
/// equality: unlike numbers, two texts have no value halfway between them.
fn by_value(operator: Operator, value: &Json) -> bool {
    match operator {
        Operator::Equal | Operator::NotEqual => {
            value.as_array().is_none() && value.as_number().is_none_or(has_neighbours)
        }
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            value.as_number().is_some_and(has_neighbours)
        }
        Operator::In
        | Operator::Add
        | Operator::Subtract
        | Operator::Multiply
        | Operator::Divide
        | Operator::Remainder => false,
    }
}

/// Whether doubles tell the number from those near it: between two such numbers, and one above and below each, there are
/// doubles (`tried`). A large integer, or one with many digits, is rounded to the double of another.
fn has_neighbours(number: &Number) -> bool {
    const DIGITS: usize = 15;
    let digits =
        number.as_str().bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).filter(u8::is_ascii_digit).count();
    let size = number.as_f64().map(f64::abs);
    digits <= DIGITS && size.is_some_and(|size| size == 0.0 || (1e-15..1e15).contains(&size))
}

/// Adds a place, unless it lies inside another one or around it: the two could not be set independently.
fn add(expression: Expression<'_>, literals: Vec<Json>, compared: &mut Vec<Compared>) -> bool {
    let Some(place) = place_of(expression) else { return false };
    if let Some(known) = compared.iter_mut().find(|known| known.place == place) {
        if !literals.is_empty() {
            known.literals.extend(literals);
            known.tried.clear();
        }
        return true;
    }
    if compared.iter().any(|known| known.place.starts_with(&place) || place.starts_with(&known.place)) {
        return false;
    }
    compared.push(Compared { place, literals, tried: Vec::new() });
    true
}
