//! Searches for what makes a blocked decision an allow.

use super::condition;
use super::guards;
use super::suppose::{self, Op, Supposed};
use super::{Change, MAX_CHANGES, MAX_SEARCH_STEPS, Witness, admit};
use crate::judge::{Assumption, Finding, Judged, Kind, World, judge};
use crate::policy::{ActionPolicy, Demand};

/// How often the decision is tried again: each round finds what the last one uncovered.
const MAX_ROUNDS: usize = 6;
/// In how many ways the facts are tried that answer a predicate: where one way is closed by another rule, the next may be
/// open.
const VARIANTS: usize = 4;

/// A set of changes, and what proves it.
pub(super) struct Found {
    pub(super) changes: Vec<Change>,
    pub(super) witness: Option<Witness>,
}

/// Changes for which facts and documents were found: with those, the conditions hold and the action is allowed.
pub(super) fn proven(world: &World<'_>, judged: &Judged) -> Option<Found> {
    let conditional = world.policy.boundaries.iter().any(|boundary| boundary.when.is_some());
    let applies: &[bool] = if conditional { &[true, false] } else { &[true] };
    let ways = (0..VARIANTS)
        .flat_map(|variant| applies.iter().map(move |applies| Way { applies: *applies, variant, assumes: false }));
    let (ops, way) = ways.into_iter().find_map(|way| Some((search(world, judged, way)?, way)))?;
    let mut ops = minimal(world, ops, way);
    let (mut changes, mut supposed) = proof(world, &ops, way)?;
    let guards = guards::guards(world, &ops, &supposed)?;
    if !guards.is_empty() {
        ops.extend(guards);
        (changes, supposed) = proof(world, &ops, way)?;
    }
    let witness = Witness { request: supposed.request, evidence: supposed.evidence };
    Some(Found { changes, witness: Some(witness) })
}

/// Changes of which some are assumed to be possible: no facts were found with which their predicates hold.
pub(super) fn assumed(world: &World<'_>, judged: &Judged) -> Option<Found> {
    let ways = [true, false].map(|applies| Way { applies, variant: 0, assumes: true });
    let (ops, way) = ways.into_iter().find_map(|way| Some((search(world, judged, way)?, way)))?;
    let mut ops = minimal(world, ops, way);
    // Which ops had to be assumed is known once they have been applied.
    let supposed = suppose::apply(world, &mut ops, way)?;
    // Without an assumption they would have been proven.
    let assumes = !supposed.assumed.is_empty() && !contradictory(world, &ops);
    let all = assumes.then(|| condition::changes(world, &ops, &supposed))??;
    Some(Found { changes: all, witness: None })
}

/// How a search goes about it.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// What a `when` that is unknown is made.
    applies: bool,
    /// Which of the facts that answer a predicate are tried first.
    pub(super) variant: usize,
    /// Whether a predicate is assumed to hold where no facts are found for it.
    pub(super) assumes: bool,
}

/// The changes these ops are, and the world in which they have been made: all of them hold there, and the action is
/// allowed.
fn proof(world: &World<'_>, ops: &[Op], way: Way) -> Option<(Vec<Change>, Supposed<'static>)> {
    let supposed = suppose::apply(world, &mut ops.to_vec(), way)?;
    let supposed = supposed.by_facts()?;
    if !judge(&supposed.world(world)).disposition.allows() {
        return None;
    }
    let changes = condition::changes(world, ops, &supposed)?;
    let hold = admit::all_hold(&changes, &supposed.world(world));
    // What holds already changes nothing.
    let already = admit::all_hold(&changes, world);
    (hold && !already).then_some((changes, supposed))
}

/// Tries until the decision is an allow.
fn search(world: &World<'_>, judged: &Judged, way: Way) -> Option<Vec<Op>> {
    let mut ops = Vec::new();
    extend(world.policy, &mut ops, &judged.findings, way)?;
    for _ in 0..MAX_ROUNDS {
        let supposed = suppose::apply(world, &mut ops, way)?;
        let judged = judge(&supposed.world(world));
        if judged.disposition.allows() && world.budget.failure().is_none() {
            return Some(ops);
        }
        extend(world.policy, &mut ops, &judged.findings, way)?;
    }
    None
}

/// Adds what would change each finding that blocks; nothing when one cannot be changed.
fn extend(policy: &ActionPolicy, ops: &mut Vec<Op>, findings: &[Finding], way: Way) -> Option<()> {
    let mut blocking = findings.iter().filter(|finding| finding.blocks.is_some()).peekable();
    blocking.peek()?;
    for finding in blocking {
        let source = finding.source;
        if source.kind == Kind::Repeat {
            continue;
        }
        match ops.iter_mut().find(|op| op.source() == source) {
            None => ops.push(op(policy, finding, way)?),
            // The facts that were found answer it no longer beside the others.
            Some(op) if way.assumes => op.assume()?,
            Some(_) => return None,
        }
    }
    (ops.len() <= MAX_CHANGES).then_some(())
}

fn op(policy: &ActionPolicy, finding: &Finding, way: Way) -> Option<Op> {
    let source = finding.source;
    if finding.hard {
        return None;
    }
    let boundary = policy.boundaries.get(source.boundary)?;
    Some(match source.kind {
        Kind::When => Op::fact(source, way.applies),
        Kind::Deny => match boundary.deny.get(source.index)?.unless {
            Some(_) => Op::Approval { source },
            None => Op::fact(source, false),
        },
        Kind::Require => match boundary.require.get(source.index)?.demand {
            Demand::Fact(_) => Op::fact(source, true),
            Demand::Receipt(_) => Op::Receipt { source },
            Demand::Approval(_) => Op::Approval { source },
            Demand::ToolCall(_) => Op::Call { source },
        },
        Kind::Review | Kind::Class | Kind::Match | Kind::Warn | Kind::Unmatched | Kind::Repeat => return None,
    })
}

/// Leaves out what is not needed beside the others.
fn minimal(world: &World<'_>, mut ops: Vec<Op>, way: Way) -> Vec<Op> {
    let mut at = 0;
    // What is left of the budget is for the proof: a set that is not the smallest is better than none.
    while at < ops.len() && world.budget.taken() < MAX_SEARCH_STEPS / 2 {
        let mut fewer = ops.clone();
        fewer.remove(at);
        if allows(world, &mut fewer, way) {
            ops = fewer;
        } else {
            at += 1;
        }
    }
    ops
}

fn allows(world: &World<'_>, ops: &mut [Op], way: Way) -> bool {
    let allows =
        |supposed: Supposed<'_>| judge(&supposed.world(world)).disposition.allows() && world.budget.failure().is_none();
    !contradictory(world, ops) && suppose::apply(world, ops, way).is_some_and(allows)
}

/// Whether two ops exclude each other: what one rule needs another one must not deny.
fn contradictory(world: &World<'_>, ops: &[Op]) -> bool {
    let claims: Vec<_> = ops
        .iter()
        .filter_map(|op| match op {
            Op::Fact { source, truth, .. } => {
                let condition = suppose::condition_of(world.policy, *source)?;
                Some(Assumption::new(condition.predicate()?.tree(), *truth))
            }
            Op::Receipt { .. } | Op::Approval { .. } | Op::Call { .. } => None,
        })
        .collect();
    let mut pairs =
        claims.iter().enumerate().flat_map(|(at, one)| claims.iter().skip(at + 1).map(move |two| (one, two)));
    pairs.any(|(one, two)| one.contradicts(two))
}
