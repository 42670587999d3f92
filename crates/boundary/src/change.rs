//! What would change a decision: found by trying, and proven by deciding again.

mod admit;
mod condition;
mod expression;
mod solve;
mod suppose;

use proofmark_receipt::{Json, Object};

pub use admit::{Admission, admits};
use suppose::{Op, Supposed};

use crate::evidence::Evidence;
use crate::judge::{Finding, Judged, Kind, RuleRef, World, judge};
use crate::policy::{Demand, Policy};
use crate::request::Request;

/// How often the decision is tried again: each round finds what the last one uncovered.
const MAX_ROUNDS: usize = 6;
/// The most changes one decision can need.
const MAX_CHANGES: usize = 64;

/// One thing that would have to be otherwise. All changes of a decision together make it an allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    kind: &'static str,
    words: String,
    predicate: String,
    supposed: bool,
}

impl Change {
    /// `fact`, `receipt`, `approval` or `tool_call`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The change in words.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }

    /// The change as a predicate over the facts of the retry, and `receipts`, `approvals` and `approvers`.
    #[must_use]
    pub fn predicate(&self) -> &str {
        &self.predicate
    }

    /// Whether its predicate was supposed to be answered otherwise, because no facts were found that answer it so.
    #[must_use]
    pub fn is_supposed(&self) -> bool {
        self.supposed
    }

    /// The entry of `resume_contract.conditions`.
    pub(crate) fn condition(&self) -> Json {
        let mut condition = Object::new();
        condition.insert("kind", self.kind);
        condition.insert("predicate", self.predicate.as_str());
        Json::Object(condition)
    }
}

/// A request and documents with which an action that was blocked is allowed.
///
/// The facts are examples: any others that fulfil the changes will do.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The request with the facts that would have to be there.
    pub request: Request,
    /// The documents, those that would have to be there among them.
    pub evidence: Evidence,
}

/// The smallest set of changes found that makes the decision an allow; empty when none was.
pub(crate) fn changes(world: &World<'_>, judged: &Judged) -> (Vec<Change>, Option<Witness>) {
    let found = [true, false].into_iter().find_map(|applies| search(world, judged, applies));
    let Some(found) = found else { return (Vec::new(), None) };
    let mut ops = minimal(world, found);
    let changes = ops.iter().filter_map(|op| condition::change(world, op)).collect();
    let witness = suppose::apply(world, &mut ops).filter(Supposed::is_by_facts);
    (changes, witness.map(|supposed| Witness { request: supposed.request, evidence: supposed.evidence }))
}

/// Tries until the decision is an allow. `applies` is what a `when` that is unknown is taken to be.
fn search(world: &World<'_>, judged: &Judged, applies: bool) -> Option<Vec<Op>> {
    let mut ops = Vec::new();
    extend(world.policy, &mut ops, &judged.findings, applies)?;
    for _ in 0..MAX_ROUNDS {
        let supposed = suppose::apply(world, &mut ops)?;
        let judged = judge(&supposed.world(world));
        if judged.ruling.allows() {
            return Some(ops);
        }
        extend(world.policy, &mut ops, &judged.findings, applies)?;
    }
    None
}

/// Adds what would mend each finding that blocks; nothing when one can not be mended.
fn extend(policy: &Policy, ops: &mut Vec<Op>, findings: &[Finding], applies: bool) -> Option<()> {
    let mut blocking = findings.iter().filter(|finding| finding.blocks.is_some()).peekable();
    blocking.peek()?;
    for finding in blocking {
        let source = finding.source;
        if source.kind == Kind::Repeat {
            continue;
        }
        match ops.iter_mut().find(|op| op.source() == source) {
            None => ops.push(op(policy, finding, applies)?),
            // The facts that were found answer it no longer beside the others.
            Some(op) => op.suppose()?,
        }
    }
    (ops.len() <= MAX_CHANGES).then_some(())
}

fn op(policy: &Policy, finding: &Finding, applies: bool) -> Option<Op> {
    let source = finding.source;
    if finding.hard {
        return None;
    }
    let boundary = policy.boundaries.get(source.boundary)?;
    Some(match source.kind {
        Kind::When => Op::Fact { source, truth: applies, supposed: false },
        Kind::Deny => match boundary.deny.get(source.index)?.unless {
            Some(_) => Op::Approval { source },
            None => Op::Fact { source, truth: false, supposed: false },
        },
        Kind::Require => match boundary.require.get(source.index)?.demand {
            Demand::Fact(_) => Op::Fact { source, truth: true, supposed: false },
            Demand::Receipt(_) => Op::Receipt { source },
            Demand::Approval(_) => Op::Approval { source },
            Demand::ToolCall(_) => Op::Call { source },
        },
        Kind::Class | Kind::Match | Kind::Warn | Kind::Unmatched | Kind::Repeat => return None,
    })
}

/// Leaves out what is not needed beside the others.
fn minimal(world: &World<'_>, mut ops: Vec<Op>) -> Vec<Op> {
    let mut at = 0;
    while at < ops.len() {
        let mut fewer = ops.clone();
        fewer.remove(at);
        if allows(world, &mut fewer) {
            ops = fewer;
        } else {
            at += 1;
        }
    }
    ops
}

fn allows(world: &World<'_>, ops: &mut [Op]) -> bool {
    let allows = |supposed: Supposed| judge(&supposed.world(world)).ruling.allows();
    suppose::apply(world, ops).is_some_and(allows)
}

/// The condition of the rule, where it has one.
fn condition_of(policy: &Policy, source: RuleRef) -> Option<&crate::policy::Condition> {
    let boundary = policy.boundaries.get(source.boundary)?;
    match source.kind {
        Kind::When => boundary.when.as_ref(),
        Kind::Deny => boundary.deny.get(source.index).map(|rule| &rule.when),
        Kind::Require => match &boundary.require.get(source.index)?.demand {
            Demand::Fact(condition) => Some(condition),
            Demand::Receipt(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
        },
        Kind::Class | Kind::Match | Kind::Warn | Kind::Unmatched | Kind::Repeat => None,
    }
}
