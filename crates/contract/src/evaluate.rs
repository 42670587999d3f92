//! Judges an attempt by its contract.
//!
//! Rules are judged in a fixed order: the result block, rules about the payload, about recorded calls, about receipts, and about
//! approvals, then those that no workflow lists: no other mutation (`noOtherMutations`), no call without the decision that it needed
//! (`undecidedCalls`) and evidence of the demanded status (`ground`). A rule that fails hides none after it, so that one receipt names everything that is missing.
//!
//! A rule is met, unmet or unknown. Unknown means that facts are absent, of the wrong type, too long to be held exactly,
//! or that the budget of steps is used up. It counts as not met: unknown never accepts.
//!
//! Calls prove something only when it is known that they succeeded. A call whose end is not known counts for nothing
//! that asks for a call, and against everything that forbids one (see `calls`).
//!
//! A person is asked only for an attempt that holds without them. So rules about approvals are judged twice: here as not met, and by
//! [`Judgment::answered`] once everything else is met and it is known who has approved.
//!
//! Receipts that rules use up are assigned to the rules together, since a receipt that two rules accept can serve only
//! one of them (see `receipts`).

mod approvals;
mod calls;
mod payload;
mod receipts;

use std::collections::BTreeSet;

use proofmark_evidence::{EvidenceStatus, Sought, Spend, facts};
use proofmark_predicate::{Budget, Failure, StoppedError, Value};

use crate::contract::Contract;
use crate::evidence::{AttemptEvidence, Facts, MissingFact};
use crate::response::{Payload, ResponseError};
use crate::workflow::OnMissing;
use calls::MatchedCalls;

pub use approvals::{ApprovalAnswer, ApprovalFinding};

/// What an attempt comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgment {
    /// Every rule: those of the contract in its order, then those that always hold.
    pub rules: Vec<RuleResult>,
    pub outcome: AttemptOutcome,
    /// The receipts that `single_use` rules rest on. They are spent if the step is accepted.
    pub spends: Vec<Spend>,
}

/// Whether an attempt is accepted, and whether another one may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    Accept,
    /// Not all rules are met, and the contract only warns.
    AcceptWithWarnings,
    RejectAndRetry,
    RejectAndAbort,
    /// All rules are met but those about approvals: a person has to decide. No attempt is used up.
    AwaitApproval,
}

/// What one rule comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleResult {
    pub id: String,
    pub kind: RuleKind,
    pub outcome: RuleOutcome,
    /// What its evidence is worth.
    pub status: EvidenceStatus,
    /// What it asks for, in a few words.
    pub rule: String,
    /// Why it is not met, or what it rests on.
    pub message: String,
    pub missing: Vec<MissingFact>,
    /// The positions of the calls it rests on, or that break it.
    pub calls: Vec<usize>,
    /// Whether it accepts a receipt of any suite.
    pub any_suite: bool,
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// The response has exactly one result block.
    Result,
    /// A value of the payload.
    Evidence,
    ToolCall,
    Receipt,
    /// A person approves the attempt.
    Approval,
    NoOtherMutations,
    /// No call was made without the decision that it needed. Judged where the trace says that there was one.
    UndecidedCalls,
    /// At least one rule rests on evidence that is worth enough.
    Ground,
}

/// Whether a rule is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleOutcome {
    Met,
    Unmet,
    /// It depends on facts that are missing. It counts as not met.
    Unknown,
}

/// Steps that all rules may take together for one attempt; see [`proofmark_predicate::limits::MAX_STEPS`] for what a
/// step is. Past it every rule is unknown.
pub const MAX_EVALUATION_STEPS: u64 = 20_000_000;

/// Judges an attempt. It always gives a judgment: what cannot be decided is unknown, and unknown accepts nothing.
pub fn evaluate(contract: &Contract, evidence: &AttemptEvidence<'_>) -> Judgment {
    evaluate_within(contract, evidence, &Budget::new(MAX_EVALUATION_STEPS))
}

