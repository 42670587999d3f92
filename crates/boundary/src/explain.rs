//! Policies and decisions in words, for people.

use std::fmt::Write;

use proofmark_evidence::{Accepts, ApprovalDemand};

use crate::decide::Decision;
use crate::evidence::EvidenceItem;
use crate::judge::{RuleFinding, RuleStatus, call_words};
use crate::policy::{ActionPolicy, Boundary, Demand, Mode, ReceiptRule, Unmatched};

/// A policy in words: what each boundary matches and requires, and what follows for unmatched actions.
#[must_use]
pub fn explain_policy(policy: &ActionPolicy) -> String {
    let mut text = String::new();
    for boundary in &policy.boundaries {
        text.push_str(&explain_boundary(boundary));
    }
    let rest = match policy.unmatched {
        Unmatched::Block(otherwise) => format!("is blocked: {}", otherwise.as_str()),
        Unmatched::AllowExempted => "is allowed with a warning while an exemption is in force".to_owned(),
    };
    line(&mut text, 0, &format!("An action that no boundary matches {rest}."));
    for exemption in &policy.exemptions {
        let words = format!(
            "{}: {} until {}, by {}: {}",
            exemption.at,
            exemption.matcher.shown(),
            exemption.expires,
            exemption.approver,
            exemption.reason
        );
        line(&mut text, 1, &words);
    }
    let repeat = policy.repeat;
    line(&mut text, 0, &format!("At denial {} of the same action: {}.", repeat.limit, repeat.then.as_str()));
    if policy.mode == Mode::Shadow {
        line(&mut text, 0, "Shadow mode: what would be blocked is allowed with a warning.");
    }
    text
}

/// A decision in words: every rule that was judged, and why.
#[must_use]
pub fn explain_decision(policy: &ActionPolicy, decision: &Decision) -> String {
    let mut text = String::new();
    line(&mut text, 0, &format!("{} ({})", decision.outcome(), decision.disposition().mode()));
    for boundary in &policy.boundaries {
        let own: Vec<_> = decision.findings().iter().filter(|finding| finding.boundary == boundary.id).collect();
        let about = match own.first() {
            None => format!("does not match ({})", boundary.matcher.shown()),
            Some(finding) => match finding.status {
                RuleStatus::NotApplicable => "matches, but its `when` is false".to_owned(),
                RuleStatus::Unknown if own.len() == 1 => "may apply".to_owned(),
                RuleStatus::Holds | RuleStatus::Fails | RuleStatus::Unknown => "applies".to_owned(),
            },
        };
        line(&mut text, 0, &format!("{}: {about}", boundary.id));
        own.iter().for_each(|finding| explain_finding(&mut text, finding));
    }
    let whole = decision.findings().iter().filter(|finding| finding.boundary.is_empty());
    whole.for_each(|finding| explain_finding(&mut text, finding));
    if !decision.changes().is_empty() {
        line(&mut text, 0, "It would be allowed if:");
        decision.changes().iter().for_each(|change| line(&mut text, 1, change.words()));
    }
    text
}

fn explain_boundary(boundary: &Boundary) -> String {
    let mut text = String::new();
    line(&mut text, 0, &format!("{}: {}", boundary.id, boundary.matcher.shown()));
    if let Some(when) = &boundary.when {
        line(&mut text, 1, &format!("when `{}`", when.source()));
    }
    for rule in &boundary.deny {
        let unless = rule.unless.as_ref().map_or(String::new(), |demand| format!(", unless {}", approval(demand)));
        let words = format!("denied if `{}`{unless}: {}", rule.when.source(), rule.otherwise.as_str());
        line(&mut text, 1, &words);
    }
    for rule in &boundary.require {
        let demand = match &rule.demand {
            Demand::Fact(condition) => format!("`{}`", condition.source()),
            Demand::Receipt(rule) => receipt(rule),
            Demand::Approval(demand) => approval(demand),
            Demand::ToolCall(demand) => format!("a {}", call_words(demand)),
        };
        line(&mut text, 1, &format!("requires {demand}; else {}", rule.otherwise.as_str()));
    }
    for rule in &boundary.warn {
        line(&mut text, 1, &format!("warns if `{}`", rule.when.source()));
    }
    text
}

fn receipt(rule: &ReceiptRule) -> String {
    let held_to = match (&rule.demand.accepts, &rule.specification) {
        (Accepts::Suite(suite), _) => format!("of the suite {suite}"),
        (_, Some(specification)) => format!("for the specification {}", specification.source()),
        (Accepts::Specification | Accepts::AnySuite, None) => "of any suite".to_owned(),
    };
    let (verdict, kind) = (rule.demand.verdict, rule.demand.kind.as_str());
    format!("a `{verdict}` {kind} receipt over {}, {held_to}", rule.output.source())
}

fn approval(demand: &ApprovalDemand) -> String {
    format!("{} approvals as {}", demand.count, demand.role)
}

fn explain_finding(text: &mut String, finding: &RuleFinding) {
    line(text, 1, &format!("{} {}", finding.rule, finding.status.as_str()));
    if let Some(reason) = &finding.reason {
        let detail = reason.detail.as_ref().map_or(String::new(), |detail| format!(" {detail}"));
        line(text, 2, &format!("{}: {}{detail}", reason.code, reason.message));
    }
    for item in &finding.evidence {
        line(text, 2, &explain_item(item));
    }
}

fn explain_item(item: &EvidenceItem) -> String {
    let status = item.status().as_str();
    match item {
        EvidenceItem::Fact { predicate, truth, missing, .. } if missing.is_empty() => {
            format!("[{status}] `{predicate}` is {truth}")
        }
        EvidenceItem::Fact { predicate, missing, .. } => format!("[{status}] `{predicate}`: {}", missing.join(", ")),
        EvidenceItem::Document { document, refusal: None, .. } => format!("[{status}] {} counts", document.receipt_id),
        EvidenceItem::Document { document, refusal: Some(refusal), .. } => {
            format!("[{status}] {} {}", document.receipt_id, refusal.words())
        }
        EvidenceItem::NoDocument { role: Some(role), .. } => format!("[{status}] no approval as {role}"),
        EvidenceItem::NoDocument { role: None, .. } => format!("[{status}] no receipt"),
        EvidenceItem::ToolCall { tool, index: Some(index), .. } => format!("[{status}] {tool} is call {index}"),
        EvidenceItem::ToolCall { tool, index: None, .. } => format!("[{status}] no call of {tool}"),
    }
}

fn line(text: &mut String, depth: usize, words: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}{words}", "  ".repeat(depth));
}
