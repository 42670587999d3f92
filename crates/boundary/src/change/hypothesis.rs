//! Hypotheses: copies of request and evidence in which changes have been made.
//!
//! Facts are changed first, calls with them, and documents last: receipts and approvals are over the action as it is
//! after the changes.

use proofmark_evidence::{
    Accepts, ApprovalDemand, Condition, EnvironmentDemand, Evidence, JudgmentFact, LoggedDemand, Person, ReceiptFact,
    SignerDemand, Statement, TestsFromDemand, TextExpression,
};
use proofmark_predicate::Predicate;
use proofmark_receipt::{Json, Object, Sha256Digest, Timestamp};
use proofmark_session::CallStatus;

use super::memo::{Memo, Task};
use super::solve::solve;
use crate::assumption::Assumption;
use crate::evidence::CallMatch;
use crate::input::Input;
use crate::policy::{ActionPolicy, Demand, ReceiptRule, ToolCallDemand};
use crate::request::Request;
use crate::rule_ref::{RuleKind, RuleRef};
use crate::size::STEPS_PER_VALUE;

/// How often all predicates are satisfied again, until none undoes another.
const MAX_PASSES: usize = 3;
/// How long an approval of a hypothesis counts, in milliseconds.
const APPROVED_FOR_MILLIS: i64 = 3_600_000;
/// The most people who are made up for one rule.
const MAX_SUPPOSED: usize = 255;

/// How a search chooses, and what it remembers.
#[derive(Clone, Copy)]
pub(super) struct Strategy<'m> {
    pub(super) applies: bool,
    /// Which of the guesses for a predicate is tried first.
    pub(super) variant: usize,
    /// Whether a predicate is assumed to hold where no facts are found for it.
    pub(super) assumes: bool,
    pub(super) memo: &'m Memo,
}

/// One operation on a hypothesis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Gives the rule's predicate this truth, by facts or by assumption.
    Fact {
        source: RuleRef,
        truth: bool,
        assumed: bool,
    },
    Receipt {
        source: RuleRef,
    },
    Approval {
        source: RuleRef,
    },
    Call {
        source: RuleRef,
    },
}

impl Op {
    /// Gives the rule's predicate this truth by facts.
    pub(super) fn fact(source: RuleRef, truth: bool) -> Self {
        Self::Fact { source, truth, assumed: false }
    }

    pub(super) fn source(&self) -> RuleRef {
        match self {
            Self::Fact { source, .. }
            | Self::Receipt { source }
            | Self::Approval { source }
            | Self::Call { source } => *source,
        }
    }

    /// That the rule's predicate has its truth.
    pub(super) fn statement<'p>(&self, policy: &'p ActionPolicy) -> Option<&'p Statement> {
        match self {
            Self::Fact { source, truth, .. } => Some(condition_of(policy, *source)?.statement(*truth)),
            Self::Receipt { .. } | Self::Approval { .. } | Self::Call { .. } => None,
        }
    }

    /// Stops looking for facts; `None` when it is about something else, or assumes already.
    pub(super) fn assume(&mut self) -> Option<()> {
        match self {
            Self::Fact { assumed, .. } if !*assumed => {
                *assumed = true;
                Some(())
            }
            Self::Fact { .. } | Self::Receipt { .. } | Self::Approval { .. } | Self::Call { .. } => None,
        }
    }
}

/// The request and evidence in which changes have been made.
pub(super) struct Hypothesis<'p> {
    pub(super) request: Request,
    pub(super) evidence: Evidence,
    pub(super) assumed: Vec<Assumption<'p>>,
}

impl Hypothesis<'_> {
    /// The same hypothesis, if nothing is assumed.
    pub(super) fn by_facts(self) -> Option<Hypothesis<'static>> {
        let Self { request, evidence, assumed } = self;
        assumed.is_empty().then_some(Hypothesis { request, evidence, assumed: Vec::new() })
    }

    pub(super) fn input<'a>(&'a self, input: &Input<'a>) -> Input<'a> {
        Input { request: &self.request, evidence: &self.evidence, assumed: &self.assumed, ..*input }
    }
}

