//! What the receipt of a judgment says: VRF 1.0, tier 1, one detail per rule.

use proofmark_receipt::{Detail, Hashes, Json, Object, Results, Sha256Digest, Status, Task, Verdict};

use crate::contract::Contract;
use crate::evaluate::{Judgment, Outcome, RuleResult};
use crate::policy::Exemption;
use crate::state::State;
use proofmark_evidence::trace::Trace;

/// The tier of these receipts: rules were checked, nothing was run.
pub const TIER: u8 = 1;

/// What a judgment was made of.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// What the step had to prove.
    pub contract: &'a Contract,
    /// What it came to.
    pub judgment: &'a Judgment,
    /// The state of the run after it.
    pub state: &'a State,
    /// The run's name.
    pub run: &'a str,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The whole response.
    pub response: &'a [u8],
    /// The recorded calls.
    pub trace: Option<&'a Trace>,
}

/// The parts of a receipt that say what was judged; id, time and chain are the caller's.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftParts {
    /// `pass` when every rule is met, `fail` when none is, else `partial`.
    pub verdict: Verdict,
    /// One detail per rule.
    pub results: Results,
    /// `specification`: the contract; `output`: the response; `tests`: the verification block.
    pub hashes: Hashes,
    /// The step, as a task.
    pub task: Task,
    /// The run, the state, the digests of contract, response and trace, the standing of each rule, the exemptions.
    pub metadata: Object,
}

/// What the receipt of a judgment says.
pub fn draft_parts(judged: &Judged<'_>) -> DraftParts {
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

/// The rule as a check: what is unknown gave no answer.
fn detail(rule: &RuleResult) -> Detail {
    let (status, message) = match rule.outcome {
        Outcome::Met => (Status::Pass, None),
        Outcome::Unmet => (Status::Fail, Some(rule.message.clone())),
        Outcome::Unknown => (Status::Error, Some(rule.message.clone())),
    };
    Detail {
        name: rule.id.clone(),
        status,
        expected: None,
        actual: None,
        elapsed_ms: None,
        message,
        constraint: Some(rule.rule.clone()),
    }
}

/// What is missing is the submission's fault, so an unknown rule is no verdict `error`.
fn verdict(results: &Results) -> Verdict {
    match (results.passed, results.total) {
        (_, 0) => Verdict::Error,
        (passed, total) if passed == total => Verdict::Pass,
        (0, _) => Verdict::Fail,
        (_, _) => Verdict::Partial,
    }
}

fn metadata(judged: &Judged<'_>, results: &Results) -> Object {
    let contract = judged.contract;
    let mut object = Object::new();
    object.insert("kind", "step_acceptance");
    object.insert("structural", true);
    object.insert("workflow", contract.workflow.as_str());
    object.insert("step", contract.step.as_str());
    object.insert("class", contract.class.as_str());
    object.insert("run", judged.run);
    object.insert("attempt", u64::from(judged.attempt));
    object.insert("state", judged.state.as_str());
    if let State::Aborted { action, .. } = judged.state {
        object.insert("action", action.to_text());
    }
    if let State::Retry(retry) = judged.state {
        object.insert("not_before_ms", retry.not_before_ms);
        object.insert("prompt_digest", Sha256Digest::of(retry.prompt.as_bytes()).to_string());
    }
    object.insert("contract_digest", contract.digest().to_string());
    object.insert("response_digest", Sha256Digest::of(judged.response).to_string());
    if let Some(trace) = judged.trace {
        object.insert("trace_digest", trace.digest.to_string());
        object.insert("trace_form", trace.form.as_str());
        object.insert("trace_calls", trace.calls.len() as u64);
    }
    object.insert("evidence", judged.judgment.rules.iter().map(standing).collect::<Vec<_>>());
    let spent = judged.judgment.spends.iter().map(|spend| Json::from(spend.receipt_id.as_str()));
    object.insert("receipts_used_once", spent.collect::<Vec<_>>());
    object.insert("exemptions", contract.exemptions.iter().map(Exemption::to_json).collect::<Vec<_>>());
    if results.errors > 0 {
        object.insert("fault", "submission");
    }
    object
}

fn standing(rule: &RuleResult) -> Json {
    let mut object = Object::new();
    object.insert("rule", rule.id.as_str());
    object.insert("outcome", rule.outcome.as_str());
    object.insert("status", rule.status.as_str());
    if rule.any_suite {
        object.insert("any_suite", true);
    }
    object.into()
}
