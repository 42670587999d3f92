//! What a receipt tells agents and people: next steps, guidance, and the result of a blocked tool call.

use proofmark_evidence::Refusal;
use proofmark_receipt::{Json, Object, object};

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
    let blocking = || decision.findings.iter().filter(|finding| finding.blocks.is_some());
    // No approval lifts it, so to ask somebody for one would be in vain.
    let is_denied = blocking().any(|finding| {
        finding.source.kind == RuleKind::Deny
            && finding.status != RuleStatus::Unknown
            && finding.missing_approvals.is_none()
    });
    let mut steps: Vec<Json> = Vec::new();
    for finding in blocking().filter(|finding| !is_denied || finding.missing_approvals.is_none()) {
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
        // First, since an error can have any kind of evidence and the agent cannot fix it.
        (_, _) if finding.hard => {
            coded("report_to_operator", "Tell the operator that the policy or the request must be fixed.")
        }
        (
            RuleKind::Require,
            Some(EvidenceItem::Document { role: None, .. } | EvidenceItem::NoDocument { role: None, .. }),
        ) => receipt_step(first),
        (
            RuleKind::Require,
            Some(EvidenceItem::Document { role: Some(role), .. } | EvidenceItem::NoDocument { role: Some(role), .. }),
        ) => coded(
            "ask_for_approval",
            &format!(
                "Ask someone with the role `{role}` to approve exactly this action. Do not ask for the action again before \
                 that; after it, ask again, unchanged."
            ),
        ),
        (RuleKind::Require, Some(EvidenceItem::ToolCall { .. })) if finding.status == RuleStatus::Unknown => {
            let missing = finding.missing.join("; ");
            coded("supply_facts", &format!("Ask again when this is known: {missing}."))
        }
        (RuleKind::Require, Some(EvidenceItem::ToolCall { tool, .. })) => {
            coded("take_required_step", &format!("Call {tool} first, then ask again."))
        }
        (RuleKind::Match | RuleKind::When, _)
        | (RuleKind::Require | RuleKind::Deny, Some(EvidenceItem::Fact { truth: "unknown", .. })) => {
            coded("supply_facts", "Supply the facts that are missing, then ask again.")
        }
        (RuleKind::Review, _) => coded("heed_reviewer", "Follow the reviewer's note, without this action."),
        (RuleKind::Repeat, _) => coded("hand_over", "Stop asking for this action and hand over to a human."),
        (RuleKind::Definition, _) => coded(
            "approve_definition",
            "Ask a person to look at the tool's definition (`proofmark guard pin list --waiting`), then repeat the call.",
        ),
        (RuleKind::Class | RuleKind::Unmatched, _) => {
            coded("go_on_without", "Pursue the same goal without this action; no rule covers it.")
        }
        (RuleKind::Require | RuleKind::Deny | RuleKind::Warn, _) => {
            coded("go_on_without", "Pursue the same goal without this action.")
        }
    }
}

/// What to do where no receipt meets a rule, by the one that is nearest to it.
fn receipt_step(nearest: Option<&EvidenceItem>) -> Object {
    let refusal = match nearest {
        Some(EvidenceItem::Document { refusal, .. }) => *refusal,
        _ => None,
    };
    match refusal {
        Some(Refusal::NotLogged) => coded(
            "prove_logged",
            "Ask again with a proof that this receipt is in a log of the policy (`proofmark log prove ID`).",
        ),
        Some(Refusal::NotWitnessed) => coded(
            "prove_logged",
            "Ask again with a newer proof of this receipt, after more witnesses have cosigned its log.",
        ),
        Some(Refusal::NotCounted) => coded(
            "present_reviews",
            "Ask again with the receipts of all reviews beside the receipt of the quorum: the whole file that `proofmark quorum` prints.",
        ),
        Some(Refusal::QuorumNotMet | Refusal::QuorumIncomplete) => coded(
            "ask_reviewers",
            "Have more of the operators that the policy lists review exactly these bytes, collect their receipts with `proofmark quorum`, \
             then ask again with the file that it prints.",
        ),
        _ => coded("verify_output", "Have exactly these bytes verified, then ask again with the receipt."),
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
            lines.push(format!("{}: {}{detail}", named(finding), reason.message));
        }
        if decision.disposition == Disposition::TerminalBlock {
            // A path that ends has no safe next steps, so what the policy says about next is for the reviewer.
            lines.extend(finding.next.iter().map(|(_, message)| message.to_string()));
        }
    }
    if decision.disposition.is_blocked_for_now() && decision.changes.all.is_empty() {
        lines.push(nothing_found(decision));
    }
    match decision.disposition {
        Disposition::Allow | Disposition::AllowWithWarning | Disposition::LocalReplan => {}
        Disposition::UpstreamReplan => lines.push("The parent must supply what is missing before a retry.".to_owned()),
        Disposition::HumanReview => lines.push(approving(decision).to_owned()),
        Disposition::TerminalBlock => {
            lines.push("This path ends here: report the failure.".to_owned());
            if decision.denial.is_none() && decision.approvals_missing() > 0 {
                lines.push(approving(decision).to_owned());
            }
        }
    }
    texts(lines.iter().map(String::as_str))
}

