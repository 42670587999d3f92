//! Rules that have no effect, or leave nothing possible, beside each other.

use proofmark_evidence::Condition;
use proofmark_predicate::Value;
use proofmark_predicate::meaning::{Claim, Known, is_possible, literal, place, walk};
use proofmark_predicate::tree::{Expression, Operator, View};

use super::super::{ActionPolicy, Boundary, Demand};
use super::{Warning, warning};

/// The most pairs of boundaries that are compared.
const MAX_PAIRS: usize = 4_096;

/// What a boundary says of the facts of an action that it allows, and of the texts that it matches.
struct Said<'p> {
    boundary: &'p Boundary,
    when: Vec<Claim<'p>>,
    required: Vec<Claim<'p>>,
    denied: Vec<Claim<'p>>,
}

fn claim(condition: &Condition, truth: bool) -> Option<Claim<'_>> {
    condition.predicate().map(|predicate| Claim::Truth(predicate.tree(), truth))
}

impl<'p> Said<'p> {
    fn of(boundary: &'p Boundary) -> Self {
        let facts = boundary.require.iter().filter_map(|rule| match &rule.demand {
            Demand::Fact(condition) => claim(condition, true),
            Demand::Receipt(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
        });
        // A denial that an approval lifts leaves the action possible.
        let denied = boundary.deny.iter().filter(|rule| rule.unless.is_none());
        Self {
            boundary,
            when: boundary.when.iter().filter_map(|when| claim(when, true)).collect(),
            required: facts.collect(),
            denied: denied.filter_map(|rule| claim(&rule.when, false)).collect(),
        }
    }

    /// Whether some action that the boundary matches may meet these claims.
    fn allows(&self, claims: &[&[Claim<'p>]]) -> bool {
        let texts = self.boundary.matcher.texts();
        let checks: Vec<_> = texts.iter().map(|(place, globs)| (place, |text: &str| globs.matches(text))).collect();
        let known: Vec<_> = checks.iter().map(|(place, may_be)| Known { place: &place[..], may_be }).collect();
        is_possible(&claims.concat(), &known)
    }
}

/// What is wrong with the conditions of one boundary beside each other.
pub(super) fn of_boundary(boundary: &Boundary) -> Vec<Warning> {
    let said = Said::of(boundary);
    if !said.allows(&[&said.when]) {
        let message = "no action that `match` names meets `when`, so the boundary applies to nothing";
        return vec![warning(&format!("{}.when", boundary.at), "never-reached", message, "correct one of the two")];
    }
    let mut warnings = Vec::new();
    for rule in &boundary.deny {
        let denies: Vec<_> = claim(&rule.when, true).into_iter().collect();
        if !said.allows(&[&said.when, &denies]) {
            let message = "no action that the boundary applies to meets this, so it denies nothing";
            warnings.push(warning(&format!("{}.when", rule.at), "never-reached", message, "correct it, or remove it"));
        }
    }
    // A boundary that only denies may be meant to stop everything.
    if !said.required.is_empty() && !said.allows(&[&said.when, &said.required, &said.denied]) {
        let message = "no action meets all rules of the boundary, so it stops every action that it matches";
        warnings.push(warning(&boundary.at, "never-allows", message, "look for a denial of what a rule requires"));
        return warnings;
    }
    warnings.extend(open_below(&said));
    warnings
}

/// Numbers that are limited above and not below.
fn open_below(said: &Said<'_>) -> Vec<Warning> {
    // A person sees the number.
    if said.boundary.require.iter().any(|rule| matches!(rule.demand, Demand::Approval(_))) {
        return Vec::new();
    }
    let mut limited: Vec<(Expression<'_>, Value)> = Vec::new();
    let denials = said.boundary.deny.iter().filter_map(|rule| claim(&rule.when, false));
    for claim in said.when.iter().chain(&said.required).cloned().chain(denials) {
        let Claim::Truth(condition, _) = claim else { continue };
        walk(condition, &mut |expression| {
            if let Some((number, limit)) = limit(expression)
                && !limited.iter().any(|(known, _)| *known == number)
            {
                limited.push((number, limit));
            }
        });
    }
    let allows = |number: Expression<'_>, operator: Operator, value: Value| {
        let denied: Vec<_> = said.boundary.deny.iter().filter_map(|rule| claim(&rule.when, false)).collect();
        said.allows(&[&said.when, &said.required, &denied, &[Claim::Compares(number, operator, value)]])
    };
    let is_open = |(number, limit): &(Expression<'_>, Value)| {
        !allows(*number, Operator::Greater, limit.clone()) && allows(*number, Operator::Less, Value::Int(0))
    };
    limited
        .iter()
        .filter(|limited| is_open(limited))
        .map(|(number, _)| {
            let name = place(*number).unwrap_or_default().join(".");
            let message = format!("`{name}` is limited above and not below, so a negative number is allowed");
            warning(&said.boundary.at, "no-lower-bound", message, "require `> 0` as well")
        })
        .collect()
}

/// A number of the action and a positive literal that it is compared with.
fn limit(expression: Expression<'_>) -> Option<(Expression<'_>, Value)> {
    let View::Binary { operator, left, right } = expression.view() else { return None };
    let (number, limit) = match (literal(left), literal(right)) {
        (None, Some(limit)) => (left, limit),
        (Some(limit), None) => (right, limit),
        _ => return None,
    };
    let is_order =
        matches!(operator, Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual);
    let is_positive = match &limit {
        Value::Int(value) => *value > 0,
        Value::Decimal(value) => *value > proofmark_predicate::Decimal::ZERO,
        _ => false,
    };
    let names = place(number)?;
    let of_action = names.starts_with(&["action", "args"]) || names == ["action", "amount"];
    (is_order && is_positive && of_action).then_some((number, limit))
}

/// Boundaries for the same actions of which no action meets both. Every boundary that matches applies, not the first one.
pub(super) fn of_pairs(policy: &ActionPolicy) -> Vec<Warning> {
    let said: Vec<_> = policy.boundaries.iter().map(Said::of).collect();
    let alone: Vec<_> = said.iter().map(|said| said.allows(&[&said.when, &said.required, &said.denied])).collect();
    let pairs = said
        .iter()
        .enumerate()
        .flat_map(|(at, one)| said.iter().enumerate().skip(at + 1).map(move |two| ((at, one), two)));
    let same = pairs.filter(|((_, one), (_, two))| one.boundary.matcher.shown() == two.boundary.matcher.shown());
    let mut warnings = Vec::new();
    for ((first, one), (second, two)) in same.take(MAX_PAIRS) {
        if alone.get(first) != Some(&true) || alone.get(second) != Some(&true) {
            continue;
        }
        // Where one of the two conditions cannot hold beside the other, the two are for different actions.
        let apply = one.allows(&[&one.when, &two.when]);
        if apply && !one.allows(&[&one.when, &one.required, &one.denied, &two.when, &two.required, &two.denied]) {
            let message = format!(
                "no action meets the rules of this boundary and those of `{}`, and both apply to the same actions",
                one.boundary.id
            );
            let help = "say with `when` which of the two applies";
            warnings.push(warning(&two.boundary.at, "conflicting-boundaries", message, help));
        }
    }
    warnings
}
