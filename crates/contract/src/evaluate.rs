//! Judges a response by a contract: every rule, none skipped because another failed.

mod calls;
mod payload;
mod receipts;

use std::collections::BTreeSet;

use proofmark_evidence::trace::Trace;
use proofmark_evidence::{self as evidence, EvidenceStatus, Spend, facts};
use proofmark_predicate::{Budget, Failure, StoppedError, Value};
use proofmark_receipt::{Json, Timestamp};

use crate::contract::Contract;
use crate::response::{Payload, ResponseError};
use crate::workflow::OnMissing;

/// What there is to judge by.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The payload of the response, or why there is none.
    pub payload: &'a Result<Payload, ResponseError>,
    /// The recorded calls; `None` when nothing was recorded.
    pub trace: Option<&'a Trace>,
    /// The receipts presented, each verified by the caller.
    pub receipts: &'a evidence::Evidence,
    /// The present.
    pub now: &'a Timestamp,
    /// What the orchestrator provides as `context`; an object.
    pub context: Option<&'a Json>,
}

/// What a response came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgment {
    /// Every rule, those of the contract in its order and then those that always hold.
    pub rules: Vec<RuleResult>,
    /// What follows.
    pub decision: Decision,
    /// The receipts that `single_use` rules rest on; they are spent if the step is accepted.
    pub spends: Vec<Spend>,
}

/// What follows from a judgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// All rules are met.
    Accept,
    /// Not all rules are met, and the contract asks for no more than a warning.
    AcceptWithWarnings,
    /// Not all rules are met; another attempt may follow.
    RejectAndRetry,
    /// Not all rules are met; no other attempt follows.
    RejectAndAbort,
}

/// What one rule came to.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleResult {
    /// Its name.
    pub id: String,
    /// What it is about.
    pub kind: Kind,
    /// What it came to.
    pub outcome: Outcome,
    /// What its evidence is worth.
    pub status: EvidenceStatus,
    /// What it asks for, in a few words.
    pub rule: String,
    /// Why it is not met, or on what it rests.
    pub message: String,
    /// The facts it would have needed.
    pub missing: Vec<MissingFact>,
    /// The places of the calls it rests on, or that break it.
    pub calls: Vec<usize>,
    /// Whether it accepts a receipt whatever the work was held to.
    pub any_suite: bool,
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// That there is exactly one result block.
    Result,
    /// The payload.
    Evidence,
    /// The recorded calls of a tool.
    ToolCall,
    /// A receipt.
    Receipt,
    /// That nothing else was changed.
    NoOtherMutations,
    /// What the whole rests on.
    Ground,
}

/// What a rule came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is met.
    Met,
    /// It is not.
    Unmet,
    /// Whether it is depends on facts that are missing; it counts as not met.
    Unknown,
}

/// A fact a rule would have needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFact {
    /// Where it should be.
    pub path: String,
    /// What is the matter with it.
    pub why: String,
}

/// Steps all rules of a contract may take together for one attempt; see [`proofmark_predicate::limits::MAX_STEPS`] for what
/// a step is. Past it every rule is unknown.
pub const MAX_EVALUATION_STEPS: u64 = 20_000_000;

/// Judges what was presented by a contract. It always answers: what cannot be decided is unknown, and unknown
/// accepts nothing.
pub fn evaluate(contract: &Contract, evidence: &Evidence<'_>) -> Judgment {
    evaluate_within(contract, evidence, &Budget::new(MAX_EVALUATION_STEPS))
}

