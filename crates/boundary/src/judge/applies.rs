//! Which boundaries apply to an action, and what follows when none does.

use proofmark_predicate::Truth;
use proofmark_receipt::document::shown;

use super::finding::{Reason, RuleFinding, RuleStatus, SharedText};
use super::pass::{Judge, described, fact_item};
use super::rules;
use crate::disposition::Disposition;
use crate::policy::{Boundary, Exemption, Matching, OnBlock, Unmatched};
use crate::rule_ref::{RuleKind, RuleRef};

/// A human's denial binds until it expires, whatever was approved before.
pub(super) fn review(judge: &mut Judge<'_>) {
    let Some(denial) = &judge.input.moment.history.denial else { return };
    let source = RuleRef { kind: RuleKind::Review, boundary: 0, index: 0 };
    let mut finding = whole(source, "review", "human_denied", &denial.note);
    finding.blocks = Some(Disposition::TerminalBlock);
    finding.reason = finding.reason.map(|reason| Reason {
        detail: Some(format!(
            "{} denied this action in the review of decision {}; the denial ends at {}.",
            denial.reviewer, denial.decision_id, denial.until
        )),
        ..reason
    });
    judge.findings.push(finding);
}

/// No rule was written for an action of an undeclared class, so it is blocked in every mode.
pub(super) fn class(judge: &mut Judge<'_>) {
    let class = judge.input.request.action_class();
    let message = match class {
        Some(class) if judge.input.policy.knows_class(class) => return,
        Some(class) => {
            let class = proofmark_receipt::document::shown(class);
            format!("The action class `{class}` is unknown; declare it under `classes` of the policy.")
        }
        None => "The action has no class.".to_owned(),
    };
    let source = RuleRef { kind: RuleKind::Class, boundary: 0, index: 0 };
    let finding = RuleFinding { hard: true, ..whole(source, "classes", "unknown_action_class", &message) };
    judge.findings.push(RuleFinding { blocks: Some(Disposition::LocalReplan), ..finding });
}

/// A tool, prompt or template of resources whose definition nobody has looked at, or not since it changed, is not used.
pub(super) fn definition(judge: &mut Judge<'_>) {
    let what = match judge.input.request.text("action", "method") {
        Some("prompts/get") => "prompt",
        Some("resources/read" | "resources/subscribe") => "resource template",
        _ => "tool",
    };
    let message = match judge.input.request.text("action", "definition_state") {
        None | Some("pinned") => return,
        Some("changed") => format!("The definition of this {what} has changed since it was pinned."),
        Some("renamed") => format!("This {what} has the definition of a pinned {what} under another name."),
        Some("shadowing") => format!("This {what} has the name of a {what} of another server."),
        Some("ambiguous") => format!("The name of this {what} can be mistaken for another name."),
        Some(_) => format!("The server has not listed this {what}."),
    };
    let source = RuleRef { kind: RuleKind::Definition, boundary: 0, index: 0 };
    let finding = whole(source, "definition", "tool_quarantined", &message);
    judge.findings.push(RuleFinding { blocks: Some(Disposition::LocalReplan), ..finding });
}

/// Whether a boundary applies to the action.
pub(super) fn boundary(judge: &mut Judge<'_>, index: usize, boundary: &Boundary) -> RuleStatus {
    let matching = boundary.matcher.matches(judge.input.request);
    if matching == Matching::No {
        return RuleStatus::NotApplicable;
    }
    let source = RuleRef { kind: RuleKind::When, boundary: index, index: 0 };
    // `when` is judged even if the match is unknown: if it is false, the boundary does not apply either way.
    let truth = boundary.when.as_ref().map(|condition| (condition, judge.truth(condition)));
    match (matching, truth) {
        (Matching::No, _) => RuleStatus::NotApplicable,
        (_, Some((condition, truth @ Truth::False))) => {
            if judge.complete {
                let mut finding = RuleFinding::holds(source, &boundary.at, &boundary.id);
                finding.status = RuleStatus::NotApplicable;
                finding.evidence = vec![fact_item(&boundary.at, condition, &truth)];
                judge.findings.push(finding);
            }
            RuleStatus::NotApplicable
        }
        (_, Some((condition, truth @ Truth::Unknown(_)))) => {
            let Truth::Unknown(missing) = &truth else { return RuleStatus::Unknown };
            let mut finding = rules::unknown(judge, source, boundary, &boundary.at, missing);
            finding.evidence = vec![fact_item(&boundary.at, condition, &truth)];
            finding.missing = described(missing);
            judge.findings.push(finding);
            RuleStatus::Unknown
        }
        (Matching::Unknown(missing), None | Some((_, Truth::True))) => {
            let source = RuleRef { kind: RuleKind::Match, boundary: index, index: 0 };
            let missing: Vec<_> = missing.iter().map(|path| format!("`{path}` is absent")).collect();
            let finding = rules::undecided(judge, source, boundary, &boundary.at, missing);
            judge.findings.push(finding);
            RuleStatus::Unknown
        }
        (Matching::Yes, None | Some((_, Truth::True))) => {
            let source = RuleRef { kind: RuleKind::Match, boundary: index, index: 0 };
            judge.holds(source, &boundary.at, &boundary.id);
            RuleStatus::Holds
        }
    }
}