/// Carries out the operations; `None` when one cannot be carried out, or the budget is used up.
pub(super) fn apply<'p>(input: &Input<'p>, ops: &mut [Op], strategy: Strategy<'_>) -> Option<Hypothesis<'p>> {
    let request = with_facts(input, ops, strategy)?;
    let mut assumed = Vec::new();
    for op in ops.iter() {
        if let Op::Fact { source, truth, assumed: true } = op {
            assumed.push(Assumption::new(condition_of(input.policy, *source)?.predicate()?.tree(), *truth));
        }
    }
    // Documents come after the facts: the digests and the subject that they are over depend on the changed facts.
    let mut documents = input.evidence.documents().to_vec();
    for op in ops.iter() {
        match op {
            Op::Receipt { source } => {
                let receipt = receipt(input, &request, demand(input.policy, *source, receipt_demand)?, &documents)?;
                documents.push(receipt);
            }
            Op::Approval { source } => {
                approve(input, &request, approval_demand(input.policy, *source)?, &mut documents)?
            }
            Op::Fact { .. } | Op::Call { .. } => {}
        }
    }
    Some(Hypothesis { request, evidence: Evidence::new(documents), assumed })
}

/// The request with the facts and calls of the operations. One predicate may undo what another one needed, so all are
/// satisfied again, each time with another guess.
fn with_facts(input: &Input<'_>, ops: &mut [Op], strategy: Strategy<'_>) -> Option<Request> {
    let mut request = input.request.clone();
    for pass in 0..MAX_PASSES {
        for op in ops.iter_mut() {
            match op {
                Op::Fact { source, truth, assumed: assumed @ false } => {
                    let task = Task { source: *source, truth: *truth, variant: strategy.variant + pass };
                    let made = strategy.memo.solution(&request, task, input.budget, || satisfy(input, &request, task));
                    match made? {
                        Some(made) => request = made,
                        None => {
                            strategy.assumes.then_some(())?;
                            *assumed = true;
                        }
                    }
                }
                Op::Call { source } => call(&mut request, demand(input.policy, *source, tool_call)?)?,
                Op::Fact { assumed: true, .. } | Op::Receipt { .. } | Op::Approval { .. } => {}
            }
        }
        if ops.iter().all(|op| is_satisfied(input, &request, op)) {
            return Some(request);
        }
    }
    strategy.assumes.then_some(())?;
    for op in ops.iter_mut() {
        if !is_satisfied(input, &request, op) {
            op.assume()?;
        }
    }
    Some(request)
}

/// Whether an operation about facts or calls still holds.
fn is_satisfied(input: &Input<'_>, request: &Request, op: &Op) -> bool {
    match op {
        Op::Fact { source, truth, assumed: false } => {
            condition_of(input.policy, *source).is_some_and(|condition| evaluates_to(input, request, condition, *truth))
        }
        Op::Call { source } => demand(input.policy, *source, tool_call)
            .is_some_and(|demand| matches!(crate::evidence::call(demand, request), CallMatch::Met(_))),
        Op::Fact { assumed: true, .. } | Op::Receipt { .. } | Op::Approval { .. } => true,
    }
}

/// Whether a condition has this truth for the request.
pub(super) fn evaluates_to(input: &Input<'_>, request: &Request, condition: &Condition, truth: bool) -> bool {
    condition.predicate().is_some_and(|predicate| holds(input, request, predicate, truth))
}

fn holds(input: &Input<'_>, request: &Request, predicate: &Predicate, truth: bool) -> bool {
    predicate.has_truth(truth, &request.value_at(input.moment.now.as_str()), input.budget)
}

/// The request with facts changed until the predicate has the truth. The outer option is `None` once the budget is used up,
/// the inner one when no facts are found.
fn satisfy(input: &Input<'_>, request: &Request, task: Task) -> Option<Option<Request>> {
    let predicate = condition_of(input.policy, task.source)?.predicate()?;
    if holds(input, request, predicate, task.truth) {
        return Some(Some(request.clone()));
    }
    let (mut changed, mut size) = (request.facts().clone(), request.values());
    // One part of a predicate may undo what another part needed.
    for _ in 0..MAX_PASSES {
        input.budget.charge(size * STEPS_PER_VALUE).ok()?;
        if solve(predicate.tree(), task.truth, &mut changed, task.variant).is_none() {
            return Some(None);
        }
        // Refused are numbers that predicates cannot hold exactly.
        let Some(tried) = request.changed(changed) else { return Some(None) };
        if holds(input, &tried, predicate, task.truth) {
            return Some(Some(tried));
        }
        size = tried.values();
        changed = tried.into_facts()?;
    }
    Some(None)
}

