//! Whether a step does what is demanded of it.

use proofmark_evidence::{Accepts, EvidenceStatus};
use proofmark_receipt::Verdict;
use proofmark_receipt::glob;

use super::demands::{DemandKind, Demands};
use super::{Exemption, WorkflowPolicy};
use crate::class::Class;
use crate::delay::longest_delay_ms;
use crate::workflow::{Action, OnFailure, OnMissing, Step, Verification, Workflow};

/// A demand that a step breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub code: &'static str,
    pub demand: DemandKind,
    /// Where, as in `steps[0].verification`.
    pub path: String,
    pub message: String,
    pub help: String,
}

/// The demands that a step breaks and no exemption lifts.
pub(crate) fn violations(
    workflow: &Workflow,
    position: usize,
    policy: Option<&WorkflowPolicy>,
    now_ms: i64,
) -> Vec<Violation> {
    let Some(step) = workflow.steps.get(position) else {
        return Vec::new();
    };
    let class = policy.map_or_else(|| workflow.class_of(step), |policy| policy.class_of(workflow, step));
    let demands = policy.map_or_else(|| Demands::of_class(class), |policy| policy.demands_on(workflow, step));
    let at = format!("steps[{position}]");
    let mut found = verification_violations(step, class, &demands, &at);
    found.extend(failure_violations(workflow, step, class, &demands, &at));
    found.retain(|violation| !policy.is_some_and(|policy| lifts(policy, workflow, step, violation.demand, now_ms)));
    found
}

/// Whether an exemption in force lifts a demand.
pub(crate) fn lifts(
    policy: &WorkflowPolicy,
    workflow: &Workflow,
    step: &Step,
    demand: DemandKind,
    now_ms: i64,
) -> bool {
    let mut all = policy.exemptions_for(workflow, step);
    all.any(|(_, exemption): (usize, &Exemption)| exemption.requirement == demand && !exemption.is_expired(now_ms))
}

fn verification_violations(step: &Step, class: Class, demands: &Demands, at: &str) -> Vec<Violation> {
    // A block without rules proves as little as none.
    let Some(verification) = step.verification.as_ref().filter(|verification| verification.rules() > 0) else {
        let missing = demands.require_verification.then(|| Violation {
            code: "verification-required",
            demand: DemandKind::RequireVerification,
            path: at.to_owned(),
            message: format!("the {} step `{}` has no rule that could prove it", class.as_str(), step.id),
            help: "give it a `verification` block with a tool call or a receipt".to_owned(),
        });
        return missing.into_iter().collect();
    };
    let at = format!("{at}.verification");
    let mut found = Vec::new();
    if !demands.allow_warn && verification.on_missing == OnMissing::Warn {
        found.push(Violation {
            code: "warn-not-allowed",
            demand: DemandKind::AllowWarn,
            path: format!("{at}.onMissingEvidence"),
            message: format!("the {} step `{}` would be accepted without evidence", class.as_str(), step.id),
            help: "write `reject-and-retry` or `reject-and-abort`, or an exemption in the policy".to_owned(),
        });
    }
    // Where the field is left out nothing is broken: `contract::resolve` turns the rule on.
    if demands.no_other_mutations && verification.no_other_mutations == Some(false) {
        found.push(Violation {
            code: "other-mutations-allowed",
            demand: DemandKind::NoOtherMutations,
            path: format!("{at}.noOtherMutations"),
            message: format!(
                "the policy demands that step `{}` makes no mutating call but those its rules list",
                step.id
            ),
            help: "leave the field out, or write `true`".to_owned(),
        });
    }
    found.extend(evidence_violations(step, verification, demands, &at));
    found
}

