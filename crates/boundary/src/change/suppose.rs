//! Builds the world in which the changes have been made.

use proofmark_predicate::Truth;
use proofmark_receipt::{Json, Object, Sha256Digest, SignerId, Timestamp, Trust, Verdict};

use super::{condition_of, solve};
use crate::evidence::{ApprovalFact, Evidence, HUMAN_TIER, ReceiptFact, approvals};
use crate::judge::{Assumption, Kind, RuleRef, World};
use crate::policy::{ApprovalDemand, Demand, Policy, ReceiptDemand, SignerDemand, ToolCallDemand};
use crate::request::Request;

/// How often a predicate is gone through to find facts for it.
const MAX_PASSES: usize = 3;
/// How long a supposed approval counts, in milliseconds.
const APPROVED_FOR_MILLIS: i64 = 3_600_000;

/// One change to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// The rule's predicate is answered so, by facts or else by supposition.
    Fact { source: RuleRef, truth: bool, supposed: bool },
    /// The receipt the rule asks for is presented.
    Receipt { source: RuleRef },
    /// The approvals the rule asks for are presented.
    Approval { source: RuleRef },
    /// The call the rule asks for is made.
    Call { source: RuleRef },
}

impl Op {
    pub(super) fn source(&self) -> RuleRef {
        match self {
            Self::Fact { source, .. }
            | Self::Receipt { source }
            | Self::Approval { source }
            | Self::Call { source } => *source,
        }
    }

    /// Gives up finding facts; nothing when that is not what it does, or it has already.
    pub(super) fn suppose(&mut self) -> Option<()> {
        match self {
            Self::Fact { supposed, .. } if !*supposed => {
                *supposed = true;
                Some(())
            }
            Self::Fact { .. } | Self::Receipt { .. } | Self::Approval { .. } | Self::Call { .. } => None,
        }
    }
}

/// The world in which the changes have been made.
pub(super) struct Supposed {
    pub(super) request: Request,
    pub(super) evidence: Evidence,
    assumed: Vec<Assumption>,
}

impl Supposed {
    /// Whether no predicate's answer was merely supposed.
    pub(super) fn is_by_facts(&self) -> bool {
        self.assumed.is_empty()
    }

    pub(super) fn world<'a>(&'a self, world: &World<'a>) -> World<'a> {
        World { request: &self.request, evidence: &self.evidence, assumed: &self.assumed, ..*world }
    }
}

/// Makes the changes: facts first, since receipts and approvals are of the action they come to.
pub(super) fn apply(world: &World<'_>, ops: &mut [Op]) -> Option<Supposed> {
    let mut request = world.request.clone();
    let mut assumed = Vec::new();
    for op in ops.iter_mut() {
        match op {
            Op::Fact { source, truth, supposed } => {
                if !*supposed && !by_facts(world, *source, *truth, &mut request) {
                    *supposed = true;
                }
                if *supposed {
                    assumed.push(Assumption { rule: *source, truth: *truth });
                }
            }
            Op::Call { source } => request = call(&request, demand(world.policy, *source, tool_call)?)?,
            Op::Receipt { .. } | Op::Approval { .. } => {}
        }
    }
    let mut documents = world.evidence.documents().to_vec();
    for op in ops.iter() {
        match op {
            Op::Receipt { source } => {
                let receipt = receipt(world, &request, demand(world.policy, *source, receipt_demand)?, &documents)?;
                documents.push(receipt);
            }
            Op::Approval { source } => {
                approve(world, &request, approval_demand(world.policy, *source)?, &mut documents)?
            }
            Op::Fact { .. } | Op::Call { .. } => {}
        }
    }
    Some(Supposed { request, evidence: Evidence::new(documents), assumed })
}

/// Changes facts so that the rule's predicate is answered so, and asks it.
fn by_facts(world: &World<'_>, source: RuleRef, truth: bool, request: &mut Request) -> bool {
    let Some(condition) = condition_of(world.policy, source) else { return false };
    let wanted = if truth { Truth::True } else { Truth::False };
    let now = world.moment.now.as_str();
    if condition.predicate.truth(&request.value_at(now)) == wanted {
        return true;
    }
    let mut changed = request.facts().clone();
    // One part of a predicate may undo what another one needed, so it is gone through again.
    for _ in 0..MAX_PASSES {
        if solve::solve(condition.source(), truth, &mut changed).is_none() {
            return false;
        }
        let Ok(tried) = Request::from_facts(changed.clone()) else { return false };
        if condition.predicate.truth(&tried.value_at(now)) == wanted {
            *request = tried;
            return true;
        }
    }
    false
}

