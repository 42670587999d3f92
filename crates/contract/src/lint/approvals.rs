//! Whether the people exist who have to approve, and whether they are others than who accepts.

use proofmark_evidence::{ListedReviewer, Person};
use proofmark_receipt::SignerId;
use proofmark_receipt::document::shown;

use super::finding::Finding;
use crate::policy::{WorkflowPolicy, reviewers};
use crate::workflow::{ApprovalRule, Verification, Workflow};

pub(super) fn findings(verification: &Verification, reviewers: &[ListedReviewer], at: &str) -> Vec<Finding> {
    let rules = verification.approvals.iter().enumerate();
    rules.filter_map(|(index, rule)| too_few(rule, reviewers, &format!("{at}.approvals[{index}]"))).collect()
}

fn too_few(rule: &ApprovalRule, reviewers: &[ListedReviewer], at: &str) -> Option<Finding> {
    let (demand, role) = (&rule.demand, shown(&rule.demand.role));
    let found = match members(reviewers, rule).count() {
        0 => {
            let message = format!("nobody can approve as `{role}`: neither the workflow nor its policy lists anybody");
            let help = "list who holds the role under `reviewers`, as `{name: ann, key: KEY, roles: [ROLE]}`";
            Finding::warning("role-of-nobody", at.to_owned(), message, help)
        }
        known if demand.distinct && known < demand.count => {
            let message = format!("the role `{role}` has fewer members than the rule asks approvals");
            let help = "add members under `reviewers`, or ask for fewer approvals";
            Finding::warning("too-few-keys", at.to_owned(), message, help)
        }
        _ => return None,
    };
    Some(found)
}

fn members<'a>(reviewers: &'a [ListedReviewer], rule: &'a ApprovalRule) -> impl Iterator<Item = &'a ListedReviewer> {
    reviewers.iter().filter(|listed| listed.roles.contains(&rule.demand.role))
}

/// The rules about approvals that this key, which accepts steps, can meet itself.
#[must_use]
pub fn approvals_by(workflow: &Workflow, policy: Option<&WorkflowPolicy>, key: &SignerId) -> Vec<Finding> {
    let listed = reviewers(workflow, policy);
    let mut findings = Vec::new();
    for (position, step) in workflow.steps.iter().enumerate() {
        let rules = step.verification.iter().flat_map(|verification| &verification.approvals).enumerate();
        for (index, rule) in rules {
            if let Some(own) = members(listed, rule).find(|listed| listed.is(&Person::Key(*key))) {
                let (name, role) = (shown(&own.name), shown(&rule.demand.role));
                let path = format!("steps[{position}].verification.approvals[{index}]");
                let message = format!("`{name}` may approve as `{role}` with the key that accepts steps here");
                let help = "list a key that the agent's account cannot use, or a passkey";
                findings.push(Finding::warning("approval-by-accepting-key", path, message, help));
            }
        }
    }
    findings
}
