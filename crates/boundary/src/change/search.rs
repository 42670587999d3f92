//! The search for changes that make a blocked decision an allow.

use super::condition;
use super::guards;
use super::hypothesis::{self, Hypothesis, Op, Strategy};
use super::memo::Memo;
use super::{Change, MAX_CHANGES, MAX_SEARCH_STEPS, Witness};
use crate::assumption::Assumption;
use crate::conditions;
use crate::input::Input;
use crate::judge::{JudgedPolicy, RuleFinding, judge_blocking};
use crate::policy::{ActionPolicy, Demand};
use crate::rule_ref::RuleKind;

/// The most rounds: each finds what blocks once the changes of the last one are made.
const MAX_ROUNDS: usize = 6;
/// In how many ways facts for a predicate are guessed: where another rule excludes one guess, the next may work.
const VARIANTS: usize = 4;

/// A set of changes, with its proof.
pub(super) struct Found {
    pub(super) changes: Vec<Change>,
    pub(super) witness: Option<Witness>,
}

/// Changes with a witness: facts and documents with which they hold and the action is allowed.
pub(super) fn proven(input: &Input<'_>, judged: &JudgedPolicy, memo: &Memo) -> Option<Found> {
    let conditional = input.policy.boundaries.iter().any(|boundary| boundary.when.is_some());
    let applies: &[bool] = if conditional { &[true, false] } else { &[true] };
    // Lazily, so that later strategies take steps of the shared budget only if the earlier ones failed.
    let strategies = (0..VARIANTS).flat_map(|variant| {
        applies.iter().map(move |applies| Strategy { applies: *applies, variant, assumes: false, memo })
    });
    let (ops, strategy) =
        strategies.into_iter().find_map(|strategy| Some((search(input, judged, strategy)?, strategy)))?;
    let mut ops = minimal(input, ops, strategy);
    let (mut changes, mut hypothesis) = proof(input, &ops, strategy)?;
    let guards = guards::guards(input, &ops, &hypothesis)?;
    // Guards are changes of their own, so the set is proven again with them.
    if !guards.is_empty() {
        ops.extend(guards);
        (changes, hypothesis) = proof(input, &ops, strategy)?;
    }
    let witness = Witness { request: hypothesis.request, evidence: hypothesis.evidence };
    Some(Found { changes, witness: Some(witness) })
}

/// Changes of which some are assumed to be possible, because no facts were found that satisfy their predicates.
pub(super) fn assumed(input: &Input<'_>, judged: &JudgedPolicy, memo: &Memo) -> Option<Found> {
    let strategies = [true, false].map(|applies| Strategy { applies, variant: 0, assumes: true, memo });
    let (ops, strategy) =
        strategies.into_iter().find_map(|strategy| Some((search(input, judged, strategy)?, strategy)))?;
    let mut ops = minimal(input, ops, strategy);
    // Which operations are assumed is known only once they have been applied.
    let hypothesis = hypothesis::apply(input, &mut ops, strategy)?;
    // Without any assumption `proven` would have found them, so they are not sound.
    let assumes = !hypothesis.assumed.is_empty() && !contradictory(input, &ops);
    let all = assumes.then(|| condition::changes(input, &ops, &hypothesis))??;
    Some(Found { changes: all, witness: None })
}

/// The changes of these operations and the hypothesis that proves them: all hold there, the action is allowed there, and
/// they do not all hold yet.
fn proof(input: &Input<'_>, ops: &[Op], strategy: Strategy<'_>) -> Option<(Vec<Change>, Hypothesis<'static>)> {
    let hypothesis = hypothesis::apply(input, &mut ops.to_vec(), strategy)?;
    // An assumption is not a fact, so a hypothesis with one proves nothing.
    let hypothesis = hypothesis.by_facts()?;
    if !judge_blocking(&hypothesis.input(input)).disposition.allows() {
        return None;
    }
    let changes = condition::changes(input, ops, &hypothesis)?;
    let facts = conditions::facts(input.policy, &hypothesis.request, &hypothesis.evidence, input.moment);
    let statements: Vec<_> = ops.iter().filter_map(|op| op.statement(input.policy)).collect();
    let hold = strategy.memo.all_hold(&changes, &statements, input, &facts);
    // Conditions that hold already would admit a retry at once, for the same decision.
    let already = strategy.memo.all_hold(&changes, &statements, input, strategy.memo.facts(input));
    (hold && !already).then_some((changes, hypothesis))
}

