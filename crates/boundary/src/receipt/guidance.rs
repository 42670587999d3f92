//! What a receipt says to agents and to people: next steps, guidance, and the result a blocked tool gives.

use proofmark_receipt::{Json, Object};

use super::{coded, reasons, texts};
use crate::change::MAX_SEARCH_STEPS;
use crate::decide::Decision;
use crate::disposition::Disposition;
use crate::evidence::EvidenceItem;
use crate::judge::{RuleFinding, RuleStatus};
use crate::rule_ref::RuleKind;

/// `safe_next_steps`: none when the action may execute, and none on a path that ends.
pub(super) fn safe_next_steps(decision: &Decision) -> Vec<Json> {
    match decision.disposition {
        Disposition::Allow | Disposition::AllowWithWarning | Disposition::TerminalBlock => return Vec::new(),
        Disposition::LocalReplan | Disposition::UpstreamReplan | Disposition::HumanReview => {}
    }
    let mut steps: Vec<Json> = Vec::new();
    for finding in decision.findings.iter().filter(|finding| finding.blocks.is_some()) {
        let step = match &finding.next {
            Some((code, message)) => Json::Object(coded(code, message)),
            None => Json::Object(default_step(finding)),
        };
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    steps
}

fn default_step(finding: &RuleFinding) -> Object {
    let first = finding.evidence.first();
    match (finding.source.kind, first) {
        (_, _) if finding.hard => {
            coded("report_to_operator", "Tell whoever runs this: the policy or the request needs mending.")
        }
        (
            RuleKind::Require,
            Some(EvidenceItem::Document { role: None, .. } | EvidenceItem::NoDocument { role: None, .. }),
        ) => coded("verify_output", "Have exactly these bytes verified, then ask again with the receipt."),
        (
            RuleKind::Require,
            Some(EvidenceItem::Document { role: Some(role), .. } | EvidenceItem::NoDocument { role: Some(role), .. }),
        ) => coded("ask_for_approval", &format!("Ask a {role} to approve exactly this action, then ask again.")),
        (RuleKind::Require, Some(EvidenceItem::ToolCall { tool, .. })) => {
            coded("take_required_step", &format!("Call {tool} first, then ask again."))
        }
        (RuleKind::Match | RuleKind::When, _)
        | (RuleKind::Require | RuleKind::Deny, Some(EvidenceItem::Fact { truth: "unknown", .. })) => {
            coded("supply_facts", "Supply the facts that are missing, then ask again.")
        }
        (RuleKind::Review, _) => coded("heed_reviewer", "Do what the reviewer's note says, without this action."),
        (RuleKind::Repeat, _) => coded("hand_over", "Stop asking for this action and hand over to a human."),
        (RuleKind::Class | RuleKind::Unmatched, _) => {
            coded("go_on_without", "Go on towards the same goal without this action; no rule is about it.")
        }
        (RuleKind::Require | RuleKind::Deny | RuleKind::Warn, _) => {
            coded("go_on_without", "Go on towards the same goal without this action.")
        }
    }
}

/// `viewer_guidance`: what a reviewer should look at.
pub(super) fn viewer_guidance(decision: &Decision) -> Vec<Json> {
    let mut lines: Vec<String> = Vec::new();
    if let Some(disposition) = decision.shadowed {
        lines.push(format!(
            "Shadow mode: enforced, this would have been {} ({}).",
            disposition.outcome().as_str(),
            disposition.mode()
        ));
    }
    for finding in &decision.findings {
        if let Some(reason) = &finding.reason {
            let detail = reason.detail.as_ref().map_or(String::new(), |detail| format!(" {detail}"));
            lines.push(format!("{}: {}{detail}", finding.rule, reason.message));
        }
        if decision.disposition == Disposition::TerminalBlock {
            lines.extend(finding.next.iter().map(|(_, message)| message.to_string()));
        }
    }
    if decision.disposition.is_blocked_for_now() && decision.changes.all.is_empty() {
        lines.push(match decision.changes.gave_up {
            true => format!("What would change this decision was not found within {MAX_SEARCH_STEPS} steps."),
            false => "Nothing was found that would change this decision.".to_owned(),
        });
    }
    match decision.disposition {
        Disposition::Allow | Disposition::AllowWithWarning | Disposition::LocalReplan => {}
        Disposition::UpstreamReplan => {
            lines.push("The parent has to supply what is missing before a retry.".to_owned())
        }
        Disposition::HumanReview => {
            lines.push("`proofmark approve` signs an approval of exactly this action.".to_owned());
        }
        Disposition::TerminalBlock => lines.push("This path ends here: report the failure as it is.".to_owned()),
    }
    texts(lines.iter().map(String::as_str))
}

/// `runtime_loopback`: what the blocked tool answers; `null` when it may execute.
pub(super) fn loopback(decision: &Decision, steps: &[Json]) -> Json {
    let disposition = decision.disposition;
    if disposition.allows() {
        return Json::Null;
    }
    let terminal = disposition == Disposition::TerminalBlock;
    let mut loopback = Object::new();
    loopback.insert("ok", false);
    loopback.insert("blocked", true);
    loopback.insert("boundary_outcome", disposition.outcome().as_str());
    loopback.insert("step_status", "not_executed");
    loopback.insert("side_effect_executed", false);
    loopback.insert("must_not_claim_success", true);
    loopback.insert("same_goal_state", !terminal);
    loopback.insert("retryability", retryability(decision));
    loopback.insert("human_review_terminal", disposition == Disposition::HumanReview);
    loopback.insert("must_not_retry_same_action", decision.must_not_retry_same_action());
    loopback.insert("safe_next_steps", steps.to_vec());
    loopback.insert("reasons", reasons(decision));
    loopback.insert("missing_support", gaps(decision, false));
    loopback.insert("authorization_gaps", gaps(decision, true));
    loopback.insert("forbidden_action_fingerprint", decision.fingerprint.to_string());
    Json::Object(loopback)
}

fn retryability(decision: &Decision) -> &'static str {
    match (decision.disposition, decision.must_not_retry_same_action()) {
        (Disposition::LocalReplan | Disposition::UpstreamReplan, false) => "replan",
        (Disposition::LocalReplan | Disposition::UpstreamReplan, true) => "different_action",
        (Disposition::HumanReview, _) => "after_review",
        (Disposition::Allow | Disposition::AllowWithWarning | Disposition::TerminalBlock, _) => "none",
    }
}

/// What is missing: approvals, or everything else.
fn gaps(decision: &Decision, approvals: bool) -> Vec<Json> {
    let of_approval = |item: &EvidenceItem| {
        matches!(item, EvidenceItem::Document { role: Some(_), .. } | EvidenceItem::NoDocument { role: Some(_), .. })
    };
    let missing = |finding: &&RuleFinding| match finding.source.kind {
        RuleKind::Require => true,
        RuleKind::Match | RuleKind::When | RuleKind::Deny => finding.status == RuleStatus::Unknown,
        RuleKind::Review | RuleKind::Class | RuleKind::Warn | RuleKind::Unmatched | RuleKind::Repeat => false,
    };
    let blocking = decision.findings.iter().filter(|finding| finding.blocks.is_some()).filter(missing);
    let chosen = blocking.filter(|finding| finding.evidence.first().is_some_and(of_approval) == approvals);
    let gap = |finding: &RuleFinding| {
        let reason = finding.reason.as_ref()?;
        let message = reason.detail.as_deref().unwrap_or(&reason.message);
        Some(Json::Object(coded(&reason.code, message)))
    };
    chosen.filter_map(gap).collect()
}
