//! Rules that have to stay met. A retry satisfies the changes with other facts than the witness, and those must not break
//! another rule about the same facts. So that rule becomes a change too, unless the changes imply it.

use proofmark_evidence::{Condition, TextExpression};

use super::MAX_CHANGES;
use super::hypothesis::{Hypothesis, Op, approval_demand, condition_of, demand, evaluates_to, receipt_demand};
use super::imply::implied;
use super::solve::{Segment, is_changeable, places};
use crate::input::Input;
use crate::policy::{Demand, Matching};
use crate::rule_ref::{RuleKind, RuleRef};

/// A rule that is met in the witness.
struct Guard {
    op: Op,
    places: Vec<Vec<Segment>>,
}

/// The operations that keep the rules about the same facts met, beside `ops`; `None` when they are too many, or the
/// budget is used up.
pub(super) fn guards(input: &Input<'_>, ops: &[Op], witness: &Hypothesis<'_>) -> Option<Vec<Op>> {
    let mut met = met(input, witness);
    // A rule that an operation names is a change already.
    met.retain(|guard| !ops.iter().any(|op| op.source() == guard.op.source()));
    // An approval changes no fact. It binds the action, so it depends on facts without touching them.
    let changes = |op: &Op| !matches!(op, Op::Approval { .. });
    let mut touched: Vec<_> = ops.iter().filter(|op| changes(op)).flat_map(|op| places_of(input, op)).collect();
    let (mut all, mut guards) = (ops.to_vec(), Vec::new());
    // A guard can be satisfied by other facts too, which touches more rules: repeat until no new rule is touched.
    while let Some(at) =
        met.iter().position(|guard| shares(&guard.places, &touched) || is_new(input, &guard.op, witness))
    {
        let guard = met.remove(at);
        if is_implied(input, &guard.op, &all)? {
            continue;
        }
        if changes(&guard.op) {
            touched.extend(guard.places);
        }
        all.push(guard.op.clone());
        guards.push(guard.op);
        if all.len() > MAX_CHANGES {
            return None;
        }
    }
    Some(guards)
}

/// Whether a guard asks for approvals that only the witness has. Others than those may be given, to other people, so the
/// demand itself has to be a change.
fn is_new(input: &Input<'_>, guard: &Op, witness: &Hypothesis<'_>) -> bool {
    let Op::Approval { source } = guard else { return false };
    approval_demand(input.policy, *source).is_some_and(|demand| {
        let (subject, now) = (witness.request.subject(), &input.moment.now);
        demand.approvals(&input.policy.roles, &subject, &witness.request.occasion(), input.evidence, now).counted.len()
            < demand.count
    })
}

/// The rules that are met in the witness, in policy order.
fn met(input: &Input<'_>, witness: &Hypothesis<'_>) -> Vec<Guard> {
    let mut ops = Vec::new();
    for (index, boundary) in input.policy.boundaries.iter().enumerate() {
        // An unknown match is kept: a rule too many makes the set longer, a rule too few makes it unsound.
        if boundary.matcher.matches(&witness.request) == Matching::No {
            continue;
        }
        let source = |kind, at| RuleRef { kind, boundary: index, index: at };
        if let Some(when) = &boundary.when {
            let applies = evaluates_to(input, &witness.request, when, true);
            ops.push(Op::fact(source(RuleKind::When, 0), applies));
            // While `when` stays false the rules have no effect, so `when` alone is guarded.
            if !applies {
                continue;
            }
        }
        for (at, rule) in boundary.deny.iter().enumerate() {
            let source = source(RuleKind::Deny, at);
            // The witness is allowed, so a denial that is not false there was lifted by an approval.
            let denies = !evaluates_to(input, &witness.request, &rule.when, false);
            ops.push(if denies { Op::Approval { source } } else { Op::fact(source, false) });
        }
        for (at, rule) in boundary.require.iter().enumerate() {
            let source = source(RuleKind::Require, at);
            ops.push(match rule.demand {
                Demand::Fact(_) => Op::fact(source, true),
                Demand::Receipt(_) => Op::Receipt { source },
                Demand::Approval(_) => Op::Approval { source },
                Demand::ToolCall(_) => Op::Call { source },
            });
        }
    }
    ops.into_iter().map(|op| Guard { places: places_of(input, &op), op }).collect()
}

/// The facts that an operation is about and a retry may change.
fn places_of(input: &Input<'_>, op: &Op) -> Vec<Vec<Segment>> {
    let name = |name: &str| vec![Segment::Name(name.to_owned())];
    let mut all = match op {
        Op::Fact { source, .. } => {
            let predicate = condition_of(input.policy, *source).and_then(Condition::predicate);
            predicate.map_or_else(Vec::new, |predicate| places(predicate.tree()))
        }
        Op::Receipt { source } => {
            let rule = demand(input.policy, *source, receipt_demand);
            let expressions = rule.into_iter().flat_map(|rule| rule.specification.iter().chain([&rule.output]));
            expressions.filter_map(TextExpression::predicate).flat_map(|predicate| places(predicate.tree())).collect()
        }
        // An approval is void when the action changes, or what else it binds.
        Op::Approval { source } => {
            let binds = approval_demand(input.policy, *source).map(|demand| demand.binds);
            let bound = [
                ("action", "args", true),
                ("action", "target", true),
                ("agent", "environment", binds.is_none_or(|binds| binds.environment)),
                ("agent", "id", binds.is_none_or(|binds| binds.agent)),
            ];
            let bound = bound.into_iter().filter(|(_, _, binds)| *binds);
            bound.map(|(object, member, _)| [name(object), name(member)].concat()).collect()
        }
        Op::Call { .. } => vec![name("calls")],
    };
    all.retain(|place| is_changeable(place));
    all
}

fn shares(some: &[Vec<Segment>], others: &[Vec<Segment>]) -> bool {
    // A place inside another one counts too: whatever replaces an object replaces its members.
    some.iter().any(|one| others.iter().any(|other| one.starts_with(other) || other.starts_with(one)))
}

/// Whether a guard follows from the operations; `None` once the budget is used up.
fn is_implied(input: &Input<'_>, guard: &Op, ops: &[Op]) -> Option<bool> {
    let claim = |op: &Op| match op {
        Op::Fact { source, truth, .. } => {
            condition_of(input.policy, *source)?.predicate().map(|predicate| (predicate, *truth))
        }
        Op::Receipt { .. } | Op::Approval { .. } | Op::Call { .. } => None,
    };
    let premises: Vec<_> = ops.iter().filter_map(claim).collect();
    claim(guard).map_or(Some(false), |guard| implied(input, &premises, guard))
}