/// The request with the call the rule asks for at the end of its run.
fn call(request: &Request, demand: &ToolCallDemand) -> Option<Request> {
    let mut facts = request.facts().clone();
    let mut call = Object::new();
    call.insert("tool", demand.name.sample());
    call.insert("status", demand.status.unwrap_or("succeeded"));
    let mut calls = facts.get("calls").and_then(Json::as_array).unwrap_or_default().to_vec();
    if let Some(after) = &demand.after {
        let named = |call: &Json| {
            call.as_object().and_then(|call| call.get("tool")?.as_str()).is_some_and(|tool| after.matches(tool))
        };
        if !calls.iter().any(named) {
            let mut earlier = Object::new();
            earlier.insert("tool", after.sample());
            calls.push(Json::Object(earlier));
        }
    }
    calls.push(Json::Object(call));
    facts.insert("calls", calls);
    Request::from_facts(facts).ok()
}

fn receipt(
    world: &World<'_>,
    request: &Request,
    demand: &ReceiptDemand,
    documents: &[ReceiptFact],
) -> Option<ReceiptFact> {
    let now = &world.moment.now;
    let facts = request.value_at(now.as_str());
    let digest = |expression: &crate::policy::TextExpression| expression.text(&facts).ok()?.parse().ok();
    let specification = match &demand.specification {
        Some(expression) => digest(expression)?,
        None => Sha256Digest::of(b""),
    };
    let signer = match &demand.signer {
        SignerDemand::Trusted => None,
        SignerDemand::Keys(keys) => keys.first().copied(),
    };
    Some(ReceiptFact {
        verdict: demand.verdict,
        tier: *demand.tiers.first()?,
        output: digest(&demand.output)?,
        specification,
        signer,
        ..supposed(documents.len(), now)
    })
}

/// Adds as many approvals as are missing, each by another reviewer.
fn approve(
    world: &World<'_>,
    request: &Request,
    demand: &ApprovalDemand,
    documents: &mut Vec<ReceiptFact>,
) -> Option<()> {
    let (now, action) = (&world.moment.now, request.action_hash());
    let evidence = Evidence::new(documents.clone());
    let counted = approvals(world.policy, demand, action, &evidence, now).counted;
    let taken: Vec<_> = counted.iter().filter_map(|fact| fact.signer).collect();
    let mut free = reviewers(world.policy, demand).filter(|key| !demand.distinct || !taken.contains(key));
    for _ in counted.len()..demand.count {
        let fact = ReceiptFact {
            tier: HUMAN_TIER,
            output: action,
            signer: Some(free.next()?),
            approval: Some(ApprovalFact {
                role: demand.role.clone(),
                action_hash: action,
                expires_at: Timestamp::from_unix_millis(now.unix_millis().saturating_add(APPROVED_FOR_MILLIS)),
            }),
            ..supposed(documents.len(), now)
        };
        documents.push(fact);
    }
    Some(())
}

/// Keys that may speak for the role: the pinned ones, else as many as it takes.
fn reviewers<'a>(policy: &'a Policy, demand: &ApprovalDemand) -> Box<dyn Iterator<Item = SignerId> + 'a> {
    match policy.role_keys(&demand.role) {
        Some(keys) if demand.distinct => Box::new(keys.iter().copied()),
        Some(keys) => Box::new(keys.iter().copied().cycle()),
        None => Box::new((1..=u8::MAX).map(|number| SignerId::from_bytes([number; 32]))),
    }
}

/// A document that would count, but for what it is of.
fn supposed(number: usize, now: &Timestamp) -> ReceiptFact {
    ReceiptFact {
        receipt_id: format!("supposed-{number}"),
        content: Sha256Digest::of(format!("supposed document {number}").as_bytes()),
        verdict: Verdict::Pass,
        tier: 0,
        output: Sha256Digest::of(b""),
        specification: Sha256Digest::of(b""),
        verified_at: now.clone(),
        signer: None,
        valid: true,
        trust: Trust::Trusted,
        spent: false,
        approval: None,
    }
}

/// The demand of a requirement, of the wanted kind.
pub(super) fn demand<'a, T>(
    policy: &'a Policy,
    source: RuleRef,
    kind: impl Fn(&'a Demand) -> Option<&'a T>,
) -> Option<&'a T> {
    match source.kind {
        Kind::Require => kind(&policy.boundaries.get(source.boundary)?.require.get(source.index)?.demand),
        _ => None,
    }
}

pub(super) fn receipt_demand(demand: &Demand) -> Option<&ReceiptDemand> {
    if let Demand::Receipt(demand) = demand { Some(demand) } else { None }
}

pub(super) fn tool_call(demand: &Demand) -> Option<&ToolCallDemand> {
    if let Demand::ToolCall(demand) = demand { Some(demand) } else { None }
}

/// The approvals a requirement asks for, or a denial is lifted by.
pub(super) fn approval_demand(policy: &Policy, source: RuleRef) -> Option<&ApprovalDemand> {
    if source.kind == Kind::Deny {
        return policy.boundaries.get(source.boundary)?.deny.get(source.index)?.unless.as_ref();
    }
    demand(policy, source, |demand| if let Demand::Approval(demand) = demand { Some(demand) } else { None })
}