/// As [`evaluate`], for as long as `stop` says no. It is asked every few thousand steps.
///
/// # Errors
/// [`StoppedError`] when it was stopped: then nothing was judged.
pub fn evaluate_until(
    contract: &Contract,
    evidence: &Evidence<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Judgment, StoppedError> {
    let budget = Budget::stopping(MAX_EVALUATION_STEPS, stop);
    let judgment = evaluate_within(contract, evidence, &budget);
    budget.finish().map(|()| judgment)
}

fn evaluate_within(contract: &Contract, evidence: &Evidence<'_>, budget: &Budget<'_>) -> Judgment {
    let facts = Facts::of(evidence, budget);
    let verification = &contract.verification;
    let mut rules = vec![payload::result_block(evidence.payload)];
    rules.extend(verification.evidence.iter().map(|rule| payload::judge(rule, &facts)));
    let looked_up = calls::Looked::up(verification, evidence.trace, &facts);
    rules.extend(looked_up.judge_rules(verification));
    let (receipts, mut spends) = receipts::judge_all(&verification.receipts, evidence.receipts, &facts, evidence.now);
    rules.extend(receipts);
    if contract.no_other_mutations {
        rules.push(looked_up.judge_other_mutations(verification, &contract.tools));
    }
    if let Some(failure) = budget.failure() {
        // Rules judged before the end of the budget may rest on what was not looked at any more.
        rules.iter_mut().for_each(|rule| rule.give_up(failure));
        spends.clear();
    }
    if let Some(ground) = ground(contract, &rules) {
        rules.push(ground);
    }
    let decision = decide(contract, &rules);
    Judgment { decision, spends, rules }
}

/// The digests (`hashes.output`) a receipt has to be over to count for this step: where many are kept, no others need to
/// be looked at. A rule that names no bytes sees only what is presented.
pub fn outputs_wanted(contract: &Contract, payload: &Result<Payload, ResponseError>) -> BTreeSet<String> {
    let payload = payload.as_ref().ok().and_then(|payload| facts::value(&payload.json).ok());
    let budget = Budget::new(MAX_EVALUATION_STEPS);
    let facts = Facts { all: Value::Null, payload, budget: &budget };
    receipts::outputs_wanted(&contract.verification.receipts, &facts)
}

impl Judgment {
    /// The rules that are not met.
    pub fn failed(&self) -> impl Iterator<Item = &RuleResult> {
        self.rules.iter().filter(|rule| rule.outcome != Outcome::Met)
    }
}

impl RuleResult {
    /// Makes it unknown because a limit was met.
    fn give_up(&mut self, failure: Failure) {
        self.outcome = Outcome::Unknown;
        self.status = EvidenceStatus::Absent;
        self.message = format!("it cannot be judged: {failure}");
        self.missing = vec![MissingFact::new("evaluation".to_owned(), &failure.to_string())];
        self.calls = Vec::new();
    }

    /// Whether the rule is met by evidence that is worth at least this much. A rule that is met because nothing
    /// happened rests on nothing.
    pub fn rests_on(&self, standing: EvidenceStatus) -> bool {
        self.outcome == Outcome::Met && self.status >= standing && self.kind != Kind::NoOtherMutations
    }
}

/// What predicates read, and whether all of it could be held exactly.
pub(crate) struct Facts<'b> {
    /// `payload`, `context` and `calls`, as far as they are there.
    pub(crate) all: Value,
    /// The payload, if there is one.
    pub(crate) payload: Option<Value>,
    /// What all rules may take together.
    pub(crate) budget: &'b Budget<'b>,
}

impl<'b> Facts<'b> {
    fn of(evidence: &Evidence<'_>, budget: &'b Budget<'b>) -> Self {
        let payload = evidence.payload.as_ref().ok().and_then(|payload| facts::value(&payload.json).ok());
        let context = evidence.context.and_then(|context| facts::value(context).ok());
        // Calls that cannot be held exactly make conditions about calls unknown, and not only about those.
        let calls = evidence.trace.and_then(|trace| {
            trace.calls.iter().map(|call| facts::value(&call.to_json()).ok()).collect::<Option<Vec<_>>>()
        });
        let named = [("payload", payload.clone()), ("context", context), ("calls", calls.map(Value::from))];
        let all = named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        Self { all, payload, budget }
    }

    /// Whether two values are the same; not once the budget is used up.
    pub(crate) fn same(&self, wanted: &Value, found: &Value) -> bool {
        self.budget.charge(facts::steps(wanted)).is_ok() && facts::same(wanted, found)
    }
}

/// The rule that something better than the agent's word is behind the acceptance, where it is asked for.
fn ground(contract: &Contract, rules: &[RuleResult]) -> Option<RuleResult> {
    let asked = contract.min_evidence;
    if asked == EvidenceStatus::Absent {
        return None;
    }
    let best =
        rules.iter().filter(|rule| rule.kind != Kind::Result && rule.rests_on(asked)).max_by_key(|rule| rule.status);
    Some(RuleResult {
        id: "ground".to_owned(),
        kind: Kind::Ground,
        outcome: if best.is_some() { Outcome::Met } else { Outcome::Unmet },
        status: best.map_or(EvidenceStatus::Absent, |rule| rule.status),
        rule: format!("one met rule rests on {} evidence", asked.as_str()),
        message: match best {
            Some(rule) => format!("rests on `{}`", rule.id),
            None => {
                format!("no rule is met by {} evidence; what the agent says of itself is not enough", asked.as_str())
            }
        },
        missing: Vec::new(),
        calls: Vec::new(),
        any_suite: false,
    })
}

fn decide(contract: &Contract, rules: &[RuleResult]) -> Decision {
    let met = rules.iter().all(|rule| rule.outcome == Outcome::Met);
    match (met, contract.verification.on_missing) {
        (true, _) => Decision::Accept,
        (false, OnMissing::Warn) => Decision::AcceptWithWarnings,
        (false, OnMissing::RejectAndRetry) => Decision::RejectAndRetry,
        (false, OnMissing::RejectAndAbort) => Decision::RejectAndAbort,
    }
}

impl MissingFact {
    pub(crate) fn new(path: String, why: &str) -> Self {
        Self { path, why: why.to_owned() }
    }

    pub(crate) fn absent(path: String) -> Self {
        Self::new(path, "is absent")
    }
}

impl std::fmt::Display for MissingFact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` {}", self.path, self.why)
    }
}

impl Kind {
    /// The word: `result`, `evidence`, `tool_call`, `receipt`, `no_other_mutations` or `ground`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Evidence => "evidence",
            Self::ToolCall => "tool_call",
            Self::Receipt => "receipt",
            Self::NoOtherMutations => "no_other_mutations",
            Self::Ground => "ground",
        }
    }
}

impl Outcome {
    /// The word: `met`, `unmet` or `unknown`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Unmet => "unmet",
            Self::Unknown => "unknown",
        }
    }
}
