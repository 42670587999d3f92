//! Approvals of workflow steps: decided as those of actions are, under the policy that the step's contract gives.

use proofmark_boundary::{ActionPolicy, Decision, EvidenceItem, RuleFinding, RuleStatus};
use proofmark_contract::ApprovalFinding;
use proofmark_store::Decision as StoredDecision;
use proofmark_verifier::{AskError, StepApprovals, StepDecision, StepQuestion};

use crate::counted::Limits;
use crate::decide::{self, DecideError, Question};
use crate::decider::Decider;

/// How the names of the rules of a step's policy begin.
const RULES: &str = "boundaries[0].require[";

impl StepApprovals for Decider {
    fn decide(&self, asked: &StepQuestion<'_>) -> Result<StepDecision, AskError> {
        let StepQuestion { tenant, policy, request, presented, trusted, stop } = asked;
        let vouching = &self.vouching();
        let question = Question { policy, request, presented: *presented, trusted, vouching, stop };
        let store = self.store.of(tenant);
        let signed = |row: &StoredDecision| self.signed(row);
        let limits = Limits::of(&store, &signed, policy, request).map_err(refused)?;
        let made = decide::make(&question, &store, None, &|now| limits.at(now)).map_err(refused)?;
        let waiting = store.waiting_on(made.subject())?.map(|waiting| waiting.decision.decision_id);
        let (id, _, new) = self.prepare(&made, request, None).map_err(refused)?;
        let decision = &made.decision;
        let denied = decision.denial().map(|denial| {
            let reviewer = policy.name_of_reviewer(&denial.reviewer).unwrap_or(&denial.reviewer);
            (reviewer.to_owned(), denial.note.clone())
        });
        Ok(StepDecision {
            decision_id: id.to_string(),
            denied,
            findings: findings(policy, decision),
            spends: decision.spends().to_vec(),
            waiting,
            write: new.into(),
        })
    }
}

/// What the rules of the step came to, in their order.
fn findings(policy: &ActionPolicy, decision: &Decision) -> Vec<ApprovalFinding> {
    let of_step = |rule: &&RuleFinding| rule.rule.starts_with(RULES);
    let rules = || decision.findings().iter().filter(of_step);
    // A decision that does not allow although every rule holds, for whatever reason, meets none of them.
    let counts = decision.allows() || !rules().all(|rule| rule.status == RuleStatus::Holds);
    rules().map(|rule| finding(policy, rule, counts)).collect()
}

fn finding(policy: &ActionPolicy, rule: &RuleFinding, counts: bool) -> ApprovalFinding {
    let used = rule.evidence.iter().filter_map(|item| match item {
        EvidenceItem::Document { document, refusal: None, .. } => {
            let who = policy.name_of(document).unwrap_or("a reviewer");
            Some(format!("{who} (approval {})", document.receipt_id))
        }
        _ => None,
    });
    let met = counts && rule.status == RuleStatus::Holds;
    let message = match &rule.reason {
        _ if met => format!("approved by {}", used.collect::<Vec<_>>().join(", ")),
        Some(reason) => format!("waits for a person. {}", reason.detail.as_deref().unwrap_or(&reason.message)),
        None => "waits for a person".to_owned(),
    };
    ApprovalFinding { met, message }
}

fn refused(error: DecideError) -> AskError {
    match error {
        DecideError::Store(error) => AskError::Store(error),
        DecideError::Sign(error) => AskError::Sign(error),
        DecideError::Presented(error) => AskError::Presented(error),
        DecideError::Stopped => AskError::Stopped,
        error => AskError::Decision { help: error.help(), message: error.to_string() },
    }
}