/// As [`evaluate`], until `stop` returns true. It is called every few thousand steps.
///
/// # Errors
/// [`StoppedError`] when it was stopped: then nothing was judged.
pub fn evaluate_until(
    contract: &Contract,
    evidence: &AttemptEvidence<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Judgment, StoppedError> {
    let budget = Budget::stopping(MAX_EVALUATION_STEPS, stop);
    let judgment = evaluate_within(contract, evidence, &budget);
    // Stopping makes every rule unknown. Returned as a judgment, that would use up an attempt.
    budget.finish().map(|()| judgment)
}

fn evaluate_within(contract: &Contract, evidence: &AttemptEvidence<'_>, budget: &Budget<'_>) -> Judgment {
    let facts = Facts::of(evidence, budget);
    let verification = &contract.verification;
    let mut rules = vec![payload::result_block(evidence.payload)];
    rules.extend(verification.evidence.iter().map(|rule| payload::judge(rule, &facts)));
    let matched = MatchedCalls::find(verification, evidence.trace, &facts);
    rules.extend(matched.judge_rules(verification));
    let (receipts, mut spends) =
        receipts::judge_all((&verification.receipts, &contract.roles), evidence.receipts, &facts, evidence.now);
    rules.extend(receipts);
    rules.extend(verification.approvals.iter().map(approvals::not_asked));
    if contract.no_other_mutations {
        rules.push(matched.judge_other_mutations(verification, &contract.tools));
    }
    rules.extend(evidence.trace.and_then(calls::judge_undecided));
    if let Some(failure) = budget.failure() {
        // A search that ended early found "none" where it did not look, and a rule such as `max: 0` would be met by
        // that. So no rule is trusted, whichever of them used the budget up.
        rules.iter_mut().for_each(|rule| rule.give_up(failure));
        spends.clear();
    }
    if let Some(ground) = ground(contract, &rules) {
        rules.push(ground);
    }
    let outcome = outcome(contract, &rules);
    Judgment { outcome, spends, rules }
}

/// The digests (`hashes.output`) a receipt must be over to count for this step, so that a store looks up no others. A
/// rule that binds no bytes counts presented receipts only.
pub fn outputs_wanted(contract: &Contract, payload: &Result<Payload, ResponseError>) -> BTreeSet<String> {
    of_payload(payload, |facts| receipts::outputs_wanted(&contract.verification.receipts, facts))
}

/// What the receipts over those digests are looked up for.
pub fn sought(contract: &Contract, payload: &Result<Payload, ResponseError>) -> Sought {
    of_payload(payload, |facts| receipts::sought(&contract.verification.receipts, &contract.roles, facts))
}

fn of_payload<T>(payload: &Result<Payload, ResponseError>, ask: impl FnOnce(&Facts<'_>) -> T) -> T {
    let payload = payload.as_ref().ok().and_then(|payload| facts::value(&payload.json).ok());
    let budget = Budget::new(MAX_EVALUATION_STEPS);
    // Bindings read the payload only. Judging follows with a budget of its own.
    ask(&Facts { all: Value::Null, payload, budget: &budget })
}

impl Judgment {
    /// The rules that are not met.
    pub fn failed(&self) -> impl Iterator<Item = &RuleResult> {
        self.rules.iter().filter(|rule| rule.outcome != RuleOutcome::Met)
    }
}

impl RuleResult {
    /// Makes it unknown because a limit was reached.
    fn give_up(&mut self, failure: Failure) {
        self.outcome = RuleOutcome::Unknown;
        self.status = EvidenceStatus::Absent;
        self.message = format!("cannot be judged: {failure}");
        self.missing = vec![MissingFact::new("evaluation".to_owned(), &failure.to_string())];
        self.calls = Vec::new();
    }

    /// Whether the rule is met by evidence that is worth at least `status`. `noOtherMutations` is met by calls that are
    /// not there, which proves nothing.
    pub fn rests_on(&self, status: EvidenceStatus) -> bool {
        self.outcome == RuleOutcome::Met && self.status >= status && self.kind != RuleKind::NoOtherMutations
    }
}

/// The rule that at least one other rule rests on evidence of the status the contract demands, if it demands one.
fn ground(contract: &Contract, rules: &[RuleResult]) -> Option<RuleResult> {
    let demanded = contract.min_evidence;
    if demanded == EvidenceStatus::Absent {
        return None;
    }
    // Not the result block itself, which every agent can write and which states nothing.
    let best = rules
        .iter()
        .filter(|rule| rule.kind != RuleKind::Result && rule.rests_on(demanded))
        .max_by_key(|rule| rule.status);
    Some(RuleResult {
        id: "ground".to_owned(),
        kind: RuleKind::Ground,
        outcome: if best.is_some() { RuleOutcome::Met } else { RuleOutcome::Unmet },
        status: best.map_or(EvidenceStatus::Absent, |rule| rule.status),
        rule: format!("one met rule rests on {} evidence", demanded.as_str()),
        message: match best {
            Some(rule) => format!("rests on `{}`", rule.id),
            None => format!("no rule is met by {} evidence; the agent's own word is not enough", demanded.as_str()),
        },
        missing: Vec::new(),
        calls: Vec::new(),
        any_suite: false,
    })
}

fn outcome(contract: &Contract, rules: &[RuleResult]) -> AttemptOutcome {
    let mut unmet = rules.iter().filter(|rule| rule.outcome != RuleOutcome::Met).peekable();
    match (unmet.peek().is_some(), contract.verification.on_missing) {
        (false, _) => AttemptOutcome::Accept,
        (true, _) if unmet.all(|rule| rule.kind == RuleKind::Approval) => AttemptOutcome::AwaitApproval,
        // `Contract::of` refuses `warn` where the class or the policy forbids it.
        (true, OnMissing::Warn) => AttemptOutcome::AcceptWithWarnings,
        (true, OnMissing::RejectAndRetry) => AttemptOutcome::RejectAndRetry,
        (true, OnMissing::RejectAndAbort) => AttemptOutcome::RejectAndAbort,
    }
}

/// The message of a rule that is not met: the author's `rejectMessage` where there is one, with the detail in brackets.
fn reject_message(written: Option<&str>, detail: String) -> String {
    match written {
        Some(message) => format!("{message} ({detail})"),
        None => detail,
    }
}

impl RuleKind {
    /// `result`, `evidence`, `tool_call`, `receipt`, `approval`, `no_other_mutations`, `undecided_calls` or `ground`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Evidence => "evidence",
            Self::ToolCall => "tool_call",
            Self::Receipt => "receipt",
            Self::Approval => "approval",
            Self::NoOtherMutations => "no_other_mutations",
            Self::UndecidedCalls => "undecided_calls",
            Self::Ground => "ground",
        }
    }
}

impl RuleOutcome {
    /// `met`, `unmet` or `unknown`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Unmet => "unmet",
            Self::Unknown => "unknown",
        }
    }
}
