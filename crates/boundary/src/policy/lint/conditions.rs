//! What is doubtful in single conditions of a policy.

use proofmark_evidence::{Condition, Use, doubts};
use proofmark_predicate::Value;
use proofmark_predicate::meaning::{Claim, is_possible, literal, place, walk};
use proofmark_predicate::tree::{Expression, MacroKind, Operator, View};
use proofmark_receipt::document::{nearest, shown};

use super::super::{Boundary, Demand};
use super::{Warning, warning};
use crate::taint::LABELS;

/// Words of an argument by which an agent says that something is so. What the action does is not said by them.
const CLAIMS: [&str; 22] = [
    "approved",
    "approval",
    "authorized",
    "authorised",
    "confirmed",
    "confirm",
    "reviewed",
    "verified",
    "validated",
    "tested",
    "tests_passed",
    "passed",
    "checked",
    "safe",
    "allowed",
    "permitted",
    "override",
    "force",
    "is_admin",
    "admin",
    "trusted",
    "bypass",
];

/// The warnings of all conditions of a boundary.
pub(super) fn warnings(boundary: &Boundary) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Some(when) = &boundary.when {
        warnings.extend(of_condition(&format!("{}.when", boundary.at), when, Use::Selects));
    }
    for rule in &boundary.require {
        if let Demand::Fact(condition) = &rule.demand {
            let at = format!("{}.fact", rule.at);
            warnings.extend(of_condition(&at, condition, Use::Demands));
            warnings.extend(says_only_that_it_is_there(&at, condition));
        }
    }
    for rule in &boundary.deny {
        warnings.extend(of_condition(&format!("{}.when", rule.at), &rule.when, Use::Denies));
    }
    for rule in &boundary.warn {
        warnings.extend(of_condition(&format!("{}.when", rule.at), &rule.when, Use::Selects));
    }
    warnings
}

fn of_condition(at: &str, condition: &Condition, used: Use) -> Vec<Warning> {
    let mut warnings: Vec<_> =
        doubts(condition, used).into_iter().map(|doubt| warning(at, doubt.code, doubt.message, doubt.help)).collect();
    let Some(predicate) = condition.predicate() else { return warnings };
    let (mut claims, mut signals) = (Vec::new(), Vec::new());
    walk(predicate.tree(), &mut |expression| {
        claims.extend(claim(expression).filter(|_| helps(predicate.tree(), expression, used)));
        signals.extend(signal(expression));
        if used == Use::Demands && calls_of_any_status(expression) {
            let message = "a call that failed, was blocked or never ended meets the condition too";
            warnings.push(warning(
                at,
                "call-of-any-status",
                message,
                "add `&& c.status == 'succeeded'`, or write a rule `tool_call`",
            ));
        }
    });
    if let Some(name) = claims.first() {
        let message = format!("the agent itself writes `{}`, so it decides whether this holds", shown(name));
        let help = "ask for an `approval`, a `receipt` or a recorded call instead";
        warnings.push(warning(at, "self-stated", message, help));
    }
    for (written, near) in signals {
        let message = format!("no sign is called `{}`: did you mean `{near}`?", shown(&written));
        warnings.push(warning(at, "unknown-signal", message, "write the name of a sign as guards record it"));
    }
    warnings
}

/// An argument that claims something.
fn claim(expression: Expression<'_>) -> Option<String> {
    let names = place(expression)?;
    let last = names.last()?;
    let is_argument = names.len() > 2 && names.starts_with(&["action", "args"]);
    (is_argument && CLAIMS.contains(&last.to_lowercase().as_str())).then(|| names.join("."))
}

/// Whether an action may be allowed where the claim is true. A rule that only stops it then, as `force == false`, is about what the
/// action does.
fn helps(condition: Expression<'_>, claim: Expression<'_>, used: Use) -> bool {
    let allows = Claim::Truth(condition, used != Use::Denies);
    is_possible(&[allows, Claim::Compares(claim, Operator::Equal, Value::Bool(true))], &[])
}

/// A sign of steering that is nearly one that there is.
fn signal(expression: Expression<'_>) -> Option<(String, &'static str)> {
    let View::Binary { operator: Operator::Equal | Operator::NotEqual, left, right } = expression.view() else {
        return None;
    };
    let (selected, written) = match (literal(left), literal(right)) {
        (None, Some(Value::String(text))) => (left, text),
        (Some(Value::String(text)), None) => (right, text),
        _ => return None,
    };
    let View::Select { field: "signal", .. } = selected.view() else { return None };
    let near = nearest(&written, &LABELS).filter(|near| **near != *written)?;
    Some((written.to_string(), near))
}

/// Whether it asks for a call of a tool, however that ended.
fn calls_of_any_status(expression: Expression<'_>) -> bool {
    let View::Macro { kind: MacroKind::Exists | MacroKind::ExistsOne, range, body, .. } = expression.view() else {
        return false;
    };
    let mut names_status = false;
    walk(body, &mut |inner| names_status |= matches!(inner.view(), View::Select { field: "status", .. }));
    place(range).is_some_and(|place| place == ["calls"]) && !names_status
}

/// A demand that any text in an argument meets.
fn says_only_that_it_is_there(at: &str, condition: &Condition) -> Option<Warning> {
    let tree = condition.predicate()?.tree();
    let parts = match tree.view() {
        View::And(parts) => parts,
        _ => vec![tree],
    };
    parts.into_iter().all(is_presence).then(|| {
        let message = "any text meets this, and the agent writes it";
        warning(at, "self-stated", message, "compare it with what was recorded, or ask for an `approval`")
    })
}

/// Whether it says of an argument that there is something in it.
fn is_presence(part: Expression<'_>) -> bool {
    let is_argument = |expression: Expression<'_>| {
        place(expression).is_some_and(|place| place.len() > 2 && place.starts_with(&["action", "args"]))
    };
    match part.view() {
        View::Has { base: Some(base), .. } => place(base).is_some_and(|place| place.starts_with(&["action", "args"])),
        View::Binary { operator: Operator::NotEqual, left, right } => {
            let is_empty = match literal(right) {
                Some(Value::String(text)) => text.is_empty(),
                Some(Value::Null) => true,
                _ => false,
            };
            is_argument(left) && is_empty
        }
        View::Binary { operator: Operator::Greater, left, right } => {
            let of = match left.view() {
                View::Call { function, arguments } if function.name() == "size" => arguments.first().copied(),
                _ => None,
            };
            of.is_some_and(is_argument) && literal(right) == Some(Value::Int(0))
        }
        _ => false,
    }
}