/// Why the list of what would change the decision is empty. The search adds facts and documents to the action, and never changes it.
fn nothing_found(decision: &Decision) -> String {
    if decision.changes.gave_up {
        return format!("What would change this decision was not found within {MAX_SEARCH_STEPS} steps.");
    }
    let mut lacking: Vec<&str> = Vec::new();
    for missing in decision.findings.iter().flat_map(|finding| finding.missing.iter()) {
        if missing.starts_with("`action.") && !lacking.contains(&&**missing) {
            lacking.push(missing);
        }
    }
    match &*lacking {
        [] => "Nothing was found that would change this decision.".to_owned(),
        lacking => format!(
            "Nothing was found that would change the decision on this action as it is: {}. Another one may be allowed.",
            lacking.join(", ")
        ),
    }
}

/// The place of a rule, with the id of its boundary, as in `payments.require[0]`.
fn named(finding: &RuleFinding) -> String {
    match finding.rule.split_once('.') {
        Some((_, place)) if !finding.boundary.is_empty() => format!("{}.{place}", finding.boundary),
        Some(_) | None => finding.rule.to_string(),
    }
}

/// Whether a reviewer can do more than deny.
fn approving(decision: &Decision) -> &'static str {
    match decision.approvals_missing() {
        0 => "No rule asks for an approval here, so none would change this decision.",
        _ => {
            "`proofmark decision approve ID`, with the id of this decision, signs an approval of exactly this action. A server \
             has the page `/ui/decisions/ID` for it."
        }
    }
}

/// `runtime_loopback`: the result of the blocked tool call; `null` when the action may execute.
pub(super) fn loopback(decision: &Decision, steps: &[Json]) -> Json {
    let disposition = decision.disposition;
    if disposition.allows() {
        return Json::Null;
    }
    let terminal = disposition == Disposition::TerminalBlock;
    object! {
        "ok": false,
        "blocked": true,
        "boundary_outcome": disposition.outcome().as_str(),
        "step_status": "not_executed",
        "side_effect_executed": false,
        "must_not_claim_success": true,
        "same_goal_state": !terminal,
        "retryability": retryability(decision),
        "human_review_terminal": disposition == Disposition::HumanReview,
        "must_not_retry_same_action": decision.must_not_retry_same_action(),
        "safe_next_steps": steps.to_vec(),
        "reasons": reasons(decision),
        "missing_support": gaps(decision, false),
        "authorization_gaps": gaps(decision, true),
        "forbidden_action_fingerprint": decision.fingerprint.to_string(),
    }
    .into()
}

fn retryability(decision: &Decision) -> &'static str {
    match (decision.disposition, decision.must_not_retry_same_action()) {
        (Disposition::LocalReplan | Disposition::UpstreamReplan, false) => "replan",
        (Disposition::LocalReplan | Disposition::UpstreamReplan, true) => "different_action",
        (Disposition::HumanReview, _) => "after_review",
        (Disposition::Allow | Disposition::AllowWithWarning | Disposition::TerminalBlock, _) => "none",
    }
}

/// What is missing: only approvals, or only everything else.
fn gaps(decision: &Decision, approvals: bool) -> Vec<Json> {
    let missing = |finding: &&RuleFinding| match finding.source.kind {
        RuleKind::Require => true,
        RuleKind::Match | RuleKind::When | RuleKind::Deny => finding.status == RuleStatus::Unknown,
        RuleKind::Review
        | RuleKind::Class
        | RuleKind::Definition
        | RuleKind::Warn
        | RuleKind::Unmatched
        | RuleKind::Repeat => false,
    };
    let blocking = decision.findings.iter().filter(|finding| finding.blocks.is_some()).filter(missing);
    let chosen = blocking.filter(|finding| {
        finding.evidence.first().is_some_and(|item| {
            matches!(
                item,
                EvidenceItem::Document { role: Some(_), .. } | EvidenceItem::NoDocument { role: Some(_), .. }
            )
        }) == approvals
    });
    chosen
        .filter_map(|finding| {
            let reason = finding.reason.as_ref()?;
            let message = reason.detail.as_deref().unwrap_or(&reason.message);
            Some(Json::Object(coded(&reason.code, message)))
        })
        .collect()
}