/// Appends the call that the rule asks for, unless the run has one. A successful call at the end meets `after`; it can
/// break another rule's `before`, which the next round then finds.
fn call(request: &mut Request, demand: &ToolCallDemand) -> Option<()> {
    if let CallMatch::Met(_) = crate::evidence::call(demand, request) {
        return Some(());
    }
    let mut facts = request.facts().clone();
    let mut call = Object::new();
    call.insert("tool", demand.name.sample());
    demand.from.samples().for_each(|(name, sample)| drop(call.insert(name, sample)));
    if let (false, Some(process)) = (demand.earlier, request.text("agent", "process")) {
        call.insert("process", process);
    }
    if let Some(same) = &demand.args {
        let mut args = Object::new();
        for one in same {
            args.insert(one.argument.as_str(), one.wanted(request.facts())?.clone());
        }
        call.insert("args", args);
    }
    call.insert("status", demand.status.unwrap_or(CallStatus::Succeeded).as_str());
    let mut calls = facts.get("calls").and_then(Json::as_array).unwrap_or_default().to_vec();
    // `after` is met only if there is such a call, so the hypothesis needs one too.
    if let Some(after) = &demand.after {
        let mut tools = calls.iter().filter_map(|call| call.as_object()?.get("tool")?.as_str());
        if !tools.any(|tool| after.matches(tool)) {
            let mut earlier = Object::new();
            earlier.insert("tool", after.sample());
            calls.push(Json::Object(earlier));
        }
    }
    calls.push(Json::Object(call));
    facts.insert("calls", calls);
    *request = request.changed(facts)?;
    Some(())
}

fn receipt(input: &Input<'_>, request: &Request, rule: &ReceiptRule, documents: &[ReceiptFact]) -> Option<ReceiptFact> {
    let now = &input.moment.now;
    let facts = request.value_at(now.as_str());
    let digest = |expression: &TextExpression| expression.text(&facts, input.budget).ok()?.parse().ok();
    let specification = match &rule.specification {
        Some(expression) => digest(expression)?,
        None => Sha256Digest::of(b""),
    };
    let signer = match &rule.demand.signer {
        SignerDemand::Trusted | SignerDemand::Any => match &rule.demand.judgment {
            Some(demand) => Some(demand.keys(&input.policy.roles).next()?),
            None => None,
        },
        SignerDemand::Keys(keys) => keys.first().copied(),
    };
    Some(ReceiptFact {
        kind: Some(rule.demand.kind),
        comparison: Some(rule.demand.comparison),
        strength: rule.demand.strength,
        counter_run: rule.demand.counter_run,
        environment: rule.demand.environment.map(|environment| match environment {
            EnvironmentDemand::Digest(digest) => digest,
            EnvironmentDemand::Lock => Sha256Digest::of(b""),
        }),
        environment_from: rule.demand.environment.map(|_| "lock".to_owned()),
        verdict: rule.demand.verdict,
        tier: *rule.demand.tiers.first()?,
        output: digest(&rule.output)?,
        tests: rule.demand.tests,
        tests_from: rule.demand.tests_from.as_ref().map(|from| match from {
            TestsFromDemand::Owner => Sha256Digest::of(b"").to_string(),
            TestsFromDemand::Commit(commit) => commit.clone(),
        }),
        suite: match rule.demand.accepts {
            Accepts::Suite(suite) => Some(suite),
            Accepts::Specification | Accepts::AnySuite => None,
        },
        specification,
        signer,
        votes: rule.demand.quorum.as_ref().map(|demand| demand.met(now)),
        judgment: rule
            .demand
            .judgment
            .as_ref()
            .map(|demand| JudgmentFact { role: demand.role.clone(), expires_at: None }),
        logged: rule.demand.logged.as_ref().and_then(LoggedDemand::met),
        ..ReceiptFact::blank(&name(documents.len()), now)
    })
}