/// What follows when no boundary applies.
pub(super) fn unmatched(judge: &mut Judge<'_>) {
    let policy = judge.input.policy;
    let source = RuleRef { kind: RuleKind::Unmatched, boundary: 0, index: 0 };
    let finding = match policy.unmatched {
        Unmatched::Block(otherwise) => no_boundary(judge, source, otherwise.disposition(judge.upstream, false)),
        Unmatched::AllowExempted => {
            let request = judge.input.request;
            let now = judge.input.moment.now.unix_millis();
            let mut matching =
                // An exemption allows, so one that only may match does not count.
                policy.exemptions.iter().filter(|exemption| exemption.matcher.matches(request) == Matching::Yes);
            let mut expired = None;
            let live = matching.find(|exemption| {
                let live = exemption.expires.unix_millis() > now;
                expired = expired.or((!live).then_some(*exemption));
                live
            });
            match (live, expired) {
                (Some(exemption), _) => exempted(source, exemption),
                // Blocks either way; the reason names the exemption that somebody may want to renew.
                (None, Some(exemption)) => expired_exemption(source, exemption),
                (None, None) => no_boundary(judge, source, OnBlock::ReplanRequired.disposition(judge.upstream, false)),
            }
        }
    };
    judge.findings.push(finding);
}

fn no_boundary(judge: &Judge<'_>, source: RuleRef, disposition: Disposition) -> RuleFinding {
    let request = judge.input.request;
    // As it was asked for: a name that differs in a letter is the most likely cause.
    let tool = request.facts().get("action").and_then(|action| action.as_object()?.get("tool")?.as_str());
    let tool = tool.map(|tool| format!("the tool `{}`", shown(tool)));
    let class = request.action_class().map(|class| format!("the class `{}`", shown(class)));
    let named: Vec<String> = tool.into_iter().chain(class).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
    let message =
        format!("No boundary of the policy matches this action{named}, and unmatched actions are not allowed.");
    RuleFinding { blocks: Some(disposition), ..whole(source, "unmatched", "unmatched_action", &message) }
}

fn exempted(source: RuleRef, exemption: &Exemption) -> RuleFinding {
    let message = format!(
        "No boundary matches this action; {} exempted it until {}: {}",
        exemption.approver, exemption.expires, exemption.reason
    );
    let finding = whole(source, &exemption.at, "exempted", &message);
    RuleFinding { status: RuleStatus::Holds, ..finding }
}

fn expired_exemption(source: RuleRef, exemption: &Exemption) -> RuleFinding {
    let message = format!(
        "No boundary matches this action, and the exemption that {} approved expired at {}.",
        exemption.approver, exemption.expires
    );
    RuleFinding {
        blocks: Some(Disposition::LocalReplan),
        ..whole(source, &exemption.at, "exemption_expired", &message)
    }
}

/// A finding about the policy as a whole.
fn whole(source: RuleRef, rule: &str, code: &str, message: &str) -> RuleFinding {
    let rule = SharedText::from(rule);
    let reason = Reason {
        code: SharedText::from(code),
        message: SharedText::from(message),
        rule: rule.clone(),
        cause: None,
        detail: None,
    };
    let finding = RuleFinding::holds(source, &rule, &SharedText::from(""));
    RuleFinding { status: RuleStatus::Fails, reason: Some(reason), ..finding }
}