fn evidence_violations(step: &Step, verification: &Verification, demands: &Demands, at: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let strongest = strongest(verification);
    if strongest < demands.min_evidence {
        found.push(Violation {
            code: "weak-evidence",
            demand: DemandKind::MinEvidence,
            path: at.to_owned(),
            message: format!(
                "the rules of step `{}` rest on {} evidence at most, and {} is demanded",
                step.id,
                strongest.as_str(),
                demands.min_evidence.as_str()
            ),
            help: "add a rule under `toolCalls` that asks for a call, or one under `receipts`".to_owned(),
        });
    }
    // The demanded name is the pattern: a rule for `*` could be met by a call of another tool.
    // A rule with `when` asks for no call in an attempt for which the condition is false.
    let asked = |tool: &String| {
        let mut rules = verification.tool_calls.iter().filter(|rule| rule.count.min > 0 && rule.when.is_none());
        rules.any(|rule| glob::matches(tool, &rule.name))
    };
    found.extend(demands.tool_calls.iter().filter(|tool| !asked(tool)).map(|tool| Violation {
        code: "tool-call-required",
        demand: DemandKind::ToolCalls,
        path: at.to_owned(),
        message: format!("the policy demands a call of `{tool}`, and no rule of step `{}` asks for one", step.id),
        help: format!("add a rule for `{tool}` without `when` under `toolCalls`"),
    }));
    // A receipt of any suite proves only what the agent chose to have proven, and one of any signer only what it signed.
    let is_proven = verification.receipts.iter().any(|rule| {
        let demand = &rule.demand;
        let of_somebody = !demand.is_of_anybody() && demand.verdict == Verdict::Pass;
        demand.accepts != Accepts::AnySuite && of_somebody
    });
    if demands.receipts && !is_proven {
        found.push(Violation {
            code: "receipt-required",
            demand: DemandKind::Receipts,
            path: at.to_owned(),
            message: format!("the policy demands a receipt, and no rule of step `{}` asks for one", step.id),
            help:
                "add a rule under `receipts` for a verdict `pass` that names a `suite` or a `specification`, without \
                   `signer: any`"
                    .to_owned(),
        });
    }
    found
}

/// The best status of evidence that the rules can rest on.
fn strongest(verification: &Verification) -> EvidenceStatus {
    // An upper bound: with `signer: any` a receipt may be worth less, which the rule `ground` finds in the attempt.
    let called = verification.tool_calls.iter().any(|rule| rule.count.min > 0);
    match (!verification.receipts.is_empty(), called, !verification.evidence.is_empty()) {
        (true, _, _) => EvidenceStatus::Verified,
        (false, true, _) => EvidenceStatus::Observed,
        (false, false, true) => EvidenceStatus::SelfReported,
        (false, false, false) => EvidenceStatus::Absent,
    }
}

fn failure_violations(workflow: &Workflow, step: &Step, class: Class, demands: &Demands, at: &str) -> Vec<Violation> {
    let (on_failure, at) = match (&step.on_failure, &workflow.on_failure) {
        (Some(own), _) => (own.clone(), format!("{at}.onFailure")),
        (None, Some(common)) => (common.clone(), "onFailure".to_owned()),
        (None, None) => (OnFailure::default(), at.to_owned()),
    };
    let retries = step.verification.as_ref().is_some_and(|block| block.on_missing == OnMissing::RejectAndRetry);
    let mut found = Vec::new();
    // This holds without any policy; only an exemption from `continue` lifts it.
    if class == Class::Mutating && on_failure.action == Action::Continue {
        found.push(Violation {
            code: "continue-not-allowed",
            demand: DemandKind::Continue,
            path: format!("{at}.action"),
            message: format!("the workflow would continue although the mutating step `{}` was not accepted", step.id),
            help: "write `abort` or `goto:` and a step, or an exemption in the policy".to_owned(),
        });
    }
    // Without retries, attempts and delays mean nothing.
    if retries {
        found.extend(retry_violations(&on_failure, demands, &at));
    }
    found
}

fn retry_violations(on_failure: &OnFailure, demands: &Demands, at: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    if let Some(ceiling) = demands.max_attempts.filter(|ceiling| on_failure.max_attempts > *ceiling) {
        found.push(Violation {
            code: "too-many-attempts",
            demand: DemandKind::MaxAttempts,
            path: format!("{at}.maxAttempts"),
            message: format!("{} attempts are more than the {ceiling} the policy allows", on_failure.max_attempts),
            help: format!("write `maxAttempts: {ceiling}` or less"),
        });
    }
    if let Some(ceiling) = demands.max_delay_ms.filter(|ceiling| longest_delay_ms(on_failure) > *ceiling) {
        found.push(Violation {
            code: "delay-too-long",
            demand: DemandKind::MaxDelayMs,
            path: format!("{at}.maxDelayMs"),
            message: format!("a delay can be longer than the {ceiling} ms the policy allows"),
            help: format!("write `maxDelayMs: {ceiling}` or less"),
        });
    }
    if !demands.allows_strategy(on_failure) {
        let allowed = demands.strategies.iter().flatten().map(|strategy| format!("`{}`", strategy.as_str()));
        let allowed: Vec<_> = allowed.collect();
        found.push(Violation {
            code: "strategy-not-allowed",
            demand: DemandKind::Strategies,
            path: format!("{at}.retryStrategy"),
            message: format!("the policy does not allow the strategy `{}`", on_failure.strategy.as_str()),
            help: if allowed.is_empty() {
                "fix the policy: its requirements have no strategy in common".to_owned()
            } else {
                format!("write {}", allowed.join(" or "))
            },
        });
    }
    found
}
