//! Rules about approvals.

use proofmark_evidence::EvidenceStatus;

use super::{AttemptOutcome, Judgment, RuleKind, RuleOutcome, RuleResult, outcome, reject_message};
use crate::contract::Contract;
use crate::workflow::{ApprovalRule, OnMissing};

/// What people said of an attempt that holds without them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// What each rule about approvals comes to, in their order.
    Judged(Vec<ApprovalFinding>),
    /// A person denied it, or nobody can be asked; why.
    Refused(String),
}

/// What one rule about approvals comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalFinding {
    pub met: bool,
    /// Who has approved, or what is missing.
    pub message: String,
}

impl Judgment {
    /// The same judgment, with the answer of the people who were asked. Anything that it does not say is not met.
    #[must_use]
    pub fn answered(mut self, contract: &Contract, answer: &ApprovalAnswer) -> Self {
        let rules = self.rules.iter_mut().filter(|rule| rule.kind == RuleKind::Approval);
        for (index, (rule, asked)) in rules.zip(&contract.verification.approvals).enumerate() {
            let message = |detail: &str| reject_message(asked.reject_message.as_deref(), detail.to_owned());
            match answer {
                ApprovalAnswer::Refused(why) => rule.message = message(why),
                ApprovalAnswer::Judged(findings) => match findings.get(index) {
                    Some(ApprovalFinding { met: true, message }) => {
                        (rule.outcome, rule.status) = (RuleOutcome::Met, EvidenceStatus::Verified);
                        rule.message.clone_from(message);
                    }
                    Some(ApprovalFinding { met: false, message: missing }) => rule.message = message(missing),
                    None => {}
                },
            }
        }
        self.outcome = match (outcome(contract, &self.rules), answer) {
            (AttemptOutcome::AwaitApproval, ApprovalAnswer::Refused(_)) => refused(contract),
            (outcome, _) => outcome,
        };
        self
    }
}

/// What follows a denial. A step that waits for people never only warns.
fn refused(contract: &Contract) -> AttemptOutcome {
    match contract.verification.on_missing {
        OnMissing::RejectAndAbort => AttemptOutcome::RejectAndAbort,
        OnMissing::RejectAndRetry | OnMissing::Warn => AttemptOutcome::RejectAndRetry,
    }
}

/// The rule as long as nobody is asked.
pub(super) fn not_asked(rule: &ApprovalRule) -> RuleResult {
    RuleResult {
        id: rule.id.clone(),
        kind: RuleKind::Approval,
        outcome: RuleOutcome::Unmet,
        status: EvidenceStatus::Absent,
        rule: describe(rule),
        message: "it is asked for once every other rule is met".to_owned(),
        missing: Vec::new(),
        calls: Vec::new(),
        any_suite: false,
    }
}

fn describe(rule: &ApprovalRule) -> String {
    let demand = &rule.demand;
    let how_many = match demand.count {
        1 => "an approval".to_owned(),
        count => format!("{count} approvals{}", if demand.distinct { " of different people" } else { "" }),
    };
    let with = if demand.binds.passkey { ", signed with a passkey" } else { "" };
    format!("{how_many} in the role `{}`{with}", demand.role)
}
