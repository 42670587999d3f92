//! The content of the receipt of a judgment: VRF 1.0, tier 1, one detail per rule.

use proofmark_evidence::trace::Trace;
use proofmark_receipt::{Detail, Hashes, Json, Object, Results, Sha256Digest, Status, Task, Verdict, object};

use crate::contract::Contract;
use crate::evaluate::{Judgment, RuleOutcome, RuleResult};
use crate::follow::NextStep;
use crate::policy::Exemption;
use crate::state::State;

/// The tier of these receipts: rules were checked, nothing was executed.
pub const TIER: u8 = 1;

/// A judged attempt, with all that its receipt names.
#[derive(Clone, Copy, Debug)]
pub struct JudgedAttempt<'a> {
    pub contract: &'a Contract,
    pub judgment: &'a Judgment,
    pub state: &'a State,
    pub run: &'a str,
    /// From 1.
    pub attempt: u32,
    pub response: &'a [u8],
    pub trace: Option<&'a Trace>,
    /// Whether no step that leads to this one was accepted in the run.
    pub out_of_order: bool,
    /// What follows the step; `None` while an attempt is awaited.
    pub next: Option<&'a NextStep>,
    /// The decision on the approval of the attempt, where people are asked: the one that waits, or that found it approved or denied.
    pub decision: Option<&'a str>,
    /// The roles that it waits for an approval in.
    pub awaits: &'a [String],
}

/// The parts of the receipt's draft. Id, time and chain are the caller's.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftParts {
    /// `pass` when every rule is met, `fail` when none is, else `partial`.
    pub verdict: Verdict,
    pub results: Results,
    /// `specification`: the contract; `output`: the response; `tests`: the verification block.
    pub hashes: Hashes,
    pub task: Task,
    /// The run, the state, the digests of contract, response and trace, the evidence of each rule, the exemptions.
    pub metadata: Object,
}

/// The content of the receipt of a judgment.
pub fn draft_parts(judged: &JudgedAttempt<'_>) -> DraftParts {
    let results = Results::from_details(judged.judgment.rules.iter().map(detail).collect());
    let verification = &judged.contract.verification.document;
    DraftParts {
        verdict: verdict(&results),
        hashes: Hashes {
            specification: judged.contract.digest(),
            output: Sha256Digest::of(judged.response),
            tests: Some(Sha256Digest::of(&verification.canonical_vrf())),
        },
        task: Task {
            task_id: Some(format!("{}/{}", judged.run, judged.contract.step)),
            task_type: Some("step_acceptance".to_owned()),
            description: Some(format!("step {} of workflow {}", judged.contract.step, judged.contract.workflow)),
        },
        metadata: metadata(judged, &results),
        results,
    }
}

/// The rule as a check. An unknown rule has no answer, so its status is `error`.
fn detail(rule: &RuleResult) -> Detail {
    let (status, message) = match rule.outcome {
        RuleOutcome::Met => (Status::Pass, None),
        RuleOutcome::Unmet => (Status::Fail, Some(rule.message.clone())),
        RuleOutcome::Unknown => (Status::Error, Some(rule.message.clone())),
    };
    Detail { message, constraint: Some(rule.rule.clone()), ..Detail::new(rule.id.clone(), status) }
}

/// Missing facts are the submission's fault, so an unknown rule does not make the verdict `error`.
fn verdict(results: &Results) -> Verdict {
    match (results.passed, results.total) {
        // Unreachable: every judgment has the rule about the result block.
        (_, 0) => Verdict::Error,
        (passed, total) if passed == total => Verdict::Pass,
        (0, _) => Verdict::Fail,
        (_, _) => Verdict::Partial,
    }
}

fn metadata(judged: &JudgedAttempt<'_>, results: &Results) -> Object {
    let contract = judged.contract;
    let action = match judged.state {
        State::Aborted { action, .. } => Some(action.to_text()),
        _ => None,
    };
    let retry = match judged.state {
        State::Retry(retry) => Some(retry),
        _ => None,
    };
    let spent = judged.judgment.spends.iter().map(|spend| Json::from(spend.receipt_id.as_str()));
    let awaits = judged.awaits.iter().map(|role| Json::from(role.as_str())).collect::<Vec<_>>();
    object! {
        // The mark of the kind. Clients choose `task_type`, so that alone would leave the receipt without a kind.
        "kind": "step_acceptance",
        "structural": true,
        "workflow": contract.workflow.as_str(),
        "step": contract.step.as_str(),
        "class": contract.class.as_str(),
        "run": judged.run,
        "attempt": u64::from(judged.attempt),
        "state": judged.state.as_str(),
        "out_of_order"?: judged.out_of_order.then_some(true),
        "action"?: action,
        "next"?: judged.next.and_then(NextStep::to_json),
        "not_before_ms"?: retry.map(|retry| retry.not_before_ms),
        "prompt_digest"?: retry.map(|retry| Sha256Digest::of(retry.prompt.as_bytes()).to_string()),
        "contract_digest": contract.digest().to_string(),
        "response_digest": Sha256Digest::of(judged.response).to_string(),
        "decision"?: judged.decision,
        "awaits"?: (!judged.awaits.is_empty()).then_some(awaits),
        "trace_digest"?: judged.trace.map(|trace| trace.digest.to_string()),
        "trace_form"?: judged.trace.map(|trace| trace.form.as_str()),
        "trace_calls"?: judged.trace.map(|trace| trace.calls.len() as u64),
        "evidence": judged.judgment.rules.iter().map(rule_evidence).collect::<Vec<_>>(),
        "receipts_used_once": spent.collect::<Vec<_>>(),
        "exemptions": contract.exemptions.iter().map(Exemption::to_json).collect::<Vec<_>>(),
        "fault"?: (results.errors > 0).then_some("submission"),
    }
}

fn rule_evidence(rule: &RuleResult) -> Json {
    object! {
        "rule": rule.id.as_str(),
        "outcome": rule.outcome.as_str(),
        "status": rule.status.as_str(),
        "any_suite"?: rule.any_suite.then_some(true),
    }
    .into()
}