/// Adds as many approvals as are missing, each by a reviewer who may approve and has not yet.
fn approve(
    input: &Input<'_>,
    request: &Request,
    demand: &ApprovalDemand,
    documents: &mut Vec<ReceiptFact>,
) -> Option<()> {
    let (now, subject) = (&input.moment.now, request.subject());
    let counted = |documents: &[ReceiptFact]| {
        let evidence = Evidence::new(documents.to_vec());
        demand.approvals(&input.policy.roles, &subject, &request.occasion(), &evidence, now).counted.len()
    };
    let mut there = counted(documents);
    for person in reviewers(input.policy, demand) {
        if there >= demand.count {
            break;
        }
        input.budget.charge(documents.len() as u64 * STEPS_PER_VALUE).ok()?;
        let expires = now.unix_millis().saturating_add(APPROVED_FOR_MILLIS);
        documents.push(ReceiptFact::blank_approval(
            &name(documents.len()),
            &person,
            &demand.role,
            &subject,
            now,
            Timestamp::from_unix_millis(expires),
        ));
        match counted(documents) {
            more if more > there => there = more,
            // Someone who approved before adds nothing, and the witness shows only what counts.
            _ => drop(documents.pop()),
        }
    }
    (there >= demand.count).then_some(())
}

/// Who may approve in the role: those whom the policy lists, else as many supposed ones as it takes, to whom a server would
/// give the role.
fn reviewers<'a>(policy: &'a ActionPolicy, demand: &'a ApprovalDemand) -> Box<dyn Iterator<Item = Person> + 'a> {
    let members = policy.roles.members(&demand.role);
    let people = members.clone().filter_map(|member| member.people.first().cloned());
    match members.count() {
        0 => Box::new((0..MAX_SUPPOSED).map(Person::supposed)),
        _ if demand.distinct => Box::new(people),
        // One person may approve repeatedly. `take` ends the cycle where each of them has approved as often as needed.
        count => Box::new(people.cycle().take(count * demand.count)),
    }
}

/// The id of a made-up document.
fn name(number: usize) -> String {
    format!("supposed-{number}")
}

/// The condition of the rule, where it has one.
pub(super) fn condition_of(policy: &ActionPolicy, source: RuleRef) -> Option<&Condition> {
    let boundary = policy.boundaries.get(source.boundary)?;
    match source.kind {
        RuleKind::When => boundary.when.as_ref(),
        RuleKind::Deny => boundary.deny.get(source.index).map(|rule| &rule.when),
        RuleKind::Require => match &boundary.require.get(source.index)?.demand {
            Demand::Fact(condition) => Some(condition),
            Demand::Receipt(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
        },
        RuleKind::Review
        | RuleKind::Class
        | RuleKind::Definition
        | RuleKind::Match
        | RuleKind::Warn
        | RuleKind::Unmatched
        | RuleKind::Repeat => None,
    }
}

/// The demand of a requirement, if it is of this kind.
pub(super) fn demand<'a, T>(
    policy: &'a ActionPolicy,
    source: RuleRef,
    kind: impl Fn(&'a Demand) -> Option<&'a T>,
) -> Option<&'a T> {
    match source.kind {
        RuleKind::Require => kind(&policy.boundaries.get(source.boundary)?.require.get(source.index)?.demand),
        _ => None,
    }
}

pub(super) fn receipt_demand(demand: &Demand) -> Option<&ReceiptRule> {
    if let Demand::Receipt(rule) = demand { Some(rule) } else { None }
}

pub(super) fn tool_call(demand: &Demand) -> Option<&ToolCallDemand> {
    if let Demand::ToolCall(demand) = demand { Some(demand) } else { None }
}

/// The approvals that a requirement asks for, or that lift a denial.
pub(super) fn approval_demand(policy: &ActionPolicy, source: RuleRef) -> Option<&ApprovalDemand> {
    if source.kind == RuleKind::Deny {
        return policy.boundaries.get(source.boundary)?.deny.get(source.index)?.unless.as_ref();
    }
    demand(policy, source, |demand| if let Demand::Approval(demand) = demand { Some(demand) } else { None })
}
