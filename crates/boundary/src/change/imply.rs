//! Whether some predicates imply another one, decided by trying values.
//!
//! A predicate that only compares facts with literals has the same truth for all values between two neighbouring literals.
//! So a finite set of values stands for all: each literal, one value in each gap, one beyond each end, and values of other
//! types. If the conclusion holds wherever the premises do, it is implied. For other predicates the answer is "no",
//! which is safe: a rule that is implied and still named only makes the set of changes longer.

use proofmark_predicate::tree::{Expression, Operator, View};
use proofmark_predicate::{Predicate, Truth, Value};
use proofmark_receipt::json::Number;
use proofmark_receipt::{Json, Object};

use super::hypothesis::{STEPS_PER_VALUE, values};
use super::solve::{Segment, literal, place_of, remove, set};
use crate::input::Input;
use crate::request::Request;

/// The most combinations of values that are tried.
const MAX_COMBINATIONS: usize = 512;
/// A text that stands for all that no literal equals.
const OTHER_TEXT: &str = "\u{fffd} another text";

/// A predicate and its truth.
pub(super) type Claim<'p> = (&'p Predicate, bool);

/// The facts a predicate compares, each with the literals it is compared with.
type Compared = Vec<(Vec<Segment>, Vec<Json>)>;

/// Whether the conclusion follows from the premises: no where this cannot be decided, `None` once the budget is used up.
pub(super) fn implied(input: &Input<'_>, premises: &[Claim<'_>], conclusion: Claim<'_>) -> Option<bool> {
    let mut compared = Compared::new();
    if !collect(conclusion.0.tree(), &mut compared) {
        return Some(false);
    }
    let mut used = Vec::new();
    for premise in premises {
        let mut more = compared.clone();
        // A premise may be left out: fewer premises imply less, never more.
        if collect(premise.0.tree(), &mut more) && combinations(&more) <= MAX_COMBINATIONS {
            compared = more;
            used.push(*premise);
        }
    }
    let count = combinations(&compared);
    if count > MAX_COMBINATIONS {
        return Some(false);
    }
    // Only the compared facts are copied for each combination; the predicates read no others.
    let facts = facts_of(input.request, &compared);
    for number in 0..count {
        input.budget.charge(values(&facts) * STEPS_PER_VALUE).ok()?;
        // A combination that cannot be tried might be the counterexample.
        let Some(request) = combination(&facts, &compared, number) else { return Some(false) };
        let value = request.value_at(input.moment.now.as_str());
        let evaluates_to = |(predicate, truth): Claim<'_>| {
            let wanted = if truth { Truth::True } else { Truth::False };
            predicate.truth_within(&value, input.budget) == wanted
        };
        // An unknown conclusion is a counterexample too: an unknown rule blocks.
        if used.iter().all(|premise| evaluates_to(*premise)) && !evaluates_to(conclusion) {
            return Some(false);
        }
    }
    // Past the budget every premise is unknown, and anything would follow from premises that never hold.
    input.budget.failure().is_none().then_some(true)
}

/// The compared facts with their present values.
fn facts_of(request: &Request, compared: &Compared) -> Object {
    let mut facts = Object::new();
    for (place, _) in compared {
        if let Some(Segment::Name(name)) = place.first()
            && let Some(value) = request.facts().get(name)
        {
            facts.insert(name.as_str(), value.clone());
        }
    }
    facts
}

/// The values a fact is tried with; `None` is an absent fact.
fn tried(literals: &[Json]) -> Vec<Option<Json>> {
    let mut numbers: Vec<f64> = literals.iter().filter_map(|json| json.as_number()?.as_f64()).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let between = numbers.windows(2).filter_map(|pair| Some((pair.first()? + pair.last()?) / 2.0));
    let beyond = [numbers.first().map(|least| least - 1.0), numbers.last().map(|most| most + 1.0)];
    let more: Vec<f64> = between.chain(beyond.into_iter().flatten()).collect();
    let more = more.into_iter().filter_map(|number| number.to_string().parse().ok().map(Json::Number));
    let others = [Json::from(OTHER_TEXT), Json::Bool(true), Json::Bool(false), Json::Null];
    let all = literals.iter().cloned().chain(more).chain(others);
    let mut tried: Vec<Option<Json>> = vec![None];
    for value in all.map(Some) {
        if !tried.contains(&value) {
            tried.push(value);
        }
    }
    tried
}

fn combinations(compared: &Compared) -> usize {
    compared.iter().fold(1, |count, (_, literals)| count.saturating_mul(tried(literals).len()))
}

/// The facts with the values of one combination; `None` where a place cannot be set.
fn combination(facts: &Object, compared: &Compared, mut number: usize) -> Option<Request> {
    let mut facts = facts.clone();
    for (place, literals) in compared {
        let mut values = tried(literals);
        let chosen = number % values.len();
        number /= values.len();
        match values.swap_remove(chosen) {
            Some(value) => set(&mut facts, place, value)?,
            // An element of a list cannot be absent without moving the others, so it is null, which is tried anyway.
            None if place.iter().any(|segment| matches!(segment, Segment::Index(_))) => {
                set(&mut facts, place, Json::Null)?
            }
            None => remove(&mut facts, place),
        }
    }
    Request::from_facts(facts).ok()
}

/// Adds what an expression compares, and says whether it does nothing but compare facts with literals.
fn collect(expression: Expression<'_>, compared: &mut Compared) -> bool {
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
fn add(expression: Expression<'_>, literals: Vec<Json>, compared: &mut Compared) -> bool {
    let Some(place) = place_of(expression) else { return false };
    if let Some((_, known)) = compared.iter_mut().find(|(known, _)| *known == place) {
        known.extend(literals);
        return true;
    }
    if compared.iter().any(|(known, _)| known.starts_with(&place) || place.starts_with(known)) {
        return false;
    }
    compared.push((place, literals));
    true
}