/// Adds operations round by round until the hypothesis is allowed.
fn search(input: &Input<'_>, judged: &JudgedPolicy, strategy: Strategy<'_>) -> Option<Vec<Op>> {
    let mut ops = Vec::new();
    extend(input.policy, &mut ops, &judged.findings, strategy)?;
    for _ in 0..MAX_ROUNDS {
        let hypothesis = hypothesis::apply(input, &mut ops, strategy)?;
        let judged = judge_blocking(&hypothesis.input(input));
        // Past the budget a condition is unknown for want of steps, so what was judged then proves nothing.
        if judged.disposition.allows() && input.budget.failure().is_none() {
            return Some(ops);
        }
        extend(input.policy, &mut ops, &judged.findings, strategy)?;
    }
    None
}

/// Adds an operation for each finding that blocks; `None` when one cannot be lifted.
fn extend(policy: &ActionPolicy, ops: &mut Vec<Op>, findings: &[RuleFinding], strategy: Strategy<'_>) -> Option<()> {
    let mut blocking = findings.iter().filter(|finding| finding.blocks.is_some()).peekable();
    // Nothing blocks and still it is not proven: the budget is used up.
    blocking.peek()?;
    for finding in blocking {
        let source = finding.source;
        // It blocks only beside another rule, and goes when that one is lifted.
        if source.kind == RuleKind::Repeat {
            continue;
        }
        match ops.iter_mut().find(|op| op.source() == source) {
            None => ops.push(op(policy, finding, strategy)?),
            // The facts that were guessed for it do not survive the other operations.
            Some(op) if strategy.assumes => op.assume()?,
            // The operation was carried out and the rule blocks again: this strategy has nothing else to try.
            Some(_) => return None,
        }
    }
    (ops.len() <= MAX_CHANGES).then_some(())
}

fn op(policy: &ActionPolicy, finding: &RuleFinding, strategy: Strategy<'_>) -> Option<Op> {
    let source = finding.source;
    // An error needs another policy or another request; no facts are guessed for it.
    if finding.hard {
        return None;
    }
    let boundary = policy.boundaries.get(source.boundary)?;
    Some(match source.kind {
        RuleKind::When => Op::fact(source, strategy.applies),
        RuleKind::Deny => match boundary.deny.get(source.index)?.unless {
            Some(_) => Op::Approval { source },
            None => Op::fact(source, false),
        },
        RuleKind::Require => match boundary.require.get(source.index)?.demand {
            Demand::Fact(_) => Op::fact(source, true),
            Demand::Receipt(_) => Op::Receipt { source },
            Demand::Approval(_) => Op::Approval { source },
            Demand::ToolCall(_) => Op::Call { source },
        },
        RuleKind::Review
        | RuleKind::Class
        | RuleKind::Definition
        | RuleKind::Match
        | RuleKind::Warn
        | RuleKind::Unmatched
        | RuleKind::Repeat => return None,
    })
}

/// Leaves out operations that are not needed beside the others. In one pass, so the set need not be the smallest.
fn minimal(input: &Input<'_>, mut ops: Vec<Op>, strategy: Strategy<'_>) -> Vec<Op> {
    let mut at = 0;
    // The other half of the budget is for the proof: a set with too much in it is better than none.
    while at < ops.len() && input.budget.taken() < MAX_SEARCH_STEPS / 2 {
        let mut fewer = ops.clone();
        fewer.remove(at);
        // `at` stays where it is: the next operation has moved to this place.
        if allows(input, &mut fewer, strategy) {
            ops = fewer;
        } else {
            at += 1;
        }
    }
    ops
}

fn allows(input: &Input<'_>, ops: &mut [Op], strategy: Strategy<'_>) -> bool {
    !contradictory(input, ops)
        && hypothesis::apply(input, ops, strategy).is_some_and(|hypothesis| {
            judge_blocking(&hypothesis.input(input)).disposition.allows() && input.budget.failure().is_none()
        })
}

/// Whether two operations exclude each other: one rule needs what another one forbids.
fn contradictory(input: &Input<'_>, ops: &[Op]) -> bool {
    let claims: Vec<_> = ops
        .iter()
        .filter_map(|op| match op {
            Op::Fact { source, truth, .. } => {
                let condition = hypothesis::condition_of(input.policy, *source)?;
                Some(Assumption::new(condition.predicate()?.tree(), *truth))
            }
            Op::Receipt { .. } | Op::Approval { .. } | Op::Call { .. } => None,
        })
        .collect();
    let mut pairs =
        claims.iter().enumerate().flat_map(|(at, one)| claims.iter().skip(at + 1).map(move |two| (one, two)));
    pairs.any(|(one, two)| one.contradicts(two))
}
